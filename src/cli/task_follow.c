/*
 * Waiting for a task: the service tells how it goes on (…/events), and on a terminal one line is
 * drawn over: its place in line, then a bar of its steps. Where the stream ends before the task
 * does it is asked for again and again, as a server that goes away is waited for: an acknowledged
 * task is not lost with it.
 */
#include "cli/task.h"

#include "client/sse.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_NS (100 * STRATA_MS_NS) /* at first, and while it is drawn */
#define INTERVAL_NS_MAX STRATA_SECOND_NS /* in line */
enum { BAR_CELLS = 20, INTERRUPTED = 130 };

static volatile sig_atomic_t interrupted; /* for the signal handler */

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void draw(struct cli *cli, const json_t *task)
{
	int64_t steps = grid_int(task, "steps"), done = grid_int(task, "steps_done");
	bool waits = strcmp(grid_or(json_object_get(task, "status"), ""), "pending") == 0;
	struct buf line;

	buf_init(&line, &cli->memory, 0);
	task_sentence(task, when_now_ns(), &line);
	if (!waits && steps) {
		buf_add_char(&line, ' ');
		grid_bar(&line, (double)done / (double)steps, BAR_CELLS);
	}
	fprintf(stderr, "\r\033[K%s", line.text);
	fflush(stderr);
	buf_fini(&line);
}

static int say_interrupted(struct cli *cli, const char *id)
{
	cli_note(cli,
		 "task T%s goes on; `strata tasks image T%s -o out.png` gets its picture, `strata "
		 "tasks cancel T%s` cancels it",
		 id, id, id);
	return INTERRUPTED;
}

static void wait_for(int64_t ns)
{
	for (; ns > 0 && !interrupted; ns -= INTERVAL_NS)
		follow_sleep(ns < INTERVAL_NS ? ns : INTERVAL_NS);
}

static int look(struct cli *cli, const char *id, bool *away, json_t **ret_task)
{
	struct buf path;

	service_path(cli, &path, "tasks", id, NULL);
	int rc = service_get(cli, &path, ret_task);

	if (service_away(rc)) {
		if (!*away)
			cli_note(cli, "%s; waiting for it", cli->err.text);
		*away = true;
		*ret_task = NULL;
		return 0;
	}
	*away = false;
	return rc;
}

/* ---- by the stream ---- */

struct following {
	struct cli *cli;
	const char *id;
	bool live; /* there is a terminal to draw on */
	struct task_preview *preview;
	struct sse sse;
	json_t *ended; /* the task, once it has; NULL: not yet */
};

static int take_event(void *context, const char *data, size_t length, struct strata_error *err)
{
	struct following *it = context;
	json_t *event = json_loadb(data, length, 0, NULL);

	if (!json_is_object(event)) {
		json_decref(event);
		return strata_fail(err, -EBADMSG, "an event of the server is not JSON");
	}
	service_show(it->cli, event);
	if (json_object_get(event, "preview"))
		task_preview_show(it->preview, it->id, "/preview");
	else if (task_ended(event) && !it->ended)
		it->ended = json_incref(event);
	else if (it->live)
		draw(it->cli, event);
	json_decref(event);
	return 0;
}

/* Also when nothing happens: the service says every second that it is there. */
static int feed(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct following *it = context;

	return interrupted ? strata_fail(err, -EINTR, "interrupted")
			   : sse_feed(&it->sse, bytes, count, err);
}

/* Up to the end of the task or of the stream; what went wrong with it shows when it is asked. */
static void listen(struct following *it)
{
	struct strata_error why;
	struct client *client;
	struct buf path;

	if (service_open(it->cli, &client))
		return;
	service_path(it->cli, &path, "tasks", it->id, "/events");
	sse_init(&it->sse, &it->cli->memory, take_event, it);
	if (buf_check(&path, &why) == 0)
		(void)client_stream(client, path.text, feed, it, &why);
	sse_fini(&it->sse);
	buf_fini(&path);
}

static int follow(struct following *it, json_t **ret_task)
{
	int64_t interval_ns = INTERVAL_NS;
	bool away = false;
	json_t *task;

	for (;;) {
		listen(it);
		if (it->ended) {
			*ret_task = it->ended;
			return 0;
		}
		if (interrupted)
			return INTERRUPTED;
		int rc = look(it->cli, it->id, &away, &task);

		if (rc)
			return rc;
		if (task && task_ended(task)) {
			*ret_task = task;
			return 0;
		}
		if (task && it->live)
			draw(it->cli, task);
		if (task && grid_int(task, "steps_done"))
			interval_ns = INTERVAL_NS;
		else if (interval_ns < INTERVAL_NS_MAX)
			interval_ns += INTERVAL_NS;
		json_decref(task);
		wait_for(interval_ns);
		if (interrupted)
			return INTERRUPTED;
	}
}

int task_follow(struct cli *cli, const char *id, struct task_preview *preview, json_t **ret_task)
{
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND };
	struct following it = { .cli = cli,
				.id = id,
				.live = cli->talk_color && isatty(STDERR_FILENO),
				.preview = preview };

	sigaction(SIGINT, &action, NULL);
	int rc = follow(&it, ret_task);

	signal(SIGINT, SIG_DFL);
	if (it.live)
		fprintf(stderr, "\r\033[K");
	if (rc == 0 && strcmp(grid_or(json_object_get(*ret_task, "status"), ""), "finished") == 0)
		task_preview_show(preview, id, "/image");
	return rc == INTERRUPTED ? say_interrupted(cli, id) : rc;
}
