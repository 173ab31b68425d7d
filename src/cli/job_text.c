/* Jobs in words: one sentence, one row of a table. Every command that speaks of a job does it
 * through here. */
#include "cli/service.h"

#include <inttypes.h>
#include <string.h>

static bool is_state(const json_t *job, const char *name)
{
	const char *state = grid_string(job, "state");

	return state && strcmp(state, name) == 0;
}

bool job_ended(const json_t *job)
{
	return is_state(job, "completed") || is_state(job, "failed") || is_state(job, "cancelled");
}

int job_exit_code(const json_t *job)
{
	int64_t code = grid_int(job, "exit_code"), number = grid_int(job, "exit_signal");

	if (is_state(job, "completed"))
		return 0;
	if (number > 0 && number < 128)
		return 128 + (int)number;
	return code > 0 && code < 256 ? (int)code : STRATA_EXIT_FAILED;
}

enum cli_style job_style(const char *state)
{
	static const struct {
		const char *state;
		enum cli_style style;
	} styles[] = {
		{ "cancelled", CLI_DIM },  { "completed", CLI_GREEN },  { "failed", CLI_RED },
		{ "queued", CLI_YELLOW },  { "preempted", CLI_YELLOW }, { "running", CLI_GREEN },
		{ "scheduled", CLI_BLUE },
	};

	for (size_t i = 0; state && i < sizeof(styles) / sizeof(styles[0]); i++)
		if (strcmp(styles[i].state, state) == 0)
			return styles[i].style;
	return CLI_PLAIN;
}

/* Held is a reason of the queue, but what people look for in the state. */
static const char *state_words(const json_t *job)
{
	const char *state = grid_string(job, "state"), *reason = grid_string(job, "reason");

	if (reason && is_state(job, "queued") && strcmp(reason, "held") == 0)
		return "held";
	if (reason && strcmp(reason, "suspended") == 0 &&
	    (is_state(job, "running") || is_state(job, "preempted")))
		return "suspended";
	return state ? state : "?";
}

void job_add_id(const json_t *job, struct buf *buf)
{
	int64_t array = grid_int(job, "array_id"), index = grid_int(job, "array_index");
	int64_t elements = grid_int(job, "elements"), step = grid_int(job, "index_step");

	if (array == 0) {
		buf_printf(buf, "%" PRId64, grid_int(job, "id"));
		return;
	}
	buf_printf(buf, "%" PRId64 "_", array);
	if (elements < 2) {
		buf_printf(buf, "%" PRId64, index);
		return;
	}
	buf_printf(buf, "[%" PRId64 "-%" PRId64, index, index + (elements - 1) * step);
	if (step > 1)
		buf_printf(buf, ":%" PRId64, step);
	buf_add_char(buf, ']');
}

static void add_nodes(const json_t *job, struct buf *buf)
{
	const json_t *names = json_object_get(job, "node_names");
	size_t count = json_array_size(names);

	for (size_t i = 0; i < count && i < 3; i++)
		buf_printf(buf, "%s%s", i ? "," : "", grid_or(json_array_get(names, i), "?"));
	if (count > 3)
		buf_printf(buf, " and %zu more", count - 3);
}

/* "≈ 14:05"; a promised time is the latest one. */
static void add_start(const json_t *job, int64_t now_ns, struct buf *buf)
{
	int64_t ns = when_json(job, "expected_start_at");
	char text[STRATA_FORM_BYTES];

	if (ns)
		buf_printf(buf, "%s %s",
			   json_is_true(json_object_get(job, "promised")) ? "by" : "≈",
			   when_print(ns, now_ns, text));
}

static int64_t left_ns(const json_t *job, int64_t now_ns)
{
	int64_t started_ns = when_json(job, "started_at"), limit_s = grid_int(job, "time_limit_s");

	if (!started_ns || limit_s <= 0 || limit_s > STRATA_DURATION_NS_MAX / STRATA_SECOND_NS)
		return -1;
	int64_t left = started_ns + limit_s * STRATA_SECOND_NS - now_ns;

	return left > 0 ? left : 0;
}

/* Whole seconds are enough for anything that a person waits for. */
static char *span(int64_t ns, char text[STRATA_FORM_BYTES])
{
	return strata_duration_print_short(ns - ns % STRATA_SECOND_NS, text);
}

void job_add_expected_place(const json_t *job, struct buf *buf)
{
	const char *node = grid_string(job, "expected_node");
	int64_t count = grid_int(job, "expected_node_count");

	if (node)
		buf_printf(buf, " on %s", node);
	if (node && count > 1)
		buf_printf(buf, " and %" PRId64 " more", count - 1);
}

