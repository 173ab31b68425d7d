/* strata serve: the service, until it is told to end. */
#include "cli/cli.h"

#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct server *running; /* for the signal handler alone */

static void end(int signal)
{
	(void)signal;
	if (running)
		server_stop(running);
}

/* Where things are when nobody says so: of the system for root, of the user for others. */
static int fill_places(struct cli *cli, struct server_conf *conf)
{
	const char *home = getenv("HOME"), *state = getenv("XDG_STATE_HOME");
	struct strata_arena *arena = &cli->arena;
	bool usual = !conf->state_dir; /* the socket is then where clients look for it */

	if (!conf->state_dir)
		conf->state_dir = geteuid() == 0 ? "/var/lib/strata"
				  : state && *state
					  ? strata_arena_printf(arena, "%s/strata", state)
					  : strata_arena_printf(arena, "%s/.local/state/strata",
								home ? home : "/tmp");
	if (conf->state_dir && *conf->state_dir != '/') {
		char here[4096];

		conf->state_dir =
			getcwd(here, sizeof(here))
				? strata_arena_printf(arena, "%s/%s", here, conf->state_dir)
				: NULL;
	}
	if (!conf->state_dir)
		return strata_fail_memory(&cli->err);
	if (!conf->socket)
		conf->socket =
			cli->globals.socket  ? cli->globals.socket
			: cli->config.socket ? cli->config.socket
			: usual && geteuid() == 0
				? "/run/strata/strata.sock"
				: strata_arena_printf(arena, "%s/strata.sock", conf->state_dir);
	if (!conf->store)
		conf->store = strata_arena_printf(arena, "sqlite:%s/strata.db", conf->state_dir);
	if (!conf->checkpoint_dir)
		conf->checkpoint_dir =
			strata_arena_printf(arena, "%s/checkpoints", conf->state_dir);
	return conf->socket && conf->store && conf->checkpoint_dir ? 0
								   : strata_fail_memory(&cli->err);
}

/* The directory and those above it. */
static int make_directory(struct cli *cli, const char *path, mode_t mode)
{
	char part[4096];

	for (size_t i = 1; path[i - 1] && i < sizeof(part); i++)
		if (path[i] == '/' || path[i] == '\0') {
			memcpy(part, path, i);
			part[i] = '\0';
			if (mkdir(part, path[i] ? 0755 : mode) && errno != EEXIST)
				return strata_fail(&cli->err, -errno, "cannot make %s: %s", part,
						   strerror(errno));
		}
	return 0;
}

static void say_where(struct cli *cli, const struct server *server)
{
	const struct server_conf *conf = server->conf;

	if (conf->listen)
		cli_note(cli, "serving on %s and, for callers with a token, http://%.*s:%d",
			 conf->socket, (int)(strrchr(conf->listen, ':') - conf->listen),
			 conf->listen, server->tcp_port);
	else
		cli_note(cli, "serving on %s", conf->socket);
	cli_note(cli, "%u nodes; the state is in %s", server->node_count, conf->state_dir);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	struct server_conf conf = *(const struct server_conf *)conf_any;
	struct sigaction action = { .sa_handler = end };
	struct server *server;
	int rc = fill_places(cli, &conf);

	(void)operands, (void)operand_count;
	if (rc == 0)
		rc = make_directory(cli, conf.state_dir, 0755);
	if (rc == 0)
		rc = make_directory(cli, conf.checkpoint_dir, 0755);
	if (rc == 0 && strchr(conf.socket, '/') && conf.socket[0] == '/')
		rc = make_directory(
			cli,
			strata_arena_text(&cli->arena, conf.socket,
					  (size_t)(strrchr(conf.socket, '/') - conf.socket)),
			0755);
	if (rc == 0)
		rc = server_open(&conf, &server, &cli->err);
	if (rc)
		return rc;
	running = server;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	say_where(cli, server);
	rc = server_run(server, &cli->err);
	running = NULL;
	server_close(server);
	return rc;
}

const struct cli_command cli_serve = {
	.name = "serve",
	.summary = "run the service: take jobs, place them, run them",
	.about =
		"Jobs are taken on a Unix socket, kept in the state directory and run on this "
		"machine. "
		"The service may be stopped,\n"
		"killed or upgraded at any time: jobs go on, and it finds them when it comes back.",
	.examples = "  strata serve --state /var/lib/strata\n"
		    "  strata serve --state /tmp/s --node 'n:count=4:cpus=8:gpus=8:gpu_type=a100'",
	.options = &server_schema,
	.run = run,
};
