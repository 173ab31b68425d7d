/* The port of the page, kept in a file of the state directory: see web_port.h. */
#include "server/web_port.h"

#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { PORT_BYTES_MAX = 8 };

static const char *name_file(struct strata_arena *arena, const char *state_dir)
{
	return strata_arena_printf(arena, "%s/web.port", state_dir);
}

int web_port_kept(const struct env *env, const char *state_dir)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	char *bytes;
	size_t count;
	int64_t port = 0;

	strata_arena_init(&arena, &memory, 0);
	const char *path = name_file(&arena, state_dir);

	if (!path || env_read_file(env, AT_FDCWD, path, PORT_BYTES_MAX, &arena, &bytes, &count,
				   NULL) ||
	    strata_int_parse(bytes, strcspn(bytes, "\n"), 1, 65535, &port, NULL))
		port = 0;
	strata_arena_fini(&arena);
	return (int)port;
}

int web_port_keep(const struct env *env, const char *state_dir, int port, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	char text[PORT_BYTES_MAX + 1];

	strata_arena_init(&arena, &memory, 0);
	const char *path = name_file(&arena, state_dir);
	int length = snprintf(text, sizeof(text), "%d\n", port);
	int rc = path ? env_write_file(env, AT_FDCWD, path, text, (size_t)length, 0600, err)
		      : strata_fail_memory(err);

	strata_arena_fini(&arena);
	return rc;
}
