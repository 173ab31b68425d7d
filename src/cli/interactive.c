/*
 * Sitting at a job; interactive.h says with what. While the job waits, the service is asked now and
 * then and the console's socket all the time; once there is a console, the service is not asked
 * until the end. A service that goes away meanwhile is waited for.
 */
#include "cli/interactive.h"

#include "core/env.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOCK_NS (20 * STRATA_MS_NS)      /* between two looks for the console */
#define ASK_FIRST_NS (100 * STRATA_MS_NS) /* between two questions to the service, at first … */
#define ASK_LAST_NS STRATA_SECOND_NS      /* … and in the end */
#define PATIENCE_NS STRATA_SECOND_NS      /* until it is said why the job waits */
#define LATE_NS (20 * STRATA_SECOND_NS)   /* for the console of a job that runs to be there */
#define SETTLE_NS (5 * STRATA_SECOND_NS)  /* for the service to hear of the end */

enum { LOG_BYTES_MAX = 1 << 16, SIGNALLED = 128 };

static int64_t now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

/* ---- before ---- */

static bool is_loopback(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
	       (strncmp(host, "localhost", 9) == 0 && strchr(":/", host[9]));
}

int interactive_open(struct interactive *it, struct cli *cli, const struct interactive_voice *voice)
{
	const char *base = getenv("TMPDIR");
	struct client_place place;
	char *dir = NULL;
	int rc = service_find(cli, &place);

	*it = (struct interactive){ .cli = cli,
				    .voice = voice,
				    .held = -1,
				    .signals = -1,
				    .keys_prefix = CONSOLE_KEYS_DEFAULT };
	if (rc == 0 && !place.socket && !is_loopback(place.url))
		rc = strata_fail(
			&cli->err, -ENOTSUP,
			"%.200s is on another machine, and its jobs run there: log in to "
			"it for interactive work, or use `strata submit` and `strata logs`",
			place.url);
	if (rc == 0)
		rc = console_place_make(base && *base == '/' ? base : "/tmp", &cli->arena, &dir,
					&cli->err);
	it->dir = dir;
	if (rc == 0)
		rc = console_place_hold(dir, &it->held, &cli->err);
	if (rc == 0)
		rc = console_signals_open(&it->signals, &cli->err);
	if (rc)
		interactive_close(it);
	return rc;
}

void interactive_close(struct interactive *it)
{
	const int fds[] = { it->held, it->signals };
	bool owner = it->held >= 0;

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	it->held = it->signals = -1;
	if (owner && it->dir)
		console_place_remove(it->dir);
}

char *interactive_self(struct cli *cli)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	return length <= 0 ? NULL : strata_arena_text(&cli->arena, self, (size_t)length);
}

/* Who has no shell of their own has the one that everybody has. */
char *interactive_shell(struct cli *cli)
{
	const char *shell = getenv("SHELL");
	const struct passwd *row = shell && *shell == '/' ? NULL : getpwuid(geteuid());

	shell = row ? row->pw_shell : shell;
	return strata_arena_printf(&cli->arena, "%s",
				   shell && access(shell, X_OK) == 0 ? shell : "/bin/sh");
}

static int add_words(struct cli *cli, json_t *command, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!text_valid(words[i], strlen(words[i])))
			return strata_fail(&cli->err, -EINVAL,
					   "a word of the command is not valid UTF-8");
		if (json_array_append_new(command, json_string(words[i])))
			return strata_fail_memory(&cli->err);
	}
	return 0;
}

static int set(struct cli *cli, json_t *body, const char *key, json_t *value)
{
	return json_object_set_new(body, key, value) ? strata_fail_memory(&cli->err) : 0;
}

