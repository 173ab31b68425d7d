/* strata tasks: generation tasks, one of them, their ends and their pictures. */
#include "cli/engine_options.h"
#include "cli/task.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- tasks ---- */

struct tasks_conf {
	bool me;
	const char *user, *status, *model;
	int64_t limit;
};

static const struct strata_option tasks_options[] = {
	{ "me", STRATA_BOOL, offsetof(struct tasks_conf, me), .help = "only your own" },
	{ "user", STRATA_TEXT, offsetof(struct tasks_conf, user), .letter = 'u', .value = "NAME",
	  .help = "only this user's" },
	{ "status", STRATA_TEXT, offsetof(struct tasks_conf, status), .value = "STATUS,…",
	  .help = "only these: pending, encoding, denoising, decoding, finished, failed, "
		  "cancelled" },
	{ "model", STRATA_TEXT, offsetof(struct tasks_conf, model), .letter = 'm', .value = "NAME",
	  .help = "only of this model" },
	{ "limit", STRATA_INT, offsetof(struct tasks_conf, limit), .integer = { 0, 0, INT64_MAX },
	  .letter = 'n', .help = "so many at most (0: as the service has it)" },
	{ 0 }
};
static const struct strata_schema tasks_schema = { "tasks", NULL, sizeof(struct tasks_conf),
						   tasks_options };

static int show(struct cli *cli, const void *conf, char **operands, size_t operand_count);

static int list(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct tasks_conf *conf = conf_any;
	char limit[24];
	struct buf path;

	if (operand_count)
		return show(cli, NULL, operands, operand_count);
	snprintf(limit, sizeof(limit), "%" PRId64, conf->limit);
	service_path(cli, &path, "tasks", NULL, NULL);
	client_query(&path, "user", conf->me ? service_own_name(cli) : conf->user);
	client_query(&path, "status", conf->status);
	client_query(&path, "model", conf->model);
	client_query(&path, "limit", conf->limit ? limit : NULL);
	return grid_collection(cli, &path, "tasks", task_columns, task_column_count,
			       "there are no such tasks; `strata generate PROMPT` adds one");
}

/* ---- tasks show ---- */

static void add_id(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "T%" PRId64, grid_int(cell->row, "id"));
}

static void add_cost(const struct grid_cell *cell)
{
	char text[STRATA_FORM_BYTES];

	cli_table_add(cell->table, "%s",
		      strata_duration_print_short(grid_int(cell->row, cell->key), text));
}

static void add_images(const struct grid_cell *cell)
{
	json_t *images = json_object_get(cell->row, cell->key), *image;
	struct buf buf;
	size_t i;

	buf_init(&buf, &cell->cli->memory, 0);
	json_array_foreach(images, i, image) buf_printf(
		&buf, "%s%" PRId64 "x%" PRId64 " (%" PRId64 " bytes)", i ? ", " : "",
		grid_int(image, "width"), grid_int(image, "height"), grid_int(image, "bytes"));
	cli_table_add_buf(cell->table, &buf, "-");
}

static const struct grid_column fields[] = {
	{ { .title = "task" }, add_id, "id" },
	{ { .title = "user" }, grid_text, "user" },
	{ { .title = "account" }, grid_text, "account" },
	{ { .title = "model" }, grid_text, "model" },
	{ { .title = "status" }, grid_text, "status" },
	{ { .title = "error" }, grid_text, "error" },
	{ { .title = "cancelled by" }, grid_text, "cancelled_by" },
	{ { .title = "priority" }, grid_text, "priority" },
	{ { .title = "position" }, grid_text, "position" },
	{ { .title = "expected start" }, grid_time, "expected_start" },
	{ { .title = "deadline" }, grid_time, "deadline" },
	{ { .title = "created" }, grid_time, "created_at" },
	{ { .title = "started" }, grid_time, "started_at" },
	{ { .title = "ended" }, grid_time, "ended_at" },
	{ { .title = "steps" }, grid_text, "steps" },
	{ { .title = "steps done" }, grid_text, "steps_done" },
	{ { .title = "attempts" }, grid_text, "attempts" },
	{ { .title = "computed" }, add_cost, "cost_ns" },
	{ { .title = "seed" }, grid_text, "seed" },
	{ { .title = "parameters" }, task_pairs, "parameters" },
	{ { .title = "pictures" }, add_images, "images" },
};

static int get(struct cli *cli, const char *word, const void *context, json_t **ret_json)
{
	struct buf path;
	int rc = task_path(cli, &path, word, NULL);

	(void)context;
	return rc ? rc : service_get(cli, &path, ret_json);
}

static int print(struct cli *cli, const char *word, const json_t *task)
{
	(void)word;
	return grid_fields(cli, fields, sizeof(fields) / sizeof(fields[0]), task);
}

