/*
 * Contexts: servers that a user is signed in to, each a file of his own that nobody else can read:
 * ~/.config/strata/contexts/NAME.json has the address, the token and the pin of the server's key.
 * ~/.config/strata/context names the one in use.
 */
#ifndef CLIENT_CONTEXT_H
#define CLIENT_CONTEXT_H

#include "client/client.h"

enum { CONTEXT_NAME_BYTES_MAX = 64 };

struct client_context {
	const char *name;
	const char *server;      /* "https://host:port" */
	const char *token;
	const char *fingerprint; /* the pin of its key; NULL: an authority vouches for it */
};

/* A pin, as certificate.h has it: "sha256//…=". */
bool context_is_pin(const char *text);
/* -EINVAL: a name is 1 to CONTEXT_NAME_BYTES_MAX letters, digits, '.', '_' and '-', and begins with
 * none of the last three. */
int context_check_name(const char *name, struct strata_error *err);
/* -EINVAL unless what is sent to the address is encrypted or stays on this machine. */
int context_check_server(const char *url, struct strata_error *err);

/* Where they are; -ENOENT: there is no home directory. In the arena. */
int context_dir(const struct client_hints *hints, struct strata_arena *arena, const char **ret_dir,
		struct strata_error *err);

/* Texts in the arena. -ENOENT: there is none of the name; -EACCES: others can read the file, or it
 * is somebody else's. */
int context_read(const char *dir, const char *name, struct strata_arena *arena,
		 struct client_context *ret_context, struct strata_error *err);
/* Makes or replaces one. -EDQUOT: there are STRATA_CONTEXTS_MAX. */
int context_write(const char *dir, const struct client_context *context, struct strata_error *err);
/* Forgets one, also as the one in use. */
int context_remove(const char *dir, const char *name, struct strata_error *err);

/* The one in use; NULL: none. In the arena. */
int context_used(const struct client_hints *hints, struct strata_arena *arena,
		 const char **ret_name, struct strata_error *err);
int context_use(const char *dir, const char *name, struct strata_error *err);

/* All names, sorted; in the arena. */
int context_list(const char *dir, struct strata_arena *arena, const char ***ret_names,
		 size_t *ret_count, struct strata_error *err);

#endif
