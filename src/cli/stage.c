/* Schedules and layers from files, for the commands of the stage level. */
#include "cli/stage.h"

#include "core/env.h"
#include "formats/model_layers.h"
#include "formats/stage_schedule.h"
#include "sim/input.h"

#include <strata/limits.h>

static const struct strata_option source_rows[] = {
	{ "layers", STRATA_TEXT, offsetof(struct stage_source, layers), .value = "FILE",
	  .help = "layers of the model, where the schedule has none; without them each is one "
		  "page" },
	{ "budget", STRATA_BYTES, offsetof(struct stage_source, budget),
	  .integer = { 0, 0, INT64_MAX },
	  .help = "memory for parameters; 0: as the schedule says, or all of them" },
	{ "page", STRATA_BYTES, offsetof(struct stage_source, page),
	  .integer = { 0, 0, INT64_C(1) << 40 }, .help = "size of a page; 0: as it says, or 2MiB" },
	{ "bandwidth", STRATA_RATE, offsetof(struct stage_source, bandwidth),
	  .integer = { INT64_C(1000000000), 1, INT64_MAX }, .help = "of what they are read from" },
	{ 0 }
};
const struct strata_schema stage_source_schema = { "schedule", "the model and the machine",
						   sizeof(struct stage_source), source_rows };

int stage_layers_read(struct cli *cli, const char *path, struct strata_stage_model *ret_model)
{
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	return rc ? rc : model_layers_read(text, length, &cli->arena, ret_model, &cli->err);
}

static int64_t first_of(int64_t a, int64_t b, int64_t c)
{
	return a ? a : b ? b : c;
}

int stage_schedule_plan(struct cli *cli, const struct stage_source *source, const char *path,
			const struct strata_stage_model *known,
			struct strata_stage_model *ret_model, struct strata_stage_plan *ret_plan)
{
	struct strata_stage_machine machine = { .bytes_per_s = source->bandwidth };
	struct stage_schedule schedule;
	int64_t all = 0;
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	if (rc == 0)
		rc = stage_schedule_read(text, length, known, &cli->arena, &schedule, &cli->err);
	if (rc)
		return rc;
	/* layers nobody knows the size of are a page each */
	bool sizes = schedule.has_layers || known;

	machine.page_bytes = first_of(source->page, schedule.page_bytes, sizes ? 2 << 20 : 1);
	/* all of them; what is too much for a sum is no limit either */
	for (size_t i = 0; i < schedule.model.layer_count && all < INT64_C(1) << 60; i++)
		all += (schedule.model.layers[i].bytes / machine.page_bytes + 1) *
		       machine.page_bytes;
	machine.budget_bytes = first_of(source->budget, schedule.budget_bytes, all);
	rc = strata_stage_schedule(&schedule.model, &machine, schedule.held, schedule.entries,
				   schedule.entry_count, &cli->arena, ret_plan, &cli->err);
	if (rc == 0)
		rc = strata_stage_verify(ret_plan, &schedule.model, &cli->arena, &cli->err);
	*ret_model = schedule.model;
	return rc;
}

int stage_source_read(struct cli *cli, const struct stage_source *source, const char *path,
		      struct strata_stage_model *ret_model, struct strata_stage_plan *ret_plan)
{
	struct strata_stage_model known;
	int rc = source->layers ? stage_layers_read(cli, source->layers, &known) : 0;

	return rc ? rc
		  : stage_schedule_plan(cli, source, path, source->layers ? &known : NULL,
					ret_model, ret_plan);
}