static int show(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, get, NULL, print);
}

/* ---- tasks cancel ---- */

static int cancel_one(struct cli *cli, const char *word, const void *context, json_t **ret_json)
{
	struct buf path;
	int rc = task_path(cli, &path, word, NULL);

	(void)context;
	return rc ? rc : service_ask(cli, "DELETE", &path, NULL, ret_json);
}

static int print_cancelled(struct cli *cli, const char *word, const json_t *json)
{
	(void)json;
	cli_printf(cli, "task T%s is cancelled\n", word + task_is_word(word));
	return 0;
}

static int cancel(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, cancel_one, NULL, print_cancelled);
}

/* ---- tasks image ---- */

struct image_conf {
	const char *output;
	bool wait;
	int preview; /* enum engine_preview_mode */
};

static const struct strata_option image_options[] = {
	{ "output", STRATA_TEXT, offsetof(struct image_conf, output), .value = "FILE",
	  .letter = 'o',
	  .help = "the PNG file to write, T17.png when left out; of several, FILE-1 …" },
	{ "wait", STRATA_BOOL, offsetof(struct image_conf, wait), .letter = 'W',
	  .help = "wait until the task has ended" },
	{ "preview", STRATA_ENUM, offsetof(struct image_conf, preview),
	  .choice = { engine_previews, ENGINE_PREVIEW_NONE },
	  .help = "show it in the terminal, and while it is drawn; auto: half blocks where there are "
		  "colours" },
	{ 0 }
};
static const struct strata_schema image_schema = { "tasks image", NULL, sizeof(struct image_conf),
						   image_options };

static bool is_finished(const json_t *task)
{
	return strcmp(grid_or(json_object_get(task, "status"), ""), "finished") == 0;
}

static int save(struct cli *cli, const char *id, const char *output, const json_t *task)
{
	struct buf sentence;

	if (is_finished(task)) {
		const char *file = output ? output
					  : strata_arena_printf(&cli->arena, "T%s.png", id);

		return file ? task_save(cli, task, file) : strata_fail_memory(&cli->err);
	}
	buf_init(&sentence, &cli->memory, 0);
	task_sentence(task, when_now_ns(), &sentence);
	int rc = strata_fail(&cli->err, -EAGAIN, "%s%s", sentence.text,
			     task_ended(task) ? "" : "; --wait waits for it");

	if (task_ended(task))
		rc = cli->err.code = -ECANCELED;
	else
		rc = cli->err.code = -EBUSY;
	buf_fini(&sentence);
	return rc;
}

static int image(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct image_conf *conf = conf_any;
	const char *id;
	json_t *task;
	int rc = task_id(cli, operands[0], &id);

	struct task_preview *preview = NULL;

	(void)operand_count;
	if (rc == 0 && conf->preview != ENGINE_PREVIEW_NONE)
		rc = task_preview_open(cli, conf->preview, &preview);
	if (rc == 0)
		rc = conf->wait ? task_follow(cli, id, preview, &task) : get(cli, id, NULL, &task);
	if (rc == 0 && !conf->wait && is_finished(task))
		task_preview_show(preview, id, "/image");
	task_preview_close(preview);
	if (rc)
		return rc;
	rc = save(cli, id, conf->output, task);
	json_decref(task);
	return rc;
}

const struct cli_command cli_tasks = {
	.name = "tasks",
	.operands = "[ID…]",
	.operands_max = -1,
	.summary = "show generation tasks: who asked, how far they are",
	.about = "The newest come first. Prompts are their owner's and operators' to see. With IDs, "
		 "everything about these.",
	.examples = "  strata tasks --me\n"
		    "  strata tasks T17\n"
		    "  strata tasks --status pending,denoising --model sdxl",
	.options = &tasks_schema,
	.run = list,
};
const struct cli_command cli_tasks_show = {
	.name = "tasks show",
	.operands = "ID…",
	.summary = "show everything that is known of a task",
	.examples = "  strata tasks show T17",
	.operands_min = 1,
	.operands_max = -1,
	.run = show,
};
const struct cli_command cli_tasks_cancel = {
	.name = "tasks cancel",
	.operands = "ID…",
	.summary = "cancel tasks that wait or are being drawn",
	.examples = "  strata tasks cancel T17 T18",
	.operands_min = 1,
	.operands_max = -1,
	.run = cancel,
};
const struct cli_command cli_tasks_image = {
	.name = "tasks image",
	.operands = "ID",
	.summary = "get the pictures of a task",
	.examples = "  strata tasks image T17 -o seven.png\n"
		    "  strata tasks image T17 --wait",
	.options = &image_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = image,
};
