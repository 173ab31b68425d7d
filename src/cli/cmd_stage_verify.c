/* strata stage verify: does a schedule keep every rule? */
#include "cli/stage.h"

#include <strata/text.h>

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct strata_stage_model model;
	struct strata_stage_plan plan;
	char peak[STRATA_FORM_BYTES], budget[STRATA_FORM_BYTES], read[STRATA_FORM_BYTES];
	int rc = stage_source_read(cli, conf, operands[0], &model, &plan);

	(void)operand_count;
	if (rc)
		return rc;
	int64_t budget_bytes = plan.budget_pages * plan.page_bytes;

	if (cli->globals.json)
		return cli_print_json(cli,
				      json_pack("{s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "valid", true,
						"layers", (json_int_t)plan.layer_count, "visits",
						(json_int_t)plan.visit_count, "backward_visits",
						(json_int_t)model.backward_count, "entries",
						(json_int_t)plan.entry_count, "bytes_per_step",
						(json_int_t)plan.metrics.bytes_per_step,
						"peak_bytes", (json_int_t)plan.metrics.peak_bytes,
						"budget_bytes", (json_int_t)budget_bytes));
	cli_printf(cli,
		   "valid: %zu entries, %zu visits of %zu layers, peak %s of %s, %s read a step\n",
		   plan.entry_count, plan.visit_count, plan.layer_count,
		   strata_size_print_short(plan.metrics.peak_bytes, peak),
		   strata_size_print_short(budget_bytes, budget),
		   strata_size_print_short(plan.metrics.bytes_per_step, read));
	return 0;
}

const struct cli_command cli_stage_verify = {
	.name = "stage verify",
	.operands = "PLAN",
	.summary = "check that a schedule keeps every rule",
	.about = "PLAN is what `strata stage plan --schedule --json` prints, or a schedule written "
		 "by "
		 "hand: a JSON list of\n"
		 "{\"kind\": \"fetch\", \"layer_name\": \"L1\"}, or lines such as `fetch L1` and "
		 "`prefetch L2 0-31`; - reads standard input.\n"
		 "Every page is there when its layer computes, none is read that is there or given "
		 "up "
		 "that is not, no more than the\n"
		 "budget is in use, pages on their way included, and a step ends as it began. The "
		 "first entry that breaks a rule is named.",
	.examples =
		"  strata stage plan --layers model.json --budget 2GiB --schedule --json | strata "
		"stage verify -\n"
		"  strata stage verify mine.txt --layers model.json --budget 2GiB",
	.options = &stage_source_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
