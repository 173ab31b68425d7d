/* strata models: what pictures are made with; show, add, remove, pause. */
#include "cli/service.h"
#include "cli/task.h"
#include "core/env.h"
#include "sim/input.h"

#include <strata/limits.h>
#include <strata/solver.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_BYTES_MAX = 1 << 20 };

/* ---- models ---- */

static void add_workers(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "%" PRId64 " of %" PRId64 "-%" PRId64,
		      grid_int(cell->row, "workers"), grid_int(cell->row, "workers_min"),
		      grid_int(cell->row, "workers_max"));
}

static void add_state(const struct grid_cell *cell)
{
	const char *trouble = grid_string(cell->row, "trouble");

	if (json_is_true(json_object_get(cell->row, "paused")))
		cli_table_add_styled(cell->table, CLI_YELLOW, "paused");
	else if (trouble)
		cli_table_add_styled(cell->table, CLI_RED, "%s", trouble);
	else
		cli_table_add(cell->table, "ready");
}

static void add_folder(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "%s",
		      grid_or(json_object_get(cell->row, cell->key), "built in"));
}

static const struct grid_column columns[] = {
	{ { .title = "NAME", .style = CLI_BOLD }, grid_text, "name" },
	{ { .title = "BACKEND" }, grid_text, "backend" },
	{ { .title = "WORKERS" }, add_workers, "workers" },
	{ { .title = "PENDING", .right = true }, grid_text, "pending" },
	{ { .title = "RUNNING", .right = true }, grid_text, "running" },
	{ { .title = "STATE" }, add_state, "paused" },
	{ { .title = "FOLDER", .flexible = true }, add_folder, "folder" },
};

static int list(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "models", NULL, NULL);
	return grid_collection(cli, &path, "models", columns, sizeof(columns) / sizeof(columns[0]),
			       "there are no models; `strata models add NAME DIR` adds one");
}

/* ---- models show ---- */

static const struct grid_column fields[] = {
	{ { .title = "model" }, grid_text, "name" },
	{ { .title = "default" }, grid_text, "default" },
	{ { .title = "family" }, grid_text, "family" },
	{ { .title = "folder" }, grid_text, "folder" },
	{ { .title = "backend" }, grid_text, "backend" },
	{ { .title = "worker" }, grid_text, "worker" },
	{ { .title = "gpus" }, grid_text, "gpus" },
	{ { .title = "cpus" }, grid_text, "cpus" },
	{ { .title = "memory" }, grid_size, "memory_bytes" },
	{ { .title = "batch" }, grid_text, "batch" },
	{ { .title = "fewest workers" }, grid_text, "workers_min" },
	{ { .title = "most workers" }, grid_text, "workers_max" },
	{ { .title = "kept warm" }, grid_text, "warm" },
	{ { .title = "workers" }, grid_text, "workers" },
	{ { .title = "tasks" }, grid_text, "tasks" },
	{ { .title = "pending" }, grid_text, "pending" },
	{ { .title = "running" }, grid_text, "running" },
	{ { .title = "paused" }, grid_text, "paused" },
	{ { .title = "trouble" }, grid_text, "trouble" },
	{ { .title = "policy" }, grid_text, "policy" },
	{ { .title = "defaults" }, task_pairs, "defaults" },
	{ { .title = "created" }, grid_time, "created_at" },
};

static void add_side(struct cli_table *table, int64_t side)
{
	if (side)
		cli_table_add(table, "%" PRId64, side);
	else
		cli_table_add(table, "its own");
}

