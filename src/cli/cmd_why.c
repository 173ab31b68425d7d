/* strata why: why a job waits, in sentences. */
#include "cli/service.h"

static int get(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	service_path(cli, &path, "jobs", id, "/why");
	return service_get(cli, &path, ret_json);
}

static int print(struct cli *cli, const char *id, const json_t *json)
{
	int64_t start_ns = when_json(json, "expected_start_at");
	const char *node = grid_string(json, "expected_node");
	bool promised = json_is_true(json_object_get(json, "promised"));
	char text[STRATA_FORM_BYTES];
	json_t *sentence;
	size_t i;

	(void)id;
	json_array_foreach(json_object_get(json, "sentences"), i, sentence)
		cli_printf(cli, "%s\n", grid_or(sentence, ""));
	if (start_ns)
		cli_printf(cli, "It starts %s %s%s%s%s\n", promised ? "by" : "≈",
			   when_print(start_ns, when_now_ns(), text), node ? " on " : "",
			   node ? node : "",
			   promised ? "; nothing that comes later delays it." : ".");
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, get, NULL, print);
}

const struct cli_command cli_why = {
	.name = "why",
	.operands = "ID…",
	.summary = "say why a job waits, and until when",
	.examples = "  strata why 17",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
