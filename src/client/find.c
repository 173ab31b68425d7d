/* Which server is meant, and with which token. */
#include "client/client.h"

#include "client/context.h"
#include "core/env.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES_MAX = 4096 };

static const char *variable(const struct client_hints *hints, const char *name)
{
	const char *value = hints->get ? hints->get(hints->get_context, name) : NULL;

	return value && *value ? value : NULL;
}

/* The first usual socket that exists; where there is none, the one that a server of the caller's own would make. */
static const char *usual_socket(const struct client_hints *hints, struct strata_arena *arena)
{
	const char *runtime = variable(hints, "XDG_RUNTIME_DIR"), *home = variable(hints, "HOME");
	const char *paths[3] = { hints->system_socket, NULL, NULL }, *last = NULL;

	if (runtime)
		paths[1] = strata_arena_printf(arena, "%s/strata/strata.sock", runtime);
	if (home)
		paths[2] = strata_arena_printf(arena, "%s/.local/state/strata/strata.sock", home);
	if ((runtime && !paths[1]) || (home && !paths[2]))
		return NULL;
	for (int i = 0; i < 3; i++)
		if (paths[i] && access(paths[i], F_OK) == 0)
			return paths[i];
	for (int i = 0; i < 3; i++)
		last = paths[i] ? paths[i] : last;
	return last ? last : "/run/strata/strata.sock";
}

static int take_url(const char *url, struct strata_arena *arena, const char **ret_url,
		    struct strata_error *err)
{
	size_t length = strlen(url);

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return strata_fail_at(err, -EINVAL, "server",
				      "the server's address is '%.100s'; expected http://… or "
				      "https://…",
				      url);
	while (length && url[length - 1] == '/')
		length--;
	*ret_url = strata_arena_text(arena, url, length);
	return *ret_url ? 0 : strata_fail_memory(err);
}

/* A file with a secret that others can read is no secret: it is refused, so that its owner learns of it. */
int client_check_private(const char *path, bool must_exist, bool *ret_there,
			 struct strata_error *err)
{
	struct stat status;

	*ret_there = stat(path, &status) == 0;
	if (!*ret_there && (must_exist || errno != ENOENT))
		return strata_fail(err, -errno, "cannot read the token in %s: %s", path,
				   strerror(errno));
	if (*ret_there && (status.st_mode & 077))
		return strata_fail(err, -EACCES,
				   "others can read the token in %s; `chmod 600 %s` mends it", path,
				   path);
	return 0;
}

static int read_token(const char *path, bool must_exist, struct strata_arena *arena,
		      const char **ret_token, struct strata_error *err)
{
	char *text;
	size_t length;
	bool there;
	int rc = client_check_private(path, must_exist, &there, err);

	if (rc || !there)
		return rc;
	rc = env_read_file(env_system(), AT_FDCWD, path, TOKEN_BYTES_MAX, arena, &text, &length,
			   err);
	if (rc)
		return rc;
	text[strcspn(text, "\r\n")] = '\0';
	*ret_token = text;
	return 0;
}

int client_find_token(const struct client_hints *hints, struct strata_arena *arena,
		      const char **ret_token, struct strata_error *err)
{
	const char *token = variable(hints, "STRATA_TOKEN");
	const char *named = variable(hints, "STRATA_TOKEN_FILE");
	const char *config = variable(hints, "XDG_CONFIG_HOME"), *home = variable(hints, "HOME");
	const char *path = named;

	*ret_token = token;
	if (token || (!named && !config && !home))
		return 0;
	if (!named)
		path = config ? strata_arena_printf(arena, "%s/strata/token", config)
			      : strata_arena_printf(arena, "%s/.config/strata/token", home);
	if (!path)
		return strata_fail_memory(err);
	return read_token(path, named != NULL, arena, ret_token, err);
}

/* Does somebody say it, so that the context in use is not looked at? */
static bool is_named(const struct client_hints *hints)
{
	return hints->socket_flag || hints->server_flag || hints->context_flag ||
	       variable(hints, "STRATA_SOCKET") || variable(hints, "STRATA_SERVER") ||
	       variable(hints, "STRATA_CONTEXT");
}

static int take_context(const struct client_hints *hints, const char *name,
			struct strata_arena *arena, struct client_place *ret_place,
			struct strata_error *err)
{
	struct client_context context;
	const char *dir;
	int rc = context_dir(hints, arena, &dir, err);

	if (rc == 0)
		rc = context_read(dir, name, arena, &context, err);
	if (rc == 0)
		*ret_place = (struct client_place){ .url = context.server,
						    .token = context.token,
						    .pin = context.fingerprint };
	return rc;
}

int client_find(const struct client_hints *hints, struct strata_arena *arena,
		struct client_place *ret_place, struct strata_error *err)
{
	const char *used = NULL;
	int rc = is_named(hints) ? 0 : context_used(hints, arena, &used, err);
	const struct {
		const char *name;
		enum { SOCKET, URL, CONTEXT } what;
	} named[] = { { hints->socket_flag, SOCKET },
		      { hints->server_flag, URL },
		      { hints->context_flag, CONTEXT },
		      { variable(hints, "STRATA_SOCKET"), SOCKET },
		      { variable(hints, "STRATA_SERVER"), URL },
		      { variable(hints, "STRATA_CONTEXT"), CONTEXT },
		      { used, CONTEXT },
		      { hints->socket_config, SOCKET },
		      { hints->server_config, URL },
		      { usual_socket(hints, arena), SOCKET } };
	struct client_place place = { 0 };
	size_t first = 0;

	while (first + 1 < sizeof(named) / sizeof(named[0]) && !named[first].name)
		first++;
	if (rc == 0 && !named[first].name)
		rc = strata_fail_memory(err);
	if (rc == 0 && named[first].what == CONTEXT)
		rc = take_context(hints, named[first].name, arena, &place, err);
	else if (rc == 0 && named[first].what == URL) {
		rc = take_url(named[first].name, arena, &place.url, err);
		if (rc == 0)
			rc = client_find_token(hints, arena, &place.token, err);
	} else
		place.socket = named[first].name;
	if (rc == 0)
		*ret_place = place;
	return rc;
}
