/* strata why: why a job or a task waits, in sentences. */
#include "cli/task.h"

static int get(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	if (!task_is_word(id)) {
		service_path(cli, &path, "jobs", id, "/why");
		return service_get(cli, &path, ret_json);
	}
	int rc = task_path(cli, &path, id, "/why");

	return rc ? rc : service_get(cli, &path, ret_json);
}

static int print_task(struct cli *cli, const json_t *json)
{
	const char *text = grid_string(json, "text"), *trouble = grid_string(json, "trouble");

	if (text)
		cli_printf(cli, "%s\n", text);
	if (trouble)
		cli_printf(cli, "%s\n", trouble);
	return 0;
}

static int print(struct cli *cli, const char *id, const json_t *json)
{
	int64_t start_ns = when_json(json, "expected_start_at");
	const char *node = grid_string(json, "expected_node");
	bool promised = json_is_true(json_object_get(json, "promised"));
	char text[STRATA_FORM_BYTES];
	json_t *sentence;
	size_t i;

	if (task_is_word(id))
		return print_task(cli, json);
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
	.summary = "say why a job or a task waits, and until when",
	.examples = "  strata why 17\n"
		    "  strata why T3",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
