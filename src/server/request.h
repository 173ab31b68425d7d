/*
 * A request on its way: made by an HTTP thread, which knows who asks (identity.h) and reads the
 * body; handed to the decider, which answers; sent by an HTTP thread again. It has one owner at a
 * time.
 */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <strata/error.h>
#include <strata/memory.h>
#include <strata/option.h>

#include <jansson.h>
#include <sys/types.h>

struct MHD_Connection;
struct front;
struct route;
struct stream;

enum role { ROLE_NONE, ROLE_READER, ROLE_USER, ROLE_OPERATOR, ROLE_ADMIN };
const char *role_name(enum role role);
/* ROLE_NONE: there is no such role. */
enum role role_find(const char *name);

struct identity {
	char user[128]; /* "": nobody */
	uid_t uid;
	gid_t gid;
	enum role role;
	bool local;           /* by the socket: it is this uid on this machine */
	bool wrong;           /* what was shown is no token that is good */
	bool unsure;          /* whether it is cannot be looked up now */
	int64_t job, attempt; /* by a job's own token: of this one; 0: not so */
	char token[24];       /* by a token: its id; "": not so */
	bool session;         /* … which is a session of the page: session.h */
	bool link;            /* … which is good for signing in only */
	int64_t expires_ns;   /* by a token: it ends then; 0: when it is revoked */
};

enum { REQUEST_SEGMENTS_MAX = 8, REQUEST_HEADERS_MAX = 8 };

struct request_header {
	const char *name, *value; /* static, or in the request's arena */
};

struct request {
	struct request *next; /* in the decider's queue */
	struct front *front;
	struct MHD_Connection *connection;
	const struct route *route;
	struct strata_memory memory; /* of its arena; with a limit */
	struct strata_arena arena;   /* lives as long as the request */
	struct identity who;
	const char *method; /* NULL: its head is still to be looked at */
	const char *path;   /* as it was sent, without the query */
	bool encrypted;     /* it came by TLS */
	bool malformed;     /* its URL has escapes that are none */
	const void *query;  /* what the query says, by the route's table; in the arena */
	/* the parts of the path that the route leaves open */
	const char *segments[REQUEST_SEGMENTS_MAX];
	char *body;
	size_t body_length, body_room;
	size_t body_reserved; /* of what the server has for large bodies */
	bool refused;         /* answered before the body was read */
	bool queued;          /* the decider has it, or had it */
	bool answered;        /* status and text are there */
	bool durable;         /* the answer waits for the commit of what it says */
	void *parsed;         /* the route's own, in the arena */
	/* Gives back what parsed holds beside the arena, decided or not; NULL: nothing. */
	void (*release)(struct request *request);
	/* The decider keeps it for a while and answers it later: parked.h. */
	bool parked;
	int status;
	char *text;            /* answer; malloc's; NULL: none */
	size_t text_bytes;     /* of bytes that are no text; 0: up to the NUL */
	bool has_file;         /* the answer is a file instead of the text: */
	int file_fd;           /* open, the request's … */
	uint64_t file_bytes;   /* … and so long */
	const char *etag;      /* of the answer, in quotes, in the arena; NULL: none */
	int retry_after_s;     /* said to whom it may be worth asking again; 0: nothing */
	const char *media;     /* NULL: JSON */
	struct request_header headers[REQUEST_HEADERS_MAX]; /* of the answer, beside the usual */
	size_t header_count;
	struct stream *stream; /* the answer instead of the text; see event_stream.h */
	bool streamed;
	int64_t arrived_ns; /* monotonic */
};

/* Answers. The JSON is taken over; NULL is out of memory. */
void request_answer(struct request *request, int status, json_t *json);
void request_answer_text(struct request *request, int status, const char *media, const char *text);
/* The same with a text that is malloc's, and is taken over. */
void request_give_text(struct request *request, int status, const char *media, char *text);
/* Bytes, malloc's, which are taken over. */
void request_give_bytes(struct request *request, int status, const char *media, char *bytes,
			size_t count);
/* A header of the answer; of those that every answer has it takes the place. */
void request_add_header(struct request *request, const char *name, const char *value);
/* Nothing but the status. */
void request_answer_empty(struct request *request, int status);
/* A time of the query; NULL leaves *ret_ns as it is. -EINVAL names the field. */
int request_read_time(struct request *request, const char *field, const char *text, int64_t *ret_ns,
		      struct strata_error *err);
/* A file, whose size is in file_bytes already; the descriptor is taken over. */
void request_answer_file(struct request *request, int fd, const char *media);
/* By a sentence: the status comes from the code (-EINVAL: 400, -ENOENT and -ESRCH: 404, -EPERM: 403
 * …). */
void request_fail(struct request *request, int code, const struct strata_error *err);
/* The same with a status and code of its own. */
void request_refuse(struct request *request, int status, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The body as a table says, on the arena: request->parsed. False: answered with an error. */
bool request_read(struct request *request, const struct strata_schema *schema);

/* The body as a JSON object; NULL: answered with an error. The caller's reference. */
json_t *request_json(struct request *request);

#endif