static void add_waiting(const json_t *job, int64_t now_ns, struct buf *buf)
{
	const char *why = grid_string(job, "reason_text");
	struct buf start;

	if (strcmp(state_words(job), "held") == 0) {
		buf_add(buf, "; `strata release ");
		job_add_id(job, buf);
		buf_add(buf, "` lets it start");
	} else if (why && *why)
		buf_printf(buf, ": %s", why);
	buf_init(&start, buf->memory, 0);
	add_start(job, now_ns, &start);
	if (start.length) {
		buf_printf(buf, "; starts %s", start.text);
		job_add_expected_place(job, buf);
	}
	buf_fini(&start);
}

static void add_running(const json_t *job, int64_t now_ns, struct buf *buf)
{
	int64_t started_ns = when_json(job, "started_at"), left = left_ns(job, now_ns);
	char text[STRATA_FORM_BYTES];

	if (json_array_size(json_object_get(job, "node_names"))) {
		buf_add(buf, " on ");
		add_nodes(job, buf);
	}
	if (started_ns)
		buf_printf(buf, " since %s", when_print(started_ns, now_ns, text));
	if (left >= 0)
		buf_printf(buf, "; %s left", span(left, text));
}

static void add_ended(const json_t *job, struct buf *buf)
{
	const char *why = grid_string(job, "reason_text");
	int64_t started_ns = when_json(job, "started_at"), ended_ns = when_json(job, "ended_at");
	int64_t code = grid_int(job, "exit_code"), number = grid_int(job, "exit_signal");
	char text[STRATA_FORM_BYTES];

	if (why && *why && !is_state(job, "completed"))
		buf_printf(buf, ": %s", why);
	if (started_ns && ended_ns >= started_ns)
		buf_printf(buf, "; it ran for %s", span(ended_ns - started_ns, text));
	if (number)
		buf_printf(buf, "; ended by signal %" PRId64, number);
	else if (code)
		buf_printf(buf, "; exit code %" PRId64, code);
}

void job_sentence(const json_t *job, int64_t now_ns, struct buf *buf)
{
	const char *state = state_words(job);
	const char *verb = is_state(job, "cancelled") ? "was " : job_ended(job) ? "" : "is ";

	buf_add(buf, "job ");
	job_add_id(job, buf);
	buf_printf(buf, " %s%s", verb, state);
	if (job_ended(job))
		add_ended(job, buf);
	else if (is_state(job, "running"))
		add_running(job, now_ns, buf);
	else
		add_waiting(job, now_ns, buf);
}

/* ---- columns ---- */

void job_id_cell(const struct grid_cell *cell)
{
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	job_add_id(cell->row, &buf);
	cli_table_add_buf(cell->table, &buf, "-");
}

void job_state_cell(const struct grid_cell *cell)
{
	cli_table_add_styled(cell->table, job_style(grid_string(cell->row, "state")), "%s",
			     state_words(cell->row));
}

static void place_cell(const struct grid_cell *cell)
{
	const char *why = grid_string(cell->row, "reason_text");
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	add_nodes(cell->row, &buf);
	if (buf.length == 0)
		buf_add(&buf, why && *why ? why : "-");
	cli_table_add_buf(cell->table, &buf, "-");
}

static void left_cell(const struct grid_cell *cell)
{
	int64_t left = is_state(cell->row, "running") ? left_ns(cell->row, cell->now_ns) : -1;
	char text[STRATA_FORM_BYTES];
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	if (left >= 0)
		buf_printf(&buf, "%s left", span(left, text));
	else if (!job_ended(cell->row) && !is_state(cell->row, "running"))
		add_start(cell->row, cell->now_ns, &buf);
	cli_table_add_buf(cell->table, &buf, "-");
}

const struct grid_column job_columns[] = {
	{ { .title = "ID", .right = true, .style = CLI_BOLD }, job_id_cell, "id" },
	{ { .title = "NAME", .flexible = true }, grid_text, "name" },
	{ { .title = "USER" }, grid_text, "user" },
	{ { .title = "STATE" }, job_state_cell, NULL },
	{ { .title = "NODES OR WHY", .flexible = true }, place_cell, NULL },
	{ { .title = "GPUS", .right = true }, grid_text, "gpus" },
	{ { .title = "TIME", .right = true }, job_elapsed_cell, NULL },
	{ { .title = "LEFT OR START" }, left_cell, NULL },
};
const size_t job_column_count = sizeof(job_columns) / sizeof(job_columns[0]);
