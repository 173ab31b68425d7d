/* strata why: why a job or a task waits, in sentences. */
#include "cli/task.h"

#include <inttypes.h>

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

/* ---- arrays ---- */

/* Elements that have the same to say, by their state and reason. */
struct alike {
	struct cli *cli;
	json_t *counts, *firsts; /* state/reason → how many; → the word of the first */
};

static int add_element(void *context, const json_t *job)
{
	struct alike *alike = context;
	char key[128], word[48];

	snprintf(key, sizeof(key), "%s/%s", grid_or(json_object_get(job, "state"), ""),
		 grid_or(json_object_get(job, "reason"), ""));
	snprintf(word, sizeof(word), "%" PRId64 "_%" PRId64, grid_int(job, "array_id"),
		 grid_int(job, "array_index"));
	json_int_t count = json_integer_value(json_object_get(alike->counts, key));

	return json_object_set_new(alike->counts, key, json_integer(count + 1)) ||
			       json_object_set_new(alike->firsts, key, json_string(word))
		       ? strata_fail_memory(&alike->cli->err)
		       : 0;
}

/* One of each kind speaks for the others. */
static int print_alike(struct alike *alike)
{
	struct cli *cli = alike->cli;
	const char *key;
	json_t *first;
	int rc = 0;

	json_object_foreach(alike->firsts, key, first)
	{
		char *word = (char *)(uintptr_t)json_string_value(first);
		json_int_t count = json_integer_value(json_object_get(alike->counts, key));

		rc = job_each(cli, &word, 1, get, NULL, print);
		if (rc)
			return rc;
		if (count > 1)
			cli_printf(cli,
				   "The same holds for %" JSON_INTEGER_FORMAT
				   " other%s of its array.\n",
				   count - 1, cli_plural((size_t)count - 1));
	}
	return rc;
}

static int why_array(struct cli *cli, int64_t array)
{
	struct alike alike = { cli, json_object(), json_object() };
	int rc = alike.counts && alike.firsts ? job_array_walk(cli, array, add_element, &alike)
					      : strata_fail_memory(&cli->err);

	if (rc == 0)
		rc = print_alike(&alike);
	json_decref(alike.counts);
	json_decref(alike.firsts);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	char **words;
	size_t count;
	int64_t array;

	(void)conf;
	if (operand_count == 1 && !cli->globals.json && job_is_array(cli, operands[0], &array))
		return why_array(cli, array);
	int rc = job_expand(cli, operands, operand_count, &words, &count);

	return rc ? rc : job_each(cli, words, count, get, NULL, print);
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
