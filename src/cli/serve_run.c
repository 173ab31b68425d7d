/*
 * What strata serve does: the service, until it is told to end. SIGHUP has it read its settings
 * again.
 */
#include "cli/cli.h"

#include "core/env_log.h"
#include "cli/notify.h"

#include "server/descriptors.h"
#include "server/reload.h"
#include "server/server.h"
#include "server/tls.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct server *running; /* for the signal handler alone */

static void end(int signal)
{
	(void)signal;
	if (running)
		server_stop(running);
}

static void renew(int signal)
{
	(void)signal;
	if (running)
		reload_ask(running);
}

/* What reading the settings again takes. */
struct renewal {
	struct cli *cli;
	const struct server_conf *flags;
	struct server *server;
};

/* On the deciding thread. Everything is read into a run of its own, which ends here: of a bad file
 * nothing stays. */
static void read_again(void *context)
{
	const struct renewal *renewal = context;
	struct cli *cli = renewal->cli, again = { .globals = cli->globals };
	struct server_conf conf;
	struct buf later;

	notify("RELOADING=1");
	again.command = cli->command;
	again.talk_color = cli->talk_color;
	strata_arena_init(&again.arena, &again.memory, 0);
	buf_init(&later, &again.memory, 0);
	again.origins.arena = &again.arena;
	int rc = cli_config_load(&again);

	if (rc == 0)
		rc = serve_conf_make(&again, renewal->flags, &cli->given, &conf);
	if (rc == 0)
		rc = server_reload(renewal->server, &conf, &later, &again.err);
	if (rc)
		log_error("service", "the settings stay as they were: %s", again.err.text);
	else
		log_open((enum log_form)conf.log_form, (enum log_level)conf.log_level);
	if (rc == 0)
		log_info("service", "the settings were read again");
	if (rc == 0 && later.length)
		log_warning("service", "these need a restart: %s", later.text);
	notify("READY=1");
	buf_fini(&later);
	strata_arena_fini(&again.arena);
}

/* Everybody can see the words that a program was started with. */
static void hide_passwords(struct cli *cli)
{
	size_t at, length;

	for (char **word = cli->words; *word; word++)
		for (size_t from = 0; conf_find_password(*word, from, &at, &length);
		     from = at + length)
			memset(*word + at, '*', length);
}

static void say_where(const struct server *server)
{
	const struct server_conf *conf = &server->settings;

	char pin[CERTIFICATE_PIN_BYTES];

	tls_pin(pin);
	if (conf->listen)
		log_info("service", "serving on %s and, for callers with a token, http%s://%.*s:%d",
			 conf->socket, *pin ? "s" : "",
			 (int)(strrchr(conf->listen, ':') - conf->listen), conf->listen,
			 server->front.tcp_port);
	else
		log_info("service", "serving on %s", conf->socket);
	if (*pin)
		log_info("service", "the fingerprint of its key, for `strata login`: %s", pin);
	if (atomic_load(&server->common.standing_by))
		log_info("service", "standing by: another server leads");
	else
		log_info("service", "%u nodes; the state is in %s", server->decider.node_count,
			 conf->state_dir);
	if (server->common.limits[0])
		log_info("service", "limits of jobs: %s", server->common.limits);
}

int serve_run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	struct server_conf conf;
	struct renewal renewal = { .cli = cli, .flags = conf_any };
	struct sigaction action = { .sa_handler = end }, again = { .sa_handler = renew };
	struct server *server;
	sigset_t told, before;
	int rc = serve_conf_make(cli, conf_any, &cli->given, &conf);

	(void)operands, (void)operand_count;
	sigemptyset(&told);
	hide_passwords(cli);
	descriptors_raise();
	/* whoever sees it serve may tell it to end or to read its settings: that waits until it can
	 * be heard */
	sigaddset(&told, SIGTERM);
	sigaddset(&told, SIGINT);
	sigaddset(&told, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &told, &before);
	if (rc == 0) {
		log_open((enum log_form)conf.log_form, (enum log_level)conf.log_level);
		rc = server_open(&conf, &server, &cli->err);
	}
	if (rc) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return rc;
	}
	renewal.server = server;
	server->common.read_context = &renewal;
	server->common.read_settings = read_again;
	running = server;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (!isatty(STDIN_FILENO)) /* on a terminal it means that nobody is there any more */
		sigaction(SIGHUP, &again, NULL);
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	say_where(server);
	notify("READY=1");
	rc = server_run(server, &cli->err);
	notify("STOPPING=1");
	running = NULL;
	server_close(server);
	return rc;
}
