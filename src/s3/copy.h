/*
 * Copies of checkpoints in S3: stored, fetched and dropped, each by a process of its own that has
 * the rights of the job's user, and what it is to do from its standard input (s3_copy_order.c).
 */
#ifndef S3_COPY_H
#define S3_COPY_H

#include "s3/s3.h"

#include <strata/option.h>

enum copy_what { COPY_STORE, COPY_FETCH, COPY_DROP };

struct copy_order {
	int what; /* enum copy_what */
	const char *endpoint, *region, *bucket;
	const char *access_key, *secret_key;
	const char *session_token; /* NULL: none */
	/* what the copy's objects begin with, without a slash at the end */
	const char *key;
	const char *dir, *name;    /* where the checkpoint is, or is to be, and its name there */
	int64_t bytes_max;         /* of a copy that is fetched */
	int64_t retry_ns, part_bytes; /* 0: the usual */
};

/* What became of it. */
struct copy_result {
	int64_t bytes; /* that the copy has */
	bool was_there; /* nothing had to be done */
};

int copy_store(struct s3 *s3, const struct copy_order *order, struct copy_result *ret_result,
	       struct strata_error *err);
/* -ENOENT: there is no copy. */
int copy_fetch(struct s3 *s3, const struct copy_order *order, struct copy_result *ret_result,
	       struct strata_error *err);
int copy_drop(struct s3 *s3, const struct copy_order *order, struct copy_result *ret_result,
	      struct strata_error *err);

/* s3_copy_order.c: one order as a line of JSON, and its result as another: {"code": 0, "error":
 * null, "bytes": 17, "was_there": false}. */
extern const struct strata_schema copy_order_schema;
extern const struct strata_schema copy_result_schema;
struct copy_told {
	int64_t code; /* 0 or a negative errno code */
	const char *error; /* NULL: none */
	int64_t bytes;
	bool was_there;
};
int copy_run(int in_fd, int out_fd, struct strata_error *err);

/* The key of an object of the copy: its manifest, or a file of a version. NULL for lack of
 * memory. */
const char *copy_key(const struct copy_order *order, struct strata_arena *arena,
		     const char *version, size_t index);
/* The manifest that is there. -ENOENT: none. */
struct manifest;
int copy_manifest(struct s3 *s3, const struct copy_order *order, struct strata_arena *arena,
		  struct manifest *ret_manifest, struct strata_error *err);
/* Deletes all objects of the copy but those of a version (NULL: none stays) and its manifest. */
int copy_sweep(struct s3 *s3, const struct copy_order *order, const char *version,
	       struct strata_error *err);

#endif
