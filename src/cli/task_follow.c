/*
 * Waiting for a task: it is asked for again and again, and on a terminal one line is drawn over:
 * its place in line, then a bar of its steps. A server that goes away is waited for: an
 * acknowledged task is not lost with it.
 */
#include "cli/task.h"

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

static int follow(struct cli *cli, const char *id, bool live, json_t **ret_task)
{
	int64_t interval_ns = INTERVAL_NS;
	bool away = false;
	json_t *task;

	for (;;) {
		int rc = look(cli, id, &away, &task);

		if (rc)
			return rc;
		if (task && task_ended(task)) {
			*ret_task = task;
			return 0;
		}
		if (task && live)
			draw(cli, task);
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

int task_follow(struct cli *cli, const char *id, json_t **ret_task)
{
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND };
	bool live = cli->talk_color && isatty(STDERR_FILENO);

	sigaction(SIGINT, &action, NULL);
	int rc = follow(cli, id, live, ret_task);

	signal(SIGINT, SIG_DFL);
	if (live)
		fprintf(stderr, "\r\033[K");
	return rc == INTERRUPTED ? say_interrupted(cli, id) : rc;
}
