/* strata place: what of a model runs where on this machine or another, what that costs, and why. */
#include "cli/place_model.h"

#include "core/env.h"
#include "engine/experience.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

const struct strata_choice place_modes[] = {
	{ "auto", STRATA_MODE_AUTO, "by workload, machine and experience" },
	{ "basic", STRATA_MODE_BASIC, "costs only" },
	{ "semantic", STRATA_MODE_SEMANTIC, "and what the model is" },
	{ "advanced", STRATA_MODE_ADVANCED, "and every strategy" },
	{ 0 }
};
const struct strata_choice place_objectives[] = { { "latency", STRATA_LATENCY, "of one request" },
						  { "throughput", STRATA_THROUGHPUT,
						    "of a pipeline: the busiest device" },
						  { "memory", STRATA_MEMORY, "the fullest device" },
						  { 0 } };

struct place_options {
	const char *settings, *devices, *profile, *strategy, *cost, *kv, *plot, *dot, *experience;
	int mode, objective;
	struct strata_map dims, pins, forbids;
	struct strata_list enable, disable;
	int64_t budget, visits, seed;
};

static const struct strata_option dim_item = { .type = STRATA_INT, .integer = { 0, 0, INT64_MAX } };
static const struct strata_option name_item = { .type = STRATA_TEXT };
static const struct strata_option place_rows[] = {
	{ "settings", STRATA_TEXT, offsetof(struct place_options, settings), .value = "FILE",
	  .help = "a file with these options, one a line; flags count before it" },
	{ "devices", STRATA_TEXT, offsetof(struct place_options, devices), .value = "FILE|detect",
	  .help = "devices as JSON; the model's own when it has some, else those found here" },
	{ "mode", STRATA_ENUM, offsetof(struct place_options, mode),
	  .choice = { place_modes, STRATA_MODE_AUTO }, .help = "how much is done" },
	{ "profile", STRATA_TEXT, offsetof(struct place_options, profile), .value = "NAME",
	  .help = "a fixed set of features: basic_inference, llm_serving, diffusion_serving, "
		  "research_training" },
	{ "strategy", STRATA_TEXT, offsetof(struct place_options, strategy), .value = "SPEC,…",
	  .help = "strategies to choose from (strata classes strategy)" },
	{ "objective", STRATA_ENUM, offsetof(struct place_options, objective),
	  .choice = { place_objectives, STRATA_LATENCY }, .help = "what is to be small" },
	{ "cost", STRATA_TEXT, offsetof(struct place_options, cost), .text = { "roofline" },
	  .value = "SPEC", .help = "cost model (strata classes cost)" },
	{ "dim", STRATA_MAP, offsetof(struct place_options, dims), .list = { &dim_item },
	  .value = "NAME=N", .help = "value of a dimension that the model has by name" },
	{ "pin", STRATA_MAP, offsetof(struct place_options, pins), .list = { &name_item },
	  .value = "OP=DEVICE",
	  .help = "ops by name, or its beginning and *, on this device only" },
	{ "forbid", STRATA_MAP, offsetof(struct place_options, forbids), .list = { &name_item },
	  .value = "OP=DEVICE", .help = "never on this device" },
	{ "kv", STRATA_TEXT, offsetof(struct place_options, kv), .value = "DEVICE",
	  .help = "where the KV caches that are found are now" },
	{ "enable", STRATA_LIST, offsetof(struct place_options, enable), .list = { &name_item },
	  .value = "FEATURE", .help = "switch a feature on" },
	{ "disable", STRATA_LIST, offsetof(struct place_options, disable), .list = { &name_item },
	  .value = "FEATURE", .help = "switch a feature off" },
	{ "budget", STRATA_DURATION, offsetof(struct place_options, budget),
	  .integer = { 0, 0, INT64_C(3600) * 1000000000 },
	  .help = "time to look for a plan; a fraction of a second when left out" },
	{ "seed", STRATA_INT, offsetof(struct place_options, seed), .integer = { 0, 0, INT64_MAX },
	  .help = "of what is drawn" },
	{ "plot", STRATA_TEXT, offsetof(struct place_options, plot), .value = "FILE.svg",
	  .help = "write pictures of the plan" },
	{ "experience", STRATA_TEXT, offsetof(struct place_options, experience), .value = "FILE",
	  .help = "what an engine learned: says what was observed beside what is predicted" },
	{ "dot", STRATA_TEXT, offsetof(struct place_options, dot), .value = "FILE.dot",
	  .help = "write the graph by device, for Graphviz" },
	{ 0 }
};
static const struct strata_schema place_schema = { "place", NULL, sizeof(struct place_options),
						   place_rows };

