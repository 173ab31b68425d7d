/*
 * strata doctor: is everything as it should be? One line for each thing looked at: ok, warn or bad,
 * and what to do. It changes nothing, and each check stands alone: one that cannot be made says so.
 */
#include "cli/doctor.h"

#include "core/env.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *const names[] = { "ok", "warn", "bad" };
static const enum cli_style styles[] = { CLI_GREEN, CLI_YELLOW, CLI_RED };

void doctor_say(struct doctor *doctor, enum doctor_result result, const char *check,
		const char *advice, const char *format, ...)
{
	struct buf message;
	va_list args;

	buf_init(&message, &doctor->cli->memory, 0);
	va_start(args, format);
	buf_vprintf(&message, format, args);
	va_end(args);
	json_array_append_new(doctor->rows,
			      json_pack("{s:s,s:s,s:s,s:s?}", "check", check, "result",
					names[result], "message", message.text, "advice", advice));
	doctor->counts[result]++;
	buf_fini(&message);
}

/* ---- the configuration ---- */

static void check_configuration(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;
	struct strata_error err = { 0 };
	size_t said = 0;

	if (cli->config_error.code) {
		doctor_say(doctor, DOCTOR_BAD, "configuration",
			   "mend the file; `strata config --check FILE` looks at it again", "%s",
			   cli->config_error.text);
		return;
	}
	if (conf_check(&doctor->serve, &err)) {
		doctor_say(doctor, DOCTOR_BAD, "configuration",
			   "`strata config` shows where the value comes from", "%s%s%s", err.field,
			   *err.field ? ": " : "", err.text);
		return;
	}
	for (const struct strata_option *option = server_schema.options; option->name; option++) {
		char path[STRATA_NAME_BYTES_MAX];

		snprintf(path, sizeof(path), "serve.%s", option->name);
		said += origins_find(&cli->origins, path) != NULL;
	}
	doctor_say(doctor, DOCTOR_OK, "configuration", NULL,
		   said ? "it is right; %zu settings of the service are not the defaults"
			: "it is right; the service has its defaults",
		   said);
}

/* ---- the server ---- */

