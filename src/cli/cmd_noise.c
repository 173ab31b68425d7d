/* strata noise: the numbers themselves, to compare with what another program drew for the same
 * seed. */
#include "cli/cli.h"

#include <strata/noise.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

struct noise_conf {
	int64_t seed;
	int64_t count;
	int64_t calls;
};

static const struct strata_option noise_options[] = {
	{ "seed", STRATA_INT, offsetof(struct noise_conf, seed), .integer = { 0, 0, INT64_MAX },
	  .letter = 's', .help = "the seed" },
	{ "count", STRATA_INT, offsetof(struct noise_conf, count), .integer = { 8, 1, 1 << 24 },
	  .letter = 'n', .help = "numbers per call" },
	{ "calls", STRATA_INT, offsetof(struct noise_conf, calls), .integer = { 1, 1, 1 << 16 },
	  .help = "tensors drawn one after the other" },
	{ 0 }
};

static const struct strata_schema noise_schema = { "noise", NULL, sizeof(struct noise_conf),
						   noise_options };

static json_t *values_json(const float *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < count; i++)
		if (json_array_append_new(array, json_real((double)values[i]))) {
			json_decref(array);
			array = NULL;
		}
	return array;
}

static void print_values(struct cli *cli, const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cli_printf(cli, "%s%12.8f", i == 0 ? "" : i % 8 ? " " : "\n", (double)values[i]);
	cli_print(cli, "\n");
}

static int draw(struct cli *cli, const struct strata_spec *spec, const struct noise_conf *conf)
{
	const struct strata_noise_class *source = (const struct strata_noise_class *)spec->cls;
	size_t count = (size_t)conf->count;
	void *state = strata_arena_get(&cli->arena, source->state_size);
	float *values = strata_arena_array(&cli->arena, count, sizeof(*values));
	json_t *calls = cli->globals.json ? json_array() : NULL;

	if (!state || !values || (cli->globals.json && !calls)) {
		json_decref(calls);
		return strata_fail_memory(&cli->err);
	}
	source->start(spec->conf, (uint64_t)conf->seed, state);
	for (int64_t i = 0; i < conf->calls; i++) {
		source->normal(state, values, count);
		if (!calls) {
			print_values(cli, values, count);
		} else if (json_array_append_new(calls, values_json(values, count))) {
			json_decref(calls);
			return strata_fail_memory(&cli->err);
		}
	}
	if (!calls)
		return 0;
	return cli_print_json(cli, json_pack("{s:s,s:I,s:o}", "noise", spec->cls->name, "seed",
					     (json_int_t)conf->seed, "calls", calls));
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const char *text = operand_count ? operands[0] : "torch";
	struct strata_spec spec;
	int rc = cli_spec_read(cli, &strata_noise_kind, text, &spec);

	return rc ? rc : draw(cli, &spec, conf);
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	(void)cli;
	for (size_t i = 0; operand_index == 0 && strata_noise_kind.classes[i]; i++)
		buf_printf(ret_lines, "%s\t%s\n", strata_noise_kind.classes[i]->name,
			   strata_noise_kind.classes[i]->summary);
}

const struct cli_command cli_noise = {
	.name = "noise",
	.operands = "[SOURCE]",
	.summary = "print the random numbers that a seed gives",
	.about = "SOURCE is a class of kind noise (`strata classes noise`), with options as "
		 "NAME:key=value; torch\n"
		 "when left out. Each line of --calls is one tensor, as one call of torch.randn "
		 "would give it.",
	.examples = "  strata noise torch --seed 42 --count 4\n"
		    "  strata noise cuda:threads=0 --seed 42 --count 4 --json",
	.options = &noise_schema,
	.operands_max = 1,
	.run = run,
	.complete = complete,
};
