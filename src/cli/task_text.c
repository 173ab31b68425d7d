/* Generation tasks in words, by their words, and their pictures as files. */
#include "cli/task.h"

#include "core/env.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

bool task_is_word(const char *word)
{
	return (word[0] == 'T' || word[0] == 't') && word[1] >= '0' && word[1] <= '9';
}

int task_id(struct cli *cli, const char *word, const char **ret_id)
{
	const char *digits = word + task_is_word(word);
	int64_t id;

	if (strata_int_parse(digits, STRATA_TEXT_NUL, 1, INT64_MAX, &id, NULL))
		return strata_fail(&cli->err, -EINVAL, "'%.60s' is no task; expected T17", word);
	*ret_id = strata_arena_printf(&cli->arena, "%" PRId64, id);
	return *ret_id ? 0 : strata_fail_memory(&cli->err);
}

int task_path(struct cli *cli, struct buf *path, const char *word, const char *rest)
{
	const char *id;
	int rc = task_id(cli, word, &id);

	if (rc == 0)
		service_path(cli, path, "tasks", id, rest);
	return rc;
}

bool task_ended(const json_t *task)
{
	const char *status = grid_or(json_object_get(task, "status"), "");

	return strcmp(status, "finished") == 0 || strcmp(status, "failed") == 0 ||
	       strcmp(status, "cancelled") == 0;
}

enum cli_style task_style(const char *status)
{
	return strcmp(status, "finished") == 0    ? CLI_GREEN
	       : strcmp(status, "failed") == 0    ? CLI_RED
	       : strcmp(status, "pending") == 0   ? CLI_YELLOW
	       : strcmp(status, "cancelled") == 0 ? CLI_DIM
						  : CLI_BLUE;
}

/* Several users are served in turn: how far the others are until then is not known to the task. */
static bool is_rough(const json_t *task)
{
	return grid_int(task, "position_error") > 0;
}

static void add_waiting(const json_t *task, int64_t now_ns, struct buf *buf)
{
	int64_t position = grid_int(task, "position"), start_ns = when_json(task, "expected_start");
	const char *trouble = grid_string(task, "error");
	char text[STRATA_FORM_BYTES];

	if (position)
		buf_printf(buf, ": %snumber %" PRId64 " in line", is_rough(task) ? "about " : "",
			   position);
	if (start_ns > now_ns)
		buf_printf(buf, ", starts ≈ %s", when_print(start_ns, now_ns, text));
	if (trouble)
		buf_printf(buf, "; %s", trouble);
}

void task_sentence(const json_t *task, int64_t now_ns, struct buf *buf)
{
	const char *status = grid_or(json_object_get(task, "status"), "unknown");
	const char *by = grid_string(task, "cancelled_by"), *error = grid_string(task, "error");

	buf_printf(buf, "task T%" PRId64 " ", grid_int(task, "id"));
	if (strcmp(status, "failed") == 0) {
		buf_printf(buf, "failed%s%s", error ? ": " : "", error ? error : "");
	} else if (strcmp(status, "cancelled") == 0) {
		buf_printf(buf, "is cancelled%s%s", by ? " by " : "", by ? by : "");
	} else if (strcmp(status, "pending") == 0) {
		buf_add(buf, "is pending");
		add_waiting(task, now_ns, buf);
	} else {
		buf_printf(buf, "is %s", status);
		if (!task_ended(task) && grid_int(task, "steps"))
			buf_printf(buf, ": step %" PRId64 " of %" PRId64,
				   grid_int(task, "steps_done"), grid_int(task, "steps"));
	}
}

/* ---- columns ---- */

static void add_id(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "T%" PRId64, grid_int(cell->row, "id"));
}

static void add_status(const struct grid_cell *cell)
{
	const char *status = grid_or(json_object_get(cell->row, "status"), "-");

	cli_table_add_styled(cell->table, task_style(status), "%s", status);
}

static void add_steps(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "%" PRId64 "/%" PRId64, grid_int(cell->row, "steps_done"),
		      grid_int(cell->row, "steps"));
}

/* Where it is in line, or how long it took. */
static void add_when(const struct grid_cell *cell)
{
	int64_t position = grid_int(cell->row, "position");
	int64_t started_ns = when_json(cell->row, "started_at");
	int64_t ended_ns = when_json(cell->row, "ended_at");
	char text[STRATA_FORM_BYTES];

	if (position)
		cli_table_add(cell->table, "%snumber %" PRId64, is_rough(cell->row) ? "≈ " : "",
			      position);
	else if (started_ns && ended_ns)
		cli_table_add(cell->table, "%s",
			      strata_duration_print_short(ended_ns - started_ns, text));
	else
		cli_table_add(cell->table, "-");
}

static void add_prompt(const struct grid_cell *cell)
{
	const json_t *parameters = json_object_get(cell->row, "parameters");

	cli_table_add(cell->table, "%s", grid_or(json_object_get(parameters, "prompt"), "-"));
}

