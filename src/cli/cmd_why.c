/* strata why: why a job or a task waits, in sentences, and what would let it start earlier. */
#include "cli/task.h"

#include <errno.h>
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

/* "It would start 14:05 on n3 with 2 GPUs instead of 4 (`strata update 17 --gpus 2`)." Of others'
 * jobs the service does not tell that, nor does one that is older. */
static int print_sooner(struct cli *cli, const char *id)
{
	char text[STRATA_FORM_BYTES];
	struct strata_error before = cli->err;
	struct buf path;
	json_t *answer, *one;
	size_t i;

	service_path(cli, &path, "jobs", id, "/sooner");
	int rc = service_get(cli, &path, &answer);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		cli->err = before;
		return 0;
	}
	json_array_foreach(json_object_get(answer, "sooner"), i, one)
	{
		int64_t start_ns = when_json(one, "start_at");
		bool now = start_ns <= when_now_ns() + 2 * STRATA_SECOND_NS;

		cli_printf(cli, "It would start %s%s on %s with %s.\n", now ? "at once" : "≈ ",
			   now ? "" : when_print(start_ns, when_now_ns(), text),
			   grid_or(json_object_get(one, "node"), "a node"),
			   grid_or(json_object_get(one, "text"), "less"));
	}
	if (json_array_size(json_object_get(answer, "sooner")))
		cli_printf(cli, "`strata update %s` changes what it asks for.\n", id);
	json_decref(answer);
	return 0;
}

static int print(struct cli *cli, const char *id, const json_t *json)
{
	int64_t start_ns = when_json(json, "expected_start_at");
	bool promised = json_is_true(json_object_get(json, "promised"));
	char text[STRATA_FORM_BYTES];
	json_t *sentence;
	size_t i;

	if (task_is_word(id))
		return print_task(cli, json);
	json_array_foreach(json_object_get(json, "sentences"), i, sentence)
		cli_printf(cli, "%s\n", grid_or(sentence, ""));
	if (start_ns) {
		cli_printf(cli, "It starts %s %s", promised ? "by" : "≈",
			   when_print(start_ns, when_now_ns(), text));
		job_add_expected_place(json, &cli->out);
		cli_printf(cli, "%s\n", promised ? "; nothing that comes later delays it." : ".");
	}
	/* only one that waits has this */
	return json_object_get(json, "fair_share") ? print_sooner(cli, id) : 0;
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
	(void)conf;
	return job_each_or_array(cli, operands, operand_count, why_array, get, print);
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
