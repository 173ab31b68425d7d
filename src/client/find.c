/* Which server is meant, and with which token. */
#include "client/client.h"

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

int client_find(const struct client_hints *hints, struct strata_arena *arena,
		struct client_place *ret_place, struct strata_error *err)
{
	struct client_place place = { 0 };
	const char *named[] = { hints->socket_flag,
				hints->server_flag,
				variable(hints, "STRATA_SOCKET"),
				variable(hints, "STRATA_SERVER"),
				hints->socket_config,
				hints->server_config };
	static const bool is_url[] = { false, true, false, true, false, true };
	const size_t count = sizeof(named) / sizeof(named[0]);
	size_t first = 0;
	int rc;

	while (first < count && !named[first])
		first++;
	if (first < count && is_url[first]) {
		rc = take_url(named[first], arena, &place.url, err);
		if (rc == 0)
			rc = client_find_token(hints, arena, &place.token, err);
		if (rc)
			return rc;
	} else {
		place.socket = first < count ? named[first] : usual_socket(hints, arena);
		if (!place.socket)
			return strata_fail_memory(err);
	}
	*ret_place = place;
	return 0;
}