void task_pairs(const struct grid_cell *cell)
{
	json_t *parameters = json_object_get(cell->row, cell->key), *value;
	const char *key;
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	json_object_foreach(parameters, key, value)
	{
		if (json_is_null(value) || (json_is_string(value) && !json_string_length(value)))
			continue;
		buf_printf(&buf, "%s%s: ", buf.length ? ", " : "", key);
		grid_add(&buf, value);
	}
	cli_table_add_buf(cell->table, &buf, "-");
}

const struct grid_column task_columns[] = {
	{ { .title = "ID", .style = CLI_BOLD }, add_id, "id" },
	{ { .title = "USER" }, grid_text, "user" },
	{ { .title = "MODEL" }, grid_text, "model" },
	{ { .title = "STATUS" }, add_status, "status" },
	{ { .title = "STEPS", .right = true }, add_steps, "steps" },
	{ { .title = "CREATED" }, grid_time, "created_at" },
	{ { .title = "LINE/TIME" }, add_when, "position" },
	{ { .title = "PROMPT", .flexible = true }, add_prompt, "parameters" },
};
const size_t task_column_count = sizeof(task_columns) / sizeof(task_columns[0]);

/* ---- pictures ---- */

static int take(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct buf *buf = context;

	if (count > buf->limit_bytes - buf->length)
		return strata_fail(err, -E2BIG, "the picture is larger than %zu bytes",
				   buf->limit_bytes);
	buf_add_bytes(buf, bytes, count);
	return buf_check(buf, err);
}

int task_picture(struct cli *cli, const char *id, size_t number, const char *path)
{
	struct client *client;
	struct buf ask, picture;
	char rest[48];
	int rc = service_open(cli, &client);

	if (rc)
		return rc;
	snprintf(rest, sizeof(rest), "/image/%zu", number);
	service_path(cli, &ask, "tasks", id, rest);
	buf_init(&picture, &cli->memory, STRATA_PNG_BYTES_MAX);
	rc = buf_check(&ask, &cli->err);
	if (rc == 0)
		rc = client_stream(client, ask.text, take, &picture, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, picture.text, picture.length,
				    cli_file_mode(), &cli->err);
	buf_fini(&picture);
	buf_fini(&ask);
	return rc;
}

const char *task_file(struct cli *cli, const char *path, size_t number, size_t count)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

	if (count < 2)
		return path;
	if (!dot || dot == path || (slash && dot <= slash + 1))
		dot = path + strlen(path);
	return strata_arena_printf(&cli->arena, "%.*s-%zu%s", (int)(dot - path), path, number + 1,
				   dot);
}

static void say_saved(struct cli *cli, const json_t *task, const json_t *image, size_t number,
		      const char *file)
{
	cli_note(cli, "%s: %" PRId64 "x%" PRId64 ", %" PRId64 " steps, seed %" PRId64, file,
		 grid_int(image, "width"), grid_int(image, "height"), grid_int(task, "steps"),
		 grid_int(task, "seed") + (int64_t)number);
}

int task_save(struct cli *cli, const json_t *task, const char *path)
{
	const json_t *images = json_object_get(task, "images");
	size_t count = json_array_size(images);
	json_t *files = json_array();
	char id[24];
	int rc = files ? 0 : strata_fail_memory(&cli->err);

	snprintf(id, sizeof(id), "%" PRId64, grid_int(task, "id"));
	if (rc == 0 && count == 0)
		rc = strata_fail(&cli->err, -ENOENT, "task T%s has no picture", id);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const char *file = task_file(cli, path, i, count);

		rc = file ? task_picture(cli, id, i, file) : strata_fail_memory(&cli->err);
		if (rc == 0 && json_array_append_new(files, json_string(file)))
			rc = strata_fail_memory(&cli->err);
		if (rc == 0 && !cli->globals.json)
			say_saved(cli, task, json_array_get(images, i), i, file);
	}
	if (rc == 0 && cli->globals.json) {
		json_t *all = json_copy((json_t *)(uintptr_t)task);

		json_object_set(all, "files", files);
		rc = cli_print_json(cli, all);
	}
	json_decref(files);
	return rc;
}

int task_size(struct cli *cli, const char *text, uint32_t *width, uint32_t *height)
{
	const char *x = text ? strpbrk(text, "xX") : NULL;
	struct strata_error why;
	int64_t across, down;

	if (!text)
		return 0;
	if (!x ||
	    strata_int_parse(text, (size_t)(x - text), 1, STRATA_IMAGE_SIDE_MAX, &across, &why) ||
	    strata_int_parse(x + 1, STRATA_TEXT_NUL, 1, STRATA_IMAGE_SIDE_MAX, &down, &why))
		return strata_fail(&cli->err, -EINVAL,
				   "--size %s is not WIDTHxHEIGHT with 1 to %d pixels each way, as "
				   "512x768",
				   text, STRATA_IMAGE_SIDE_MAX);
	*width = (uint32_t)across;
	*height = (uint32_t)down;
	return 0;
}
