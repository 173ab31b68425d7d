/*
 * Retention: ended jobs that are older than `keep` are forgotten, a few at a time, in a transaction of its own between two rounds, so that nobody
 * who submits waits long for it. After a few the next follow soon; when there are none it looks again after a while.
 */
#include "server/server.h"

#include <errno.h>
#include <stdio.h>

#define SECOND INT64_C(1000000000)

enum { AT_ONCE = 250 };

/* Often enough to keep the promise, for short times as well. */
static int64_t pause_ns(const struct server *server)
{
	int64_t ns = server->conf->keep_ns / 4;

	return ns < SECOND ? SECOND : ns > 60 * SECOND ? 60 * SECOND : ns;
}

int64_t retain_wait_ms(const struct server *server)
{
	int64_t now_ns = env_now_ns(server->env, ENV_MONOTONIC);

	if (!server->conf->keep_ns)
		return INT64_MAX;
	return server->retain_ns <= now_ns ? 1 : (server->retain_ns - now_ns) / 1000000 + 1;
}

int retain(struct server *server, struct strata_error *err)
{
	int64_t now_ns = env_now_ns(server->env, ENV_MONOTONIC);
	size_t count = 0;

	if (!server->conf->keep_ns || now_ns < server->retain_ns)
		return 0;
	int rc = store_forget(server->store, server_now_ns(server) - server->conf->keep_ns, AT_ONCE,
			      server->epoch, &count, err);

	server->retain_ns = now_ns + (count ? SECOND / 4 : pause_ns(server));
	if (rc && rc != -ESTALE)
		server_say("old jobs are not forgotten yet: %s", err->text);
	return rc == -ESTALE ? rc : 0; /* all else can wait */
}
