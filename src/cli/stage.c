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

int stage_source_read(struct cli *cli, const struct stage_source *source, const char *path,
		      struct strata_stage_model *ret_model, struct strata_stage_plan *ret_plan)
{
	const struct strata_stage_machine machine = { .budget_bytes = source->budget,
						      .page_bytes = source->page,
						      .bytes_per_s = source->bandwidth };
	struct strata_stage_model known;
	const char *text;
	size_t length;
	int rc = source->layers ? stage_layers_read(cli, source->layers, &known) : 0;

	if (rc == 0)
		rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text,
				&length, &cli->err);
	return rc ? rc
		  : stage_schedule_plan(text, length, &machine, source->layers ? &known : NULL,
					&cli->arena, ret_model, ret_plan, &cli->err);
}