/* What a step has needed, by the size of the pictures. */
static int print_measured(struct cli *cli, const json_t *measured)
{
	static const struct cli_column headings[] = {
		{ "WIDTH", .right = true },  { "HEIGHT", .right = true },
		{ "N", .right = true },      { "PICTURES", .right = true },
		{ "A STEP", .right = true },
	};
	struct cli_table *table;
	size_t i;
	json_t *row;

	if (!json_array_size(measured))
		return 0;
	int rc = cli_table_new(cli, headings, sizeof(headings) / sizeof(headings[0]), &table);

	if (rc)
		return rc;
	cli_printf(cli, "\n");
	json_array_foreach(measured, i, row)
	{
		const json_t *seconds = json_object_get(row, "seconds_per_step");

		add_side(table, grid_int(row, "width"));
		add_side(table, grid_int(row, "height"));
		cli_table_add(table, "%" PRId64, grid_int(row, "n"));
		cli_table_add(table, "%" PRId64, grid_int(row, "images"));
		if (json_is_number(seconds))
			cli_table_add(table, "%.3g s", json_number_value(seconds));
		else
			cli_table_add(table, "-");
	}
	return cli_table_print(table);
}

static int print(struct cli *cli, const char *name, const json_t *model)
{
	(void)name;
	int rc = grid_fields(cli, fields, sizeof(fields) / sizeof(fields[0]), model);

	return rc ? rc : print_measured(cli, json_object_get(model, "measured"));
}

static int get(struct cli *cli, const char *name, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	service_path(cli, &path, "models", name, NULL);
	return service_get(cli, &path, ret_json);
}

static int show(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, get, NULL, print);
}

/* ---- models add ---- */

struct add_conf {
	int64_t gpus, memory_bytes, batch, steps;
	double cpus, guidance;
	const char *workers, *backend, *worker, *family, *solver, *schedule, *size;
};

#define OFFSET(field) offsetof(struct add_conf, field)
static const struct strata_option add_options[] = {
	{ "gpus", STRATA_INT, OFFSET(gpus), .integer = { -1, -1, 64 }, .letter = 'g',
	  .help = "of one worker" },
	{ "cpus", STRATA_REAL, OFFSET(cpus), .real = { -1, -1, 4096 }, .letter = 'c',
	  .help = "of one worker" },
	{ "memory", STRATA_BYTES, OFFSET(memory_bytes), .integer = { 0, 0, INT64_MAX },
	  .help = "of one worker, as 12G" },
	{ "workers", STRATA_TEXT, OFFSET(workers), .value = "MIN-MAX",
	  .help = "how many workers there may be: 0-4, or 2 for always two" },
	{ "backend", STRATA_TEXT, OFFSET(backend), .value = "NAME",
	  .help = "native or onnxruntime" },
	{ "worker", STRATA_TEXT, OFFSET(worker), .value = "KIND",
	  .help = "which program draws: strata or python" },
	{ "family", STRATA_TEXT, OFFSET(family), .value = "NAME",
	  .help = "sd15, sdxl, flux …: what is used where nothing is said; by the folder's "
		  "model_index.json when left out" },
	{ "batch", STRATA_INT, OFFSET(batch), .integer = { 0, 0, STRATA_BATCH_MAX },
	  .help = "tasks that a worker computes together" },
	{ "solver", STRATA_TEXT, OFFSET(solver), .value = "NAME", .aliases = "sampler, scheduler",
	  .help = "of requests that name none" },
	{ "schedule", STRATA_TEXT, OFFSET(schedule), .value = "NAME",
	  .help = "of requests that name none" },
	{ "steps", STRATA_INT, OFFSET(steps), .integer = { 0, 0, STRATA_SOLVER_STEPS_MAX },
	  .help = "of requests that say nothing" },
	{ "size", STRATA_TEXT, OFFSET(size), .value = "WxH",
	  .help = "of requests that say nothing" },
	{ "guidance", STRATA_REAL, OFFSET(guidance), .real = { -1, -1, 1000 },
	  .aliases = "cfg_scale, guidance_scale", .help = "of requests that say nothing" },
	{ 0 }
};
static const struct strata_schema add_schema = { "models add", NULL, sizeof(struct add_conf),
						 add_options };