/* Who listens on the socket, as the kernel knows. */
static pid_t find_pid(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

static int ask(struct doctor *doctor, const char *path, json_t **ret_json)
{
	struct client_request request = { .method = "GET", .path = path };
	struct client *client;
	int rc = service_open(doctor->cli, &client);

	return rc ? rc : client_json(client, &request, ret_json, &doctor->cli->err);
}

static void check_server(struct doctor *doctor)
{
	const char *where = doctor->place.socket ? doctor->place.socket : doctor->place.url;
	json_t *json;
	int rc = ask(doctor, "/healthz", &json);

	if (rc) {
		doctor_say(doctor, DOCTOR_BAD, "server",
			   rc == -EACCES ? "ask its owner for access"
					 : "or name another with --socket or --server",
			   "%s", doctor->cli->err.text);
		return;
	}
	const char *version = grid_string(json, "version");

	doctor->reached = true;
	doctor_say(doctor, DOCTOR_OK, "server", NULL, "it answers at %s", where);
	if (version && strcmp(version, STRATA_VERSION) == 0)
		doctor_say(doctor, DOCTOR_OK, "version", NULL, "both are %s", version);
	else
		doctor_say(doctor, DOCTOR_WARN, "version",
			   "restart the service after an upgrade; jobs go on meanwhile",
			   "the server is %s, this program %s", version ? version : "unknown",
			   STRATA_VERSION);
	json_decref(json);
	rc = ask(doctor, "/readyz", &json);
	if (rc)
		doctor_say(doctor, DOCTOR_BAD, "ready",
			   "look at the store: disk, database, network; the service goes on once "
			   "it is back",
			   "it takes no jobs: %s", doctor->cli->err.text);
	else
		doctor_say(doctor, DOCTOR_OK, "ready", NULL, "it takes jobs");
	const char *limits = rc ? NULL : grid_string(json, "limits");

	if (limits)
		doctor->limits = strata_arena_text(&doctor->cli->arena, limits, strlen(limits));
	json_decref(rc ? NULL : json);
}

/* ---- figures and the clock ---- */

static int add_text(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	(void)err;
	buf_add_bytes(context, bytes, count);
	return 0;
}

/* The value of "strata_NAME VALUE"; negative: it is not there. */
static double metric(const struct buf *text, const char *name)
{
	for (const char *at = text->text; (at = strstr(at, name)); at++)
		if ((at == text->text || at[-1] == '\n') && at[strlen(name)] == ' ')
			return strtod(at + strlen(name), NULL);
	return -1;
}

static void check_commits(struct doctor *doctor)
{
	enum { SLOW_MS = 1000 };
	struct client *client;
	struct buf text;

	if (!doctor->reached || service_open(doctor->cli, &client))
		return;
	buf_init(&text, &doctor->cli->memory, 1 << 20);
	if (client_stream(client, "/metrics", add_text, &text, &doctor->cli->err) == 0) {
		double commits = metric(&text, "strata_store_seconds_count");
		double ms = metric(&text, "strata_store_seconds_sum") * 1e3 / commits;

		if (commits > 0 && ms >= 0)
			doctor_say(doctor, ms > SLOW_MS ? DOCTOR_WARN : DOCTOR_OK, "commits",
				   ms > SLOW_MS
					   ? "the store's disk is slow: every submission waits "
					     "for it"
					   : NULL,
				   "they take %.3g ms on average", ms);
	}
	buf_fini(&text);
}

static void check_clock(struct doctor *doctor)
{
	int64_t before_ns = when_now_ns(), off_ns;
	json_t *json;
	char text[STRATA_FORM_BYTES];

	if (!doctor->reached || ask(doctor, "/api/v1/queue?limit=1", &json))
		return;
	int64_t after_ns = when_now_ns(), at_ns = when_json(json, "at");

	json_decref(json);
	if (!at_ns)
		return;
	off_ns = at_ns < before_ns ? before_ns - at_ns : at_ns > after_ns ? at_ns - after_ns : 0;
	strata_duration_print_short(off_ns, text);
	if (off_ns <= 2 * STRATA_SECOND_NS) /* the server's clock is told in whole seconds */
		doctor_say(doctor, DOCTOR_OK, "clock", NULL, "the server's and ours agree");
	else
		doctor_say(doctor, off_ns > STRATA_MINUTE_NS ? DOCTOR_BAD : DOCTOR_WARN, "clock",
			   "set both by NTP: times to begin, limits and expiry depend on them",
			   "the server's and ours are %s apart", text);
}

/* What the service itself finds wrong. */
static void check_problems(struct doctor *doctor)
{
	json_t *json, *one;
	size_t i;

	if (!doctor->reached || ask(doctor, "/api/v1/problems", &json))
		return; /* an older service has no such list */
	service_show(doctor->cli, json);
	json_array_foreach(json_object_get(json, "problems"), i, one)
	{
		const json_t *action = json_object_get(one, "action");
		const char *command = grid_string(action, "command");
		const char *advice = command ? strata_arena_printf(&doctor->cli->arena, "`%s`",
								   command)
					     : NULL;

		doctor_say(doctor,
			   json_is_true(json_object_get(one, "grave")) ? DOCTOR_BAD : DOCTOR_WARN,
			   "problem", advice, "%s: %s",
			   grid_or(json_object_get(one, "title"), "?"),
			   grid_or(json_object_get(one, "text"), ""));
	}
	if (json_array_size(json_object_get(json, "problems")) == 0)
		doctor_say(doctor, DOCTOR_OK, "problems", NULL, "the service knows of none");
	json_decref(json);
}

/* ---- the answer ---- */

static int print(struct doctor *doctor)
{
	static const struct cli_column columns[] = { { .title = "" },
						     { .title = "CHECK", .style = CLI_BOLD },
						     { .title = "WHAT", .flexible = true } };
	struct cli_table *table;
	json_t *row;
	size_t i;
	int rc = cli_table_new(doctor->cli, columns, 3, &table);

	if (rc)
		return rc;
	json_array_foreach(doctor->rows, i, row)
	{
		const char *advice = grid_string(row, "advice");
		enum doctor_result result = DOCTOR_OK;

		while (result < DOCTOR_BAD &&
		       strcmp(names[result], grid_string(row, "result")) != 0)
			result++;
		cli_table_add_styled(table, styles[result], "%s", names[result]);
		cli_table_add(table, "%s", grid_string(row, "check"));
		cli_table_add(table, "%s%s%s", grid_string(row, "message"), advice ? "; " : "",
			      advice ? advice : "");
	}
	return cli_table_print(table);
}

int doctor_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct doctor doctor = { .cli = cli, .rows = json_array() };
	int rc = doctor.rows ? serve_conf_make(cli, NULL, NULL, &doctor.serve)
			     : strata_fail_memory(&cli->err);

	(void)conf, (void)operands, (void)operand_count;
	if (rc == 0)
		rc = service_find(cli, &doctor.place);
	if (rc) {
		json_decref(doctor.rows);
		return rc;
	}
	check_configuration(&doctor);
	if (doctor.place.socket) {
		doctor.pid = find_pid(doctor.place.socket);
		serve_conf_ask(cli, &doctor.serve); /* else as one started from here */
	}
	check_server(&doctor);
	check_commits(&doctor);
	check_clock(&doctor);
	check_problems(&doctor);
	if (doctor.place.socket) { /* a server elsewhere has another machine */
		doctor_store(&doctor);
		doctor_directories(&doctor);
		doctor_devices(&doctor);
		doctor_engine(&doctor);
		doctor_process(&doctor);
		doctor_outside(&doctor);
	}
	if (rc == 0 && cli->globals.json)
		rc = cli_print_json(cli,
				    json_pack("{s:b,s:O}", "ok", doctor.counts[DOCTOR_BAD] == 0,
					      "checks", doctor.rows));
	else if (rc == 0)
		rc = print(&doctor);
	json_decref(doctor.rows);
	return rc ? rc : doctor.counts[DOCTOR_BAD] ? STRATA_EXIT_FAILED : 0;
}