#define FOREVER_VISITS (INT64_C(1) << 50)

struct placing {
	struct cli *cli;
	const struct place_options *options;
	struct place_model model;
	struct strata_machine machine;
	struct strata_place_auto how;
	struct strata_adaptive_choice choice;
	struct strata_place_request ask;
	struct strata_spec cost;
	int64_t until_ns;
};

static bool expired(void *context)
{
	const struct placing *placing = context;

	return env_now_ns(env_system(), ENV_MONOTONIC) > placing->until_ns;
}

/* ---- rules ---- */

/* The caches that detectors found are on that device. */
static int put_kv(struct placing *placing)
{
	uint32_t device;
	int rc = strata_place_device(&placing->machine, placing->options->kv, &device,
				     &placing->cli->err);

	if (rc == 0)
		strata_graph_put_kv(placing->model.graph, device);
	return rc;
}

static int add_rules(struct placing *placing, const struct strata_map *map, bool forbid,
		     struct strata_place_rule *rules, size_t *count)
{
	const char *const *names = map->items;
	int rc = 0;

	for (size_t i = 0; i < map->count && rc == 0; i++) {
		struct strata_place_rule *rule = &rules[(*count)++];

		*rule = (struct strata_place_rule){ map->keys[i], 0, forbid };
		rc = strata_place_device(&placing->machine, names[i], &rule->device,
					 &placing->cli->err);
	}
	return rc;
}

static int make_rules(struct placing *placing)
{
	const struct place_options *options = placing->options;
	size_t room = options->pins.count + options->forbids.count;
	struct strata_place_rule *rules =
		strata_arena_array(&placing->cli->arena, room, sizeof(*rules));
	int rc = rules ? 0 : strata_fail_memory(&placing->cli->err);

	if (rc == 0)
		rc = add_rules(placing, &options->pins, false, rules, &placing->ask.rule_count);
	if (rc == 0)
		rc = add_rules(placing, &options->forbids, true, rules, &placing->ask.rule_count);
	placing->ask.rules = rules;
	return rc;
}

/* ---- how much is done ---- */

static int read_features(struct cli *cli, const struct strata_list *list, unsigned *ret_features)
{
	const char *const *names = list->items;
	enum strata_feature feature;
	int rc = 0;

	for (size_t i = 0; i < list->count && rc == 0; i++) {
		rc = strata_feature_find(names[i], &feature, &cli->err);
		if (rc == 0)
			*ret_features |= 1u << feature;
	}
	return rc;
}

/* Options that only those give who know what they do. */
static bool is_expert(const struct placing *placing)
{
	const struct origins *given = &placing->cli->given;

	return origins_find(given, "cost") || origins_find(given, "strategy") ||
	       origins_find(given, "pin") || origins_find(given, "forbid") ||
	       origins_find(given, "budget");
}

/* What the flags say of how much is tried. */
static int read_how(struct placing *placing)
{
	struct cli *cli = placing->cli;
	const struct place_options *options = placing->options;
	struct strata_adaptive_conf *conf = &placing->how.adaptive;
	int rc = options->profile ? strata_profile_find(options->profile, &conf->profile, &cli->err)
				  : 0;

	conf->mode = (enum strata_mode)options->mode;
	placing->how.workload = placing->model.workload;
	placing->how.expert = is_expert(placing);
	if (rc == 0)
		rc = read_features(cli, &options->enable, &conf->enabled);
	if (rc == 0)
		rc = read_features(cli, &options->disable, &conf->disabled);
	return rc;
}

static int read_specs(struct placing *placing)
{
	struct cli *cli = placing->cli;
	struct strata_spec *specs = NULL;
	int rc = placing->options->strategy ? cli_spec_read_list(cli, &strata_strategy_kind,
								 placing->options->strategy, &specs,
								 &placing->ask.strategy_count)
					    : 0;

	if (rc == 0)
		rc = cli_spec_read(cli, &strata_cost_kind, placing->options->cost, &placing->cost);
	placing->ask.strategies = specs;
	placing->ask.cost = &placing->cost;
	return rc;
}

/* ---- together ---- */

static int open_machine(struct placing *placing)
{
	if (!placing->options->devices && placing->model.machine.device_count) {
		placing->machine = placing->model.machine;
		return 0;
	}
	return place_machine_open(placing->cli,
				  placing->options->devices ? placing->options->devices : "detect",
				  &placing->machine);
}

