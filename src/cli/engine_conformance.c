/* strata engine conformance, in the full program. */
#include "cli/engine_options.h"

#include "engine/conformance.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {
	[CONFORMANCE_RIGHT] = "right",
	[CONFORMANCE_WRONG] = "wrong",
	[CONFORMANCE_REFUSED] = "refused",
};

int engine_conformance_run_cli(struct cli *cli, const void *conf_any, char **operands,
			       size_t operand_count)
{
	const struct engine_conformance_options *conf = conf_any;
	const struct strata_engine_conf engine_conf = { .devices = conf->devices,
							.backend = conf->backend };
	size_t counts[CONFORMANCE_REFUSED + 1] = { 0 };
	struct cli_progress progress;
	struct strata_engine *engine;

	for (size_t i = 0; i < operand_count; i++) /* a name that was mistyped is no model that was refused */
		if (access(operands[i], F_OK))
			return strata_fail(&cli->err, -errno, "%.250s: %s", operands[i],
					   strerror(errno));
	json_t *list = json_array();
	int rc = strata_engine_new(&engine_conf, &cli->memory, &engine, &cli->err);

	if (rc) {
		json_decref(list);
		return rc;
	}
	cli_progress_start(&progress, cli, "running", (double)operand_count);
	for (size_t i = 0; i < operand_count; i++) {
		struct strata_error why = { 0 };
		enum conformance what = engine_conformance_run(engine, operands[i], &why);

		counts[what]++;
		if (cli->globals.json)
			json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "model", operands[i],
							      "result", words[what], "why",
							      why.text));
		else if (what != CONFORMANCE_RIGHT)
			cli_printf(cli, "%s: %s: %s\n", operands[i], words[what], why.text);
		cli_progress_show(&progress, (double)i + 1);
	}
	cli_progress_end(&progress);
	strata_engine_free(engine);
	if (cli->globals.json)
		rc = cli_print_json(cli, json_pack("{s:I,s:I,s:I,s:o}", "right",
						   (json_int_t)counts[CONFORMANCE_RIGHT], "wrong",
						   (json_int_t)counts[CONFORMANCE_WRONG], "refused",
						   (json_int_t)counts[CONFORMANCE_REFUSED], "list",
						   list));
	else
		cli_printf(cli, "%zu right, %zu wrong, %zu refused\n", counts[CONFORMANCE_RIGHT],
			  counts[CONFORMANCE_WRONG], counts[CONFORMANCE_REFUSED]);
	if (!cli->globals.json)
		json_decref(list);
	return rc ? rc : counts[CONFORMANCE_WRONG] > 0;
}