int interactive_fill(struct interactive *it, json_t *body, char *const *words, size_t count)
{
	struct cli *cli = it->cli;
	const char *slash = strrchr(words[0], '/');
	const char *name = slash && slash[1] ? slash + 1 : words[0];
	bool in = json_object_get(body, "input"), out = json_object_get(body, "output"),
	     error = json_object_get(body, "error");
	char kept[4] = "";
	json_t *command = json_array();

	/* errors go with the output where no file is named for them */
	snprintf(kept, sizeof(kept), "%s%s%s", in ? "0" : "", out ? "1" : "",
		 out || error ? "2" : "");
	char *const front[] = { interactive_self(cli), (char[]){ "console" }, it->dir,
				kept[0] ? kept : (char[]){ "-" } };
	int rc = command && front[0] ? 0 : strata_fail_memory(&cli->err);

	if (rc == 0)
		rc = add_words(cli, command, front, sizeof(front) / sizeof(front[0]));
	if (rc == 0)
		rc = add_words(cli, command, words, count);
	if (rc == 0)
		rc = set(cli, body, "command", json_incref(command));
	if (rc == 0 && !json_object_get(body, "name"))
		rc = set(cli, body, "name", json_stringn(name, strnlen(name, 100)));
	if (rc == 0 && !out)
		rc = set(cli, body, "output",
			 json_string(strata_arena_printf(&cli->arena, "%s/" CONSOLE_LOG, it->dir)));
	if (rc == 0)
		rc = set(cli, body, "requeue", json_false());
	json_decref(command);
	return rc;
}

/* ---- asking ---- */

static int get_job(struct interactive *it, json_t **ret_job)
{
	char number[24];
	struct buf path;

	snprintf(number, sizeof(number), "%" PRId64, it->id);
	service_path(it->cli, &path, "jobs", number, NULL);
	return service_get(it->cli, &path, ret_job);
}

void interactive_cancel(struct interactive *it)
{
	char number[24];
	struct buf path;
	json_t *answer;

	snprintf(number, sizeof(number), "%" PRId64, it->id);
	service_path(it->cli, &path, "jobs", number, NULL);
	if (service_ask(it->cli, "DELETE", &path, NULL, &answer) == 0)
		json_decref(answer);
}

char *interactive_dir(struct cli *cli, const json_t *job)
{
	const json_t *command = json_object_get(job, "command");
	const char *word = grid_or(json_array_get(command, 1), ""),
		   *dir = grid_or(json_array_get(command, 2), "");

	if (json_array_size(command) < 5 || strcmp(word, "console") != 0 || *dir != '/')
		return NULL;
	return strata_arena_printf(&cli->arena, "%s", dir);
}

static bool is_state(const json_t *job, const char *name)
{
	return strcmp(grid_or(json_object_get(job, "state"), ""), name) == 0;
}

static bool is_queued(const json_t *job)
{
	return is_state(job, "queued") || is_state(job, "preempted");
}

/* ---- waiting ---- */

struct waiting {
	struct interactive *it;
	int64_t since_ns, ask_ns; /* when the service is asked next */
	int64_t running_ns;       /* since when the service says that it runs; 0: it does not */
	char told[STRATA_NAME_BYTES_MAX];
	bool away;
};

static void sleep_or_signal(const struct interactive *it)
{
	struct pollfd poll_fd = { it->signals, POLLIN, 0 };

	poll(&poll_fd, 1, (int)(KNOCK_NS / STRATA_MS_NS));
}

/* With a token of somebody else's the job is theirs, and so is its console. */
static int check_user(struct interactive *it, const json_t *job)
{
	const json_t *uid = json_object_get(job, "uid");

	if (!json_is_integer(uid) || json_integer_value(uid) == (json_int_t)geteuid())
		return 0;
	if (it->held >= 0)
		interactive_cancel(it);
	return strata_fail(&it->cli->err, -EACCES,
			   "job %" PRId64 " is %s's, and only %s can sit at it", it->id,
			   grid_or(json_object_get(job, "user"), "another user"),
			   grid_or(json_object_get(job, "user"), "they"));
}

/* A job that runs has a console at once, unless it runs where nobody can reach it: with an executor
 * that uses other machines. */
