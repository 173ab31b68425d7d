/*
 * A client of the service's HTTP API (docs/api.md): finds the server, asks it, and turns what went wrong into the same
 * errors as everything else, so that a command's exit code is right without looking at a status.
 *
 * A client belongs to one thread. Requests that may be repeated without harm are, a few times, when the server was busy or
 * the connection broke; the caller sees the last error.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <strata/error.h>
#include <strata/memory.h>

#include "core/option.h"

#include <jansson.h>
#include <sys/types.h>

/* Where a server may be named. All may be NULL. */
struct client_hints {
	const char *socket_flag, *server_flag;     /* --socket, --server */
	const char *context_flag;                  /* --context */
	const char *socket_config, *server_config; /* of the configuration */
	const char *system_socket;                 /* of the machine's own server */
	option_get_variable *get;                  /* STRATA_*, HOME … */
	void *get_context;
};

/* Where it is. */
struct client_place {
	const char *socket;           /* path; NULL: the url says it */
	const char *url;              /* "http://host:port", without a slash at the end */
	const char *token;            /* NULL: none, over a socket the uid counts then */
	const char *pin;              /* of the server's key, in place of an authority; NULL: none */
	const struct client_web *web; /* the way to a url (web.h); NULL: there is none */
	int64_t retry_ns;             /* before the first repetition; 0: the usual */
	int64_t timeout_ns;           /* of one request but a stream; 0: the usual */
};

/*
 * Chooses: --socket, --server, --context, STRATA_SOCKET, STRATA_SERVER, STRATA_CONTEXT, the context in use (context.h), the
 * configuration's socket, its server, else the first of the usual sockets that exists: the machine's,
 * $XDG_RUNTIME_DIR/strata/strata.sock, ~/.local/state/strata/strata.sock. A context brings its token and pin. For another url the token
 * is STRATA_TOKEN or the text of STRATA_TOKEN_FILE or ~/.config/strata/token, which nobody else may be able to read (-EACCES).
 * Texts are the hints' or live in the arena.
 */
int client_find(const struct client_hints *hints, struct strata_arena *arena,
		struct client_place *ret_place, struct strata_error *err);

/* That token, for who shows it on a socket as well; NULL where there is none. */
int client_find_token(const struct client_hints *hints, struct strata_arena *arena,
		      const char **ret_token, struct strata_error *err);

/* -EACCES when others can read the file of a token. ret_there: is there one? */
int client_check_private(const char *path, bool must_exist, bool *ret_there,
			 struct strata_error *err);

struct client;
/* Opens no connection yet. The place's texts are copied. */
int client_open(const struct client_place *place, struct strata_memory *memory,
		struct client **ret_client, struct strata_error *err);
void client_close(struct client *client); /* NULL is nothing */

struct client_request {
	const char *method; /* "GET" … */
	const char *path;   /* "/api/v1/queue?user=ann", escaped */
	const json_t *body; /* NULL: none; borrowed */
	/* In place of it bytes of another type, as "image/png"; NULL: none. Borrowed. */
	const void *bytes;
	size_t byte_count;
	const char *type;
	const char *key;    /* of idempotency: a POST with one may be repeated; NULL: none */
};

/*
 * Asks, and gives the answer's document (a new reference; null where the answer is empty). Errors: what the server says, with its field;
 * -ECONNREFUSED: there is no server; -EACCES: the socket is not for this user; -ECONNRESET: the connection broke; -ETIMEDOUT;
 * -EBADMSG: the answer is not JSON.
 */
int client_json(struct client *client, const struct client_request *request, json_t **ret_json,
		struct strata_error *err);

/* Gets text as it comes, for as long as it comes. The sink returns 0, or a negative code that ends it and is returned. */
typedef int client_sink(void *context, const char *bytes, size_t count, struct strata_error *err);
int client_stream(struct client *client, const char *path, client_sink *sink, void *context,
		  struct strata_error *err);

enum { CLIENT_KEY_BYTES = 33 };
/* A key of idempotency that nobody else has. */
int client_new_key(char ret_key[CLIENT_KEY_BYTES], struct strata_error *err);

/* Adds text to a path with everything escaped that is not plain. */
void client_escape(struct buf *path, const char *text);
/* Adds "?key=value" or "&key=value"; nothing when value is NULL. */
void client_query(struct buf *path, const char *key, const char *value);

/* answer.c: the document of an answer, or the error that it is. */
int answer_read(long status, const char *text, size_t length, json_t **ret_json,
		struct strata_error *err);

#endif
