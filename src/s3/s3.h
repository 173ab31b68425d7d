/*
 * A client of S3: requests that are signed (SigV4, by libcurl), sent again where that may help, and
 * answers that are believed as far as they can be checked. It belongs to one thread. Keys are
 * plain: letters, digits and "-._/", so that they are the same in every encoding.
 */
#ifndef S3_S3_H
#define S3_S3_H

#include "core/buf.h"
#include "s3/s3_address.h"
#include "s3/s3_digest.h"

#include <strata/memory.h>

#include <stdbool.h>

struct s3_conf {
	const char *endpoint; /* "https://host:port", without a slash at the end */
	const char *region, *bucket;
	const char *access_key, *secret_key;
	const char *session_token; /* NULL: none */
	int64_t retry_ns;          /* before the first repetition; 0: the usual */
	int64_t part_bytes;        /* of an object in several parts; 0: the usual */
};

struct s3;
int s3_open(const struct s3_conf *conf, struct strata_memory *memory, struct s3 **ret_s3,
	    struct strata_error *err); /* the conf's texts are borrowed until s3_close */
void s3_close(struct s3 *s3);          /* NULL is nothing */

/* ---- s3_call.c: one request ---- */

enum { S3_ETAG_BYTES = 128, S3_UPLOAD_BYTES = 1024 };

/* Takes a part of an answer's body; 0, or a negative code that ends it. */
typedef int s3_sink(void *context, const char *bytes, size_t count);

struct s3_request {
	const char *method;          /* "GET" … */
	const char *key;             /* NULL: the bucket itself */
	const char *query;           /* escaped, sorted by name: "partNumber=1&uploadId=x"; NULL */
	const struct digest *digest; /* of the body; NULL: there is none */
	const void *bytes;           /* the body … */
	int fd;                      /* … or where it is NULL, this range of a file */
	int64_t offset, size_bytes;  /* of the body */
	/* the server is to keep the hash and hold the body against it */
	bool checked;
	int64_t from;                /* GET: from this byte on; 0: all */
	const char *if_match;        /* GET: only of this ETag; NULL: any */
	s3_sink *sink;               /* of a body that need not be in memory; NULL: answer.body */
	void *sink_context;
};

struct s3_answer {
	int status;
	char etag[S3_ETAG_BYTES]; /* without its quotes; "": none */
	struct buf body;
};

/*
 * Asks, again after a while when the connection breaks or the server says that it cannot now; with
 * a sink once only. -ENOENT: there is no such thing; -EACCES: the credentials are not accepted, or
 * not for that (the text has S3's word for it); -EAGAIN: it did not work now; -EBADMSG: what came
 * is no answer; -ESTALE: another object is there now. The answer is to be given back by
 * s3_answer_fini whatever comes of it.
 */
int s3_call(struct s3 *s3, const struct s3_request *request, struct s3_answer *answer,
	    struct strata_error *err);
void s3_answer_init(struct s3 *s3, struct s3_answer *answer);
void s3_answer_fini(struct s3_answer *answer);
/* Adds text to a query with all escaped that is not plain. */
void s3_escape(struct buf *query, const char *text);
/* For `tries` so far: a while that grows, and is not the same for everybody. */
void s3_pause(const struct s3 *s3, int tries);
int64_t s3_part_bytes(const struct s3 *s3, int64_t size_bytes);
struct strata_memory *s3_memory(const struct s3 *s3);

enum { S3_TRIES = 5 };

/* ---- s3_file.c: files and small objects ---- */

/* An object from a file; in parts where it is large, of which those that are there already are not
 * sent again. ret_digest: of all of it. */
int s3_put_file(struct s3 *s3, const char *key, int fd, int64_t size_bytes,
		struct digest *ret_digest, struct strata_error *err);
int s3_put_bytes(struct s3 *s3, const char *key, const void *bytes, size_t count,
		 struct strata_error *err);
/* Into a file that is empty; goes on where a connection broke. -EBADMSG: it is not of this size and
 * hash. */
int s3_get_file(struct s3 *s3, const char *key, int fd, int64_t size_bytes,
		const char *sha256_hex, struct strata_error *err);
/* Calls back for each key below a prefix; one page after the other, so that keys may be deleted. */
typedef int s3_key_sink(void *context, const char *key, struct strata_error *err);
int s3_list(struct s3 *s3, const char *prefix, s3_key_sink *sink, void *context,
	    struct strata_error *err);
/* 0 also when it is not there. */
int s3_delete(struct s3 *s3, const char *key, struct strata_error *err);

/* ---- s3_parts.c ---- */

int s3_put_parts(struct s3 *s3, const char *key, int fd, int64_t size_bytes,
		 struct strata_error *err);
/* Ends uploads in parts below a prefix that nobody goes on with. */
int s3_abort_parts(struct s3 *s3, const char *prefix, struct strata_error *err);

#endif