static int check_place(struct waiting *waiting, const json_t *job)
{
	struct interactive *it = waiting->it;

	if (!is_state(job, "running"))
		waiting->running_ns = 0;
	else if (!waiting->running_ns)
		waiting->running_ns = now_ns();
	if (!waiting->running_ns || now_ns() - waiting->running_ns < LATE_NS)
		return 0;
	if (it->held >= 0)
		interactive_cancel(it);
	return strata_fail(
		&it->cli->err, -ENOTSUP,
		"job %" PRId64 " runs on %.100s, where it cannot be reached from here: "
		"interactive work needs jobs that run on this machine (executor local)",
		it->id,
		grid_or(json_array_get(json_object_get(job, "node_names"), 0), "another machine"));
}

/* The service's view of it, now and then. 1: it is over; job is set where it was asked. */
static int look(struct waiting *waiting, json_t **ret_job)
{
	struct interactive *it = waiting->it;
	int64_t waited_ns = now_ns() - waiting->since_ns;

	if (now_ns() < waiting->ask_ns)
		return 0;
	waiting->ask_ns = now_ns() + (waited_ns < PATIENCE_NS ? ASK_FIRST_NS : ASK_LAST_NS);
	int rc = get_job(it, ret_job);

	if (rc && service_away(rc)) {
		if (!waiting->away)
			cli_note(it->cli, "%s; waiting for it", it->cli->err.text);
		waiting->away = true;
		return 0;
	}
	if (rc)
		return rc;
	waiting->away = false;
	rc = check_user(it, *ret_job);
	if (rc == 0)
		rc = check_place(waiting, *ret_job);
	if (rc)
		return rc;
	const char *reason = grid_or(json_object_get(*ret_job, "reason"), "");

	if (is_queued(*ret_job) && waited_ns >= PATIENCE_NS && it->voice->waits &&
	    strncmp(reason, waiting->told, sizeof(waiting->told) - 1) != 0) {
		snprintf(waiting->told, sizeof(waiting->told), "%s", reason);
		it->voice->waits(it, *ret_job);
	}
	return job_ended(*ret_job);
}

/* Its owner does not want it any more. */
static int give_up(struct interactive *it, int number)
{
	if (it->held < 0)
		return SIGNALLED + number;
	interactive_cancel(it);
	if (it->voice->gives_up)
		it->voice->gives_up(it);
	return SIGNALLED + number;
}