/* "0-4" or "2" */
static int read_workers(struct cli *cli, const char *text, int64_t *min, int64_t *max)
{
	const char *dash = strchr(text, '-');
	size_t length = dash ? (size_t)(dash - text) : strlen(text);

	if (strata_int_parse(text, length, 0, 1000000, min, NULL) ||
	    strata_int_parse(dash ? dash + 1 : text, STRATA_TEXT_NUL, *min, 1000000, max, NULL))
		return strata_fail_at(&cli->err, -EINVAL, "workers",
				      "--workers is '%.40s'; expected a number or a range such as "
				      "0-4",
				      text);
	return 0;
}

static int set_text(json_t *body, const char *key, const char *text)
{
	return text ? json_object_set_new(body, key, json_string(text)) : 0;
}

static int set_int(json_t *body, const char *key, int64_t value, bool said)
{
	return said ? json_object_set_new(body, key, json_integer(value)) : 0;
}

static int set_real(json_t *body, const char *key, double value)
{
	return value >= 0 ? json_object_set_new(body, key, json_real(value)) : 0;
}

/* A small JSON file of the folder; NULL: there is none that can be read. */
static json_t *read_index(struct cli *cli, const char *folder, const char *name)
{
	const char *path = folder ? strata_arena_printf(&cli->arena, "%s/%s", folder, name) : NULL;
	struct strata_error none = { 0 };
	const char *text;
	size_t length;

	if (!path || input_read(env_system(), path, INDEX_BYTES_MAX, &cli->arena, &text, &length,
				&none))
		return NULL;
	return json_loadb(text, length, 0, NULL);
}

/* The side of the pictures that the folder's own model was trained with; 0: it does not say. */
static int64_t find_side(struct cli *cli, const char *folder)
{
	static const char *const denoisers[] = { "unet/config.json", "transformer/config.json" };
	static const char *const decoders[] = { "vae/config.json", "vae_decoder/config.json" };
	int64_t sample = 0;
	size_t blocks = 0;

	for (size_t i = 0; i < 2; i++) {
		json_t *denoiser = read_index(cli, folder, denoisers[i]);
		json_t *decoder = read_index(cli, folder, decoders[i]);

		sample = sample ? sample : grid_int(denoiser, "sample_size");
		blocks = blocks ? blocks
				: json_array_size(json_object_get(decoder, "block_out_channels"));
		json_decref(denoiser);
		json_decref(decoder);
	}
	return sample >= 1 && blocks >= 1 && blocks <= 8 &&
			       sample <= STRATA_IMAGE_SIDE_MAX >> (blocks - 1)
		       ? sample << (blocks - 1)
		       : 0;
}

/* The family whose pipeline the folder says it is; NULL: none that is known. */
static const char *find_family(struct cli *cli, const char *folder)
{
	const struct strata_model_family *family = NULL;
	json_t *json = read_index(cli, folder, "model_index.json");
	const char *name = json_string_value(json_object_get(json, "_class_name"));

	if (name)
		strata_model_family_find(name, strlen(name), &family, NULL);
	json_decref(json);
	return family ? family->name : NULL;
}