static int answer_it(struct placing *placing)
{
	struct cli *cli = placing->cli;
	const struct place_options *options = placing->options;
	struct place_answer answer = { .model = &placing->model,
				       .machine = &placing->machine,
				       .choice = &placing->choice,
				       .mode = strata_mode_name((enum strata_mode)options->mode),
				       .objective = placing->ask.objective };
	json_t *experience = NULL;
	int rc = options->experience ? engine_experience_read(options->experience, &experience,
							      &cli->err)
				     : 0;

	if (rc)
		return rc;
	answer.experience = experience;
	int64_t begin = env_now_ns(env_system(), ENV_MONOTONIC);

	placing->until_ns = begin + options->budget;
	if (options->budget)
		placing->ask.budget =
			(struct strata_place_budget){ FOREVER_VISITS, expired, placing };
	rc = strata_place_auto(&placing->ask, &placing->how, &cli->arena, &answer.plan,
				   &placing->choice, &cli->err);

	answer.took_ms = (double)(env_now_ns(env_system(), ENV_MONOTONIC) - begin) / 1e6;
	if (rc == 0 && options->plot)
		rc = place_plot(cli, &answer, options->plot);
	if (rc == 0 && options->dot)
		rc = place_dot(cli, &answer, options->dot);
	rc = rc ? rc : place_print(cli, &answer);
	json_decref(experience);
	return rc;
}

/* The file's values where no flag says otherwise: the file is read over the defaults, then each
 * flag that was given over that. */
static int read_settings(struct cli *cli, const struct place_options *flags,
			 struct place_options *ret_options)
{
	struct place_options options;
	char *text;
	size_t length;
	int rc = strata_schema_defaults(&place_schema, &cli->arena, &options, &cli->err);

	if (rc == 0)
		rc = env_read_file(env_system(), AT_FDCWD, flags->settings, STRATA_INI_BYTES_MAX,
				   &cli->arena, &text, &length, &cli->err);
	if (rc == 0)
		rc = option_read_ini(&place_schema, text, length, flags->settings, &cli->arena,
				     &options, NULL, &cli->err);
	if (rc)
		return rc;
	for (const struct strata_option *row = place_rows; row->name; row++)
		if (origins_find(&cli->given, row->name))
			memcpy((char *)&options + row->offset, (const char *)flags + row->offset,
			       option_size(row));
	*ret_options = options;
	return 0;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	struct place_options settings;
	const struct place_options *options = conf_any;
	int rc = 0;

	(void)operand_count;
	if (options->settings) {
		rc = read_settings(cli, options, &settings);
		options = &settings;
	}
	if (rc)
		return rc;
	struct placing placing = { .cli = cli, .options = options };

	rc = place_model_open(cli, operands[0], &options->dims, &placing.model);
	if (rc)
		return rc;
	rc = open_machine(&placing);
	if (rc == 0)
		place_model_note(cli, &placing.model);
	placing.ask.graph = placing.model.graph;
	placing.ask.machine = &placing.machine;
	placing.ask.fixed_order = placing.model.fixed_order;
	placing.ask.seed = (uint64_t)options->seed;
	placing.ask.objective = origins_find(&cli->given, "objective")
					? (enum strata_objective)options->objective
					: placing.model.objective;
	if (rc == 0 && options->mode != STRATA_MODE_BASIC)
		rc = place_model_detect(cli, &placing.model);
	if (rc == 0 && options->kv)
		rc = put_kv(&placing);
	if (rc == 0)
		rc = make_rules(&placing);
	if (rc == 0)
		rc = read_how(&placing);
	if (rc == 0)
		rc = read_specs(&placing);
	if (rc == 0)
		rc = answer_it(&placing);
	place_model_close(&placing.model);
	return rc;
}

const struct cli_command cli_place = {
	.name = "place",
	.operands = "MODEL",
	.summary = "say which op of a model runs on which device, and why",
	.about = "Reads a model (- for standard input), prices its ops on the devices, lets strategies propose and takes "
		 "the plan that the\n"
		 "simulator finds best; never one that is worse than the best single device. Says "
		 "what each\n"
		 "alternative would have cost, and plainly when the model does not fit and what "
		 "would help.",
	.examples = "  strata place model.onnx --dim batch=1  # on this machine\n"
		    "  strata place model.json --devices two-gpus.json --objective throughput\n"
		    "  strata place model.json --pin 'embed*=cpu0' --json",
	.options = &place_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