/* What the console itself had to say, where the job ended before anybody was there. */
static void say_log(struct interactive *it)
{
	const char *path = strata_arena_printf(&it->cli->arena, "%s/" CONSOLE_LOG, it->dir);
	struct strata_error ignored;
	char *text;
	size_t length;

	if (path &&
	    env_read_file(env_system(), AT_FDCWD, path, LOG_BYTES_MAX, &it->cli->arena, &text,
			  &length, &ignored) == 0 &&
	    length && strncmp(text, "slurmstepd:", 11) != 0) /* which says no more than we do */
		cli_note(it->cli, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Until there is a console: 0 and the connection. A positive value is the exit code: there will be
 * none. */
static int wait_for_console(struct interactive *it, int *ret_fd)
{
	struct waiting waiting = { .it = it, .since_ns = now_ns() };
	struct cli *cli = it->cli;

	for (;;) {
		int number = console_signals_take(it->signals);
		json_t *job = NULL;

		if (number && number != SIGWINCH)
			return give_up(it, number);
		int rc = console_place_connect(it->dir, ret_fd, &cli->err);

		if (rc == 0 || (rc != -ENOENT && rc != -ECONNREFUSED))
			return rc;
		rc = look(&waiting, &job);
		if (rc > 0) {
			int code = job_exit_code(job);

			if (it->voice->ended)
				it->voice->ended(it, job);
			say_log(it);
			rc = code ? code : STRATA_EXIT_FAILED;
		}
		json_decref(job);
		if (rc)
			return rc;
		sleep_or_signal(it);
	}
}

/* ---- the end ---- */

/* Did it end as its program wanted? */
static bool by_itself(const json_t *job)
{
	return is_state(job, "completed") ||
	       strcmp(grid_or(json_object_get(job, "reason"), ""), "exit_code") == 0;
}

/* Waits for the service to know of the end, which it does at once unless it is away; says so where
 * somebody else has brought it about. `patience_ns`: for how long; −1: however long it takes.
 * ret_code: as the service has it, −1: not known. */
static int settle(struct interactive *it, int64_t patience_ns, int *ret_code)
{
	int64_t until_ns = now_ns() + patience_ns;
	bool over = false, away = false;

	*ret_code = -1;
	while (!over && (patience_ns < 0 || now_ns() < until_ns)) {
		json_t *job;
		int rc = get_job(it, &job), number = console_signals_take(it->signals);

		if (rc && !service_away(rc))
			return rc;
		if (number && number != SIGWINCH)
			return SIGNALLED + number;
		if (rc && !away && patience_ns < 0)
			cli_note(it->cli, "%s; waiting for it", it->cli->err.text);
		away |= rc != 0;
		over = rc == 0 && (job_ended(job) || is_queued(job));
		if (over && !by_itself(job) && it->voice->ended)
			it->voice->ended(it, job);
		if (over && job_ended(job))
			*ret_code = job_exit_code(job);
		else if (over && it->held >= 0) /* it must not run again with nobody there */
			interactive_cancel(it);
		if (rc == 0)
			json_decref(job);
		if (!over)
			sleep_or_signal(it);
	}
	return 0;
}

static bool pass_signal(void *context, int number)
{
	struct interactive *it = context;

	return it->voice->signal && it->voice->signal(it, number);
}

static int finish(struct interactive *it, const struct console_result *result)
{
	int code = 0, rc;

	if (result->unfinished && isatty(STDOUT_FILENO) && it->terminal &&
	    (result->outcome == CONSOLE_DETACHED || result->outcome == CONSOLE_LOST))
		fputs("\r\n", stderr);
	switch (result->outcome) {
	case CONSOLE_DETACHED:
		cli_note(it->cli,
			 "job %" PRId64 " goes on; `strata attach %" PRId64 "` comes back to it",
			 it->id, it->id);
		if (it->held >= 0)
			close(it->held);
		it->held = -1; /* the console is the job's own from here on */
		return 0;
	case CONSOLE_HUNG_UP:
		return SIGNALLED + result->signal;
	case CONSOLE_SAW_END:
		if (result->note[0])
			cli_say(it->cli, "%s", result->note);
		settle(it, SETTLE_NS, &code); /* how it ended is known without it */
		return result->end.signal ? SIGNALLED + result->end.signal : result->end.code;
	default:
		rc = settle(it, it->held >= 0 ? -1 : SETTLE_NS, &code);
		if (rc == 0 && code < 0 && it->held < 0)
			return strata_fail(&it->cli->err, -ECONNRESET,
					   "the connection to job %" PRId64
					   " was lost, perhaps because it writes faster than "
					   "this is read; `strata attach %" PRId64
					   "` comes back to it",
					   it->id, it->id);
		return rc ? rc : code < 0 ? STRATA_EXIT_FAILED : code;
	}
}

static int sit(struct interactive *it, int fd, bool owner)
{
	const struct console_view view = { .fd = fd,
					   .signals = it->signals,
					   .owner = owner,
					   .terminal = it->terminal,
					   .keys_prefix = it->keys_prefix,
					   .take_signal = pass_signal,
					   .context = it };
	struct console_result result;
	int rc = console_view_run(&view, &it->cli->memory, &result, &it->cli->err);

	return rc ? rc : finish(it, &result);
}

int interactive_follow(struct interactive *it, int64_t id)
{
	int fd = -1;

	it->id = id;
	int rc = wait_for_console(it, &fd);

	if (rc)
		return rc;
	if (it->voice->starts)
		it->voice->starts(it);
	return sit(it, fd, true);
}

int interactive_visit(struct interactive *it, const json_t *job)
{
	int fd = -1;

	it->id = grid_int(job, "id");
	it->dir = interactive_dir(it->cli, job);
	if (!it->dir)
		return strata_fail_memory(&it->cli->err);
	int rc = check_user(it, job);

	if (rc == 0)
		rc = console_signals_open(&it->signals, &it->cli->err);
	if (rc == 0)
		rc = wait_for_console(it, &fd);
	if (rc == 0)
		rc = sit(it, fd, false);
	return rc;
}

/* ---- what is said ---- */

/* In a few sentences: the reason, what there is of what it asks for (`strata why` has more), when
 * it starts. */
static void say_waits(struct interactive *it, const json_t *job)
{
	int64_t start_ns = when_json(job, "expected_start_at");
	const char *reason = grid_string(job, "reason_text");
	char number[24], time[STRATA_FORM_BYTES];
	struct buf path, text;
	json_t *why = NULL;

	buf_init(&text, &it->cli->memory, 0);
	buf_printf(&text, "%s.", reason ? reason : "what it needs is not free");
	snprintf(number, sizeof(number), "%" PRId64, it->id);
	service_path(it->cli, &path, "jobs", number, "/why");
	if (service_get(it->cli, &path, &why) == 0) {
		const char *more =
			grid_or(json_array_get(json_object_get(why, "sentences"), 1), NULL);

		if (more)
			buf_printf(&text, " %s", more);
		json_decref(why);
	}
	if (start_ns)
		buf_printf(&text, " It starts %s %s.",
			   json_is_true(json_object_get(job, "promised")) ? "by" : "≈",
			   when_print(start_ns, when_now_ns(), time));
	cli_note(it->cli, "job %" PRId64 " waits: %s Ctrl-C %s.", it->id, text.text,
		 it->held < 0 ? "leaves" : "cancels it");
	buf_fini(&text);
}

static void say_gives_up(struct interactive *it)
{
	cli_note(it->cli, "job %" PRId64 " is cancelled", it->id);
}

static void say_ended(struct interactive *it, const json_t *job)
{
	struct buf sentence;

	buf_init(&sentence, &it->cli->memory, 0);
	if (job_ended(job))
		job_sentence(job, when_now_ns(), &sentence);
	else
		buf_printf(&sentence, "job %" PRId64 " was stopped: %s; it is not started again",
			   it->id, grid_or(json_object_get(job, "reason_text"), "requeued"));
	cli_note(it->cli, "%s", sentence.text);
	buf_fini(&sentence);
}

const struct interactive_voice interactive_plain = { .waits = say_waits,
						     .gives_up = say_gives_up,
						     .ended = say_ended };

/* ---- jobs that are looked at ---- */

enum { WRAPPED_WORDS = 4 }; /* strata console DIR - */

void interactive_command_cell(const struct grid_cell *cell)
{
	const json_t *command = json_object_get(cell->row, cell->key), *word;
	size_t first = interactive_dir(cell->cli, cell->row) ? WRAPPED_WORDS : 0, i;
	struct buf text;

	buf_init(&text, &cell->cli->memory, 0);
	json_array_foreach(command, i, word)
	{
		if (i >= first)
			buf_printf(&text, "%s%s", i > first ? " " : "", grid_or(word, ""));
	}
	cli_table_add_buf(cell->table, &text, "-");
}

int interactive_explain(struct cli *cli, const char *word, int rc)
{
	const struct strata_error before = cli->err;
	struct buf path;
	json_t *job;

	service_path(cli, &path, "jobs", word, NULL);
	if (service_get(cli, &path, &job)) {
		cli->err = before;
		return rc;
	}
	bool ours = interactive_dir(cli, job);

	json_decref(job);
	if (ours)
		return strata_fail(&cli->err, rc,
				   "job %.60s was interactive: what it wrote went to who sat at "
				   "it, and to no file",
				   word);
	cli->err = before;
	return rc;
}