/* Only what was said; the service fills in the rest. */
static int make_body(struct cli *cli, const struct add_conf *conf, const char *folder,
		     json_t **ret_body)
{
	int64_t min = 0, max = 0;
	uint32_t width = 0, height = 0;
	char *path = folder ? realpath(folder, NULL) : NULL;
	int rc = task_size(cli, conf->size, &width, &height);

	if (folder && !path)
		rc = strata_fail(&cli->err, -errno, "%.200s: %s", folder, strerror(errno));
	if (rc == 0 && conf->workers)
		rc = read_workers(cli, conf->workers, &min, &max);
	json_t *body = rc ? NULL : json_object();

	const char *family = conf->family ? conf->family : find_family(cli, path);

	if (!conf->family && !width) /* a pipeline of that class may be of another size */
		width = height = (uint32_t)find_side(cli, path);
	if (rc == 0 &&
	    (!body || set_text(body, "family", family) || set_text(body, "folder", path) || set_text(body, "backend", conf->backend) ||
	     set_text(body, "worker", conf->worker) || set_text(body, "solver", conf->solver) ||
	     set_text(body, "schedule", conf->schedule) ||
	     set_int(body, "gpus", conf->gpus, conf->gpus >= 0) ||
	     set_int(body, "memory", conf->memory_bytes, conf->memory_bytes > 0) ||
	     set_int(body, "batch", conf->batch, conf->batch > 0) ||
	     set_int(body, "steps", conf->steps, conf->steps > 0) ||
	     set_int(body, "width", width, width > 0) ||
	     set_int(body, "height", height, height > 0) ||
	     set_int(body, "workers_min", min, conf->workers != NULL) ||
	     set_int(body, "workers_max", max, conf->workers != NULL) ||
	     set_real(body, "cpus", conf->cpus) ||
	     set_real(body, "guidance_scale", conf->guidance))) {
		json_decref(body);
		rc = strata_fail_memory(&cli->err);
	}
	free(path);
	if (rc == 0)
		*ret_body = body;
	return rc;
}

static int add(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;
	json_t *body, *model;
	int rc = make_body(cli, conf, operand_count > 1 ? operands[1] : NULL, &body);

	if (rc)
		return rc;
	service_path(cli, &path, "models", operands[0], NULL);
	rc = service_ask(cli, "PUT", &path, body, &model);
	if (rc || service_printed(cli, model, &rc))
		return rc;
	cli_printf(cli, "model %s is there; `strata generate PROMPT --model %s` uses it\n",
		   operands[0], operands[0]);
	json_decref(model);
	return 0;
}

/* ---- models remove, pause, resume ---- */

static int remove_one(struct cli *cli, const char *name, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	service_path(cli, &path, "models", name, NULL);
	return service_ask(cli, "DELETE", &path, NULL, ret_json);
}

static int print_removed(struct cli *cli, const char *name, const json_t *json)
{
	(void)json;
	cli_printf(cli, "model %s is removed; its folder is as it was\n", name);
	return 0;
}

static int remove_all(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, remove_one, NULL, print_removed);
}

static int switch_one(struct cli *cli, const char *name, const void *context, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, "models", name, context);
	return service_ask(cli, "POST", &path, NULL, ret_json);
}

static int print_switched(struct cli *cli, const char *name, const json_t *model)
{
	cli_printf(cli, "model %s is %s\n", name,
		   json_is_true(json_object_get(model, "paused"))
			   ? "paused: its tasks wait; `strata models resume` goes on"
			   : "at work");
	return 0;
}

static int pause_all(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, switch_one, "/pause", print_switched);
}

static int resume_all(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, switch_one, "/resume", print_switched);
}

/* ---- models default, warm, cool ---- */

static int print_default(struct cli *cli, const char *name, const json_t *model)
{
	(void)model;
	cli_printf(cli, "model %s is used where none is named\n", name);
	return 0;
}

static int make_default(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, switch_one, "/default", print_default);
}

static int set_warm(struct cli *cli, const char *name, int64_t count)
{
	json_t *body = json_pack("{s:I}", "workers", (json_int_t)count), *answer = NULL;
	struct buf path;

	if (!body)
		return strata_fail_memory(&cli->err);
	service_path(cli, &path, "models", name, "/warm");
	int rc = service_ask(cli, "POST", &path, body, &answer); /* takes the body over */

	if (rc)
		return rc;
	if (cli->globals.json)
		return cli_print_json(cli, answer);
	if (count)
		cli_printf(cli, "model %s has %" PRId64 " workers up, with or without tasks\n", name,
			   count);
	else
		cli_printf(cli, "model %s: workers without tasks end\n", name);
	json_decref(answer);
	return 0;
}

