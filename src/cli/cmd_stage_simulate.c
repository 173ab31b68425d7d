/* strata stage simulate: a loop follows a schedule by its hooks, on a virtual clock. */
#include "cli/stage.h"

#include "formats/stage_schedule.h"
#include "sim/staging.h"

#include <strata/text.h>

struct simulate_options {
	int64_t steps;
	bool log;
};

static const struct strata_option simulate_rows[] = {
	{ "steps", STRATA_INT, offsetof(struct simulate_options, steps),
	  .integer = { 6, 1, 1000000 }, .help = "of the loop" },
	{ "log", STRATA_BOOL, offsetof(struct simulate_options, log),
	  .help = "show which hook ran which entry, a line each" },
	{ 0 }
};
static const struct strata_schema simulate_schema = { "stage simulate", NULL,
						      sizeof(struct simulate_options),
						      simulate_rows };

struct log {
	struct cli *cli;
	const struct strata_stage_model *model;
	const struct strata_stage_plan *plan;
	json_t *events; /* NULL: lines */
	bool failed;
	struct buf entry; /* scratch */
};

/* Whole layers without their pages. */
static const char *entry_text(struct log *log, const struct strata_stage_entry *entry)
{
	struct strata_stage_entry whole = *entry;

	if (entry->count == log->plan->layer_pages[entry->layer])
		whole.count = 0;
	buf_reset(&log->entry);
	stage_schedule_add(&log->entry, &whole, log->model);
	return log->entry.text;
}

static void tell_json(struct log *log, const struct staging_event *event, const char *layer)
{
	json_t *one = json_pack("{s:I,s:s,s:s*,s:s,s:s,s:f,s:f}", "step", (json_int_t)event->step,
				"hook", strata_stage_hook_name(event->hook), "layer",
				layer[0] ? layer : NULL, "kind",
				strata_stage_kind_name(event->entry->kind), "layer_name",
				log->model->layers[event->entry->layer].name, "begin_us",
				event->span.begin_ns / 1e3, "end_us", event->span.end_ns / 1e3);

	log->failed |= json_array_append_new(log->events, one) != 0;
}

static void tell(void *context, const struct staging_event *event)
{
	struct log *log = context;
	const char *layer = event->layer == UINT32_MAX ? "" : log->model->layers[event->layer].name;

	if (log->events)
		tell_json(log, event, layer);
	else
		cli_printf(log->cli, "%12.3f ms  %s(%s): %s\n", event->span.begin_ns / 1e6,
			   strata_stage_hook_name(event->hook), layer,
			   entry_text(log, event->entry));
}

static int print(struct cli *cli, const struct staging_result *result, struct log *log)
{
	char read[STRATA_FORM_BYTES], peak[STRATA_FORM_BYTES];

	if (!cli->globals.json) {
		cli_printf(cli,
			   "first step %.3f ms, then %.3f ms each, %.3f ms of it waiting; %s read "
			   "a step, peak %s\n",
			   result->first_ns / 1e6, result->step_ns / 1e6, result->wait_ns / 1e6,
			   strata_size_print_short((int64_t)result->bytes_per_step, read),
			   strata_size_print_short(result->peak_bytes, peak));
		return 0;
	}
	json_t *json = json_pack("{s:f,s:f,s:f,s:f,s:I}", "first_us", result->first_ns / 1e3,
				 "step_us", result->step_ns / 1e3, "wait_us", result->wait_ns / 1e3,
				 "bytes_per_step", result->bytes_per_step, "peak_bytes",
				 (json_int_t)result->peak_bytes);

	if (log->failed || (json && log->events && json_object_set(json, "log", log->events))) {
		json_decref(json);
		json = NULL;
	}
	return cli_print_json(cli, json);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct simulate_options *options = conf;
	const struct stage_source *source = cli->shared;
	struct strata_stage_model model;
	struct strata_stage_plan plan;
	struct staging_result result;
	struct strata_stage_run *run = NULL;
	int rc = stage_source_read(cli, source, operands[0], &model, &plan);

	(void)operand_count;
	if (rc)
		return rc;
	const struct strata_stage_run_conf run_conf = {
		.model = &model, .machine = { .bytes_per_s = source->bandwidth }, .plan = &plan
	};
	struct log log = { .cli = cli,
			   .model = &model,
			   .plan = &plan,
			   .events = options->log && cli->globals.json ? json_array() : NULL };
	struct staging_conf staging = { .model = &model,
					.page_bytes = plan.page_bytes,
					.bytes_per_s = source->bandwidth,
					.steps = (uint64_t)options->steps,
					.tell = options->log ? tell : NULL,
					.context = &log };

	buf_init(&log.entry, &cli->memory, 0);
	rc = strata_stage_run_new(&run_conf, &cli->memory, &run, &cli->err);
	staging.run = run;
	if (rc == 0)
		rc = staging_run(&staging, &cli->arena, &result, &cli->err);
	if (rc == 0)
		rc = print(cli, &result, &log);
	strata_stage_run_free(run);
	buf_fini(&log.entry);
	json_decref(log.events);
	return rc;
}

const struct cli_command cli_stage_simulate = {
	.name = "stage simulate",
	.operands = "PLAN",
	.summary = "follow a schedule by its hooks on a virtual clock",
	.about = "Calls the hooks as a loop over the model would (on_step_start, on_pre_forward, … "
		 "on_step_end) and does what they make due: one\n"
		 "channel reads in the order it is asked, one layer computes at a time. PLAN is as "
		 "in "
		 "`strata stage verify`, and is verified first.",
	.examples =
		"  strata stage plan --layers model.json --budget 2GiB --schedule --json | strata "
		"stage simulate -\n"
		"  strata stage simulate mine.txt --steps 1 --log",
	.options = &simulate_schema,
	.shared = &stage_source_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