static int warm(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	int64_t count = 1;

	(void)conf;
	if (operand_count > 1 &&
	    strata_int_parse(operands[1], STRATA_TEXT_NUL, 1, STRATA_MODEL_WORKERS_MAX, &count,
			     NULL))
		return strata_fail(&cli->err, -EINVAL, "'%.40s' workers; expected 1 to %d",
				   operands[1], STRATA_MODEL_WORKERS_MAX);
	return set_warm(cli, operands[0], count);
}

static int cool(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operand_count;
	return set_warm(cli, operands[0], 0);
}

#define FOR_OPERATORS "For operators."

const struct cli_command cli_models = {
	.name = "models",
	.summary = "show what pictures are made with, and who waits for it",
	.examples = "  strata models\n"
		    "  strata models add sdxl /srv/models/sdxl --gpus 1 --memory 12G --workers 0-4",
	.run = list,
};
const struct cli_command cli_models_show = {
	.name = "models show",
	.operands = "NAME…",
	.summary = "show everything that is known of a model",
	.examples = "  strata models show digits",
	.operands_min = 1,
	.operands_max = -1,
	.run = show,
};
const struct cli_command cli_models_add = {
	.name = "models add",
	.operands = "NAME [DIR]",
	.summary = "make a model, or change what was said of it",
	.about = "DIR is a pipeline's folder (model_index.json) that workers can read; without it, "
		 "one that comes with\n"
		 "the program. The service starts workers when there are tasks and ends them when "
		 "there are none.\n" FOR_OPERATORS,
	.examples = "  strata models add sdxl /srv/models/sdxl --gpus 1 --memory 12G --workers 0-4",
	.options = &add_schema,
	.operands_min = 1,
	.operands_max = 2,
	.run = add,
};
const struct cli_command cli_models_remove = {
	.name = "models remove",
	.operands = "NAME…",
	.summary = "remove models that have no tasks and no workers",
	.about = FOR_OPERATORS,
	.examples = "  strata models remove sdxl",
	.operands_min = 1,
	.operands_max = -1,
	.run = remove_all,
};
const struct cli_command cli_models_pause = {
	.name = "models pause",
	.operands = "NAME…",
	.summary = "let the tasks of a model wait",
	.about = "What is being drawn is drawn to its end. " FOR_OPERATORS,
	.examples = "  strata models pause sdxl",
	.operands_min = 1,
	.operands_max = -1,
	.run = pause_all,
};
const struct cli_command cli_models_resume = {
	.name = "models resume",
	.operands = "NAME…",
	.summary = "let the tasks of a paused model go on",
	.about = FOR_OPERATORS,
	.examples = "  strata models resume sdxl",
	.operands_min = 1,
	.operands_max = -1,
	.run = resume_all,
};
const struct cli_command cli_models_default = {
	.name = "models default",
	.operands = "NAME",
	.summary = "use a model for requests that name none",
	.about = "Without this it is the one that comes with the program. " FOR_OPERATORS,
	.examples = "  strata models default sdxl",
	.operands_min = 1,
	.operands_max = 1,
	.run = make_default,
};
const struct cli_command cli_models_warm = {
	.name = "models warm",
	.operands = "NAME [N]",
	.summary = "keep workers of a model up, with or without tasks",
	.about = "N is 1 when left out, and at most what the model may have. " FOR_OPERATORS,
	.examples = "  strata models warm sdxl 2",
	.operands_min = 1,
	.operands_max = 2,
	.run = warm,
};
const struct cli_command cli_models_cool = {
	.name = "models cool",
	.operands = "NAME",
	.summary = "let the workers of a model go that have no tasks",
	.about = "Those that have tasks end their work first. " FOR_OPERATORS,
	.examples = "  strata models cool sdxl",
	.operands_min = 1,
	.operands_max = 1,
	.run = cool,
};
