/*
 * strata sim cluster --advise: which policy would have served this history best. sim/advise.h says
 * which are tried and how the choice is made; here they are run and shown.
 */
#include "cli/sim_cluster.h"

#include "sim/advise.h"

#include <strata/text.h>

#include <errno.h>

enum { ADVISE_JOBS_MIN = 20 };

/* How the chosen and the yardstick did in the half that the choice did not see. */
struct shown {
	struct sim_trial trial;
	struct metrics second, whole;
};

struct advice {
	struct sim *sim;
	size_t half, best;
	struct metrics *first; /* of each policy */
	struct shown yardstick, chosen;
};

static int make_trial(struct sim *sim, const struct advise_policy *policy, struct sim_trial *trial)
{
	*trial = (struct sim_trial){ .order = policy->order,
				     .backfill = policy->backfill,
				     .prediction = policy->prediction,
				     .placement = sim->conf->placement };
	return sim_trial_read(sim, trial);
}

static int try_first(struct advice *advice)
{
	struct sim *sim = advice->sim;
	int rc = 0;

	advice->first = strata_arena_array(&sim->cli->arena, advise_policy_count,
					   sizeof(*advice->first));
	if (!advice->first)
		return strata_fail_memory(&sim->cli->err);
	for (size_t i = 0; rc == 0 && i < advise_policy_count; i++) {
		struct sim_trial trial;

		rc = make_trial(sim, &advise_policies[i], &trial);
		if (rc == 0)
			rc = sim_run_stretch(sim, &trial, 0, advice->half, &advice->first[i]);
	}
	return rc;
}

/* The whole trace, so that the second half begins with the queue that the first has left. */
static int show_second(struct advice *advice, size_t policy, struct shown *shown)
{
	struct sim *sim = advice->sim;
	int rc = make_trial(sim, &advise_policies[policy], &shown->trial);

	if (rc == 0)
		rc = sim_run_stretch(sim, &shown->trial, 0, sim->arrival_count, &shown->whole);
	if (rc)
		return rc;
	size_t from = advise_split(shown->trial.indices, shown->trial.job_count, advice->half);

	return metrics_measure(shown->trial.jobs + from, shown->trial.job_count - from,
			       sim->machine.capacity, &sim->cli->arena, &shown->second,
			       &sim->cli->err);
}

static json_t *metrics_json(const struct metrics *m)
{
	return json_pack("{s:I,s:f,s:f,s:f}", "jobs", (json_int_t)m->jobs, "mean_wait_s",
			 m->mean_wait_s, "avg_bsld", m->avg_bsld, "max_wait_s", m->max_wait_s);
}

static json_t *shown_json(const struct shown *shown)
{
	return json_pack("{s:s,s:s,s:s,s:o*,s:o*}", "order", shown->trial.order, "backfill",
			 shown->trial.backfill, "prediction", shown->trial.prediction,
			 "second_half", metrics_json(&shown->second), "whole",
			 metrics_json(&shown->whole));
}

static int print_json(const struct advice *advice)
{
	json_t *tried = json_array();

	for (size_t i = 0; tried && i < advise_policy_count; i++)
		json_array_append_new(tried, json_pack("{s:s,s:s,s:s,s:o*}", "order",
						       advise_policies[i].order, "backfill",
						       advise_policies[i].backfill, "prediction",
						       advise_policies[i].prediction, "first_half",
						       metrics_json(&advice->first[i])));
	return cli_print_json(advice->sim->cli,
			      json_pack("{s:f,s:o*,s:o*,s:o*}", "wait_limit",
					advice->sim->conf->wait_limit, "tried", tried, "yardstick",
					shown_json(&advice->yardstick), "chosen",
					shown_json(&advice->chosen)));
}

static void add_row(struct cli_table *table, const char *part, const struct advise_policy *policy,
		    const struct metrics *m)
{
	char text[STRATA_FORM_BYTES];

	cli_table_add(table, "%s", part);
	cli_table_add(table, "%s", policy->order);
	cli_table_add(table, "%s", policy->backfill);
	cli_table_add(table, "%s", policy->prediction);
	cli_table_add(table, "%.2f", m->avg_bsld);
	cli_table_add(table, "%s",
		      strata_duration_print_short((int64_t)(m->mean_wait_s * 1e9), text));
	cli_table_add(table, "%s",
		      strata_duration_print_short((int64_t)(m->max_wait_s * 1e9), text));
}

static int print_table(const struct advice *advice)
{
	static const struct cli_column columns[] = {
		{ "PART" },
		{ "ORDER", .style = CLI_BOLD },
		{ "BACKFILL" },
		{ "PREDICTION" },
		{ "SLOWDOWN", .right = true },
		{ "MEAN WAIT", .right = true },
		{ "MAX WAIT", .right = true },
	};
	const struct advise_policy *best = &advise_policies[advice->best];
	struct cli_table *table;
	int rc = cli_table_new(advice->sim->cli, columns, sizeof(columns) / sizeof(columns[0]),
			       &table);

	if (rc)
		return rc;
	for (size_t i = 0; i < advise_policy_count; i++)
		add_row(table, "first half", &advise_policies[i], &advice->first[i]);
	add_row(table, "second", &advise_policies[0], &advice->yardstick.second);
	if (advice->best)
		add_row(table, "second", best, &advice->chosen.second);
	add_row(table, "whole", &advise_policies[0], &advice->yardstick.whole);
	if (advice->best)
		add_row(table, "whole", best, &advice->chosen.whole);
	return cli_table_print(table);
}

static int print(const struct advice *advice)
{
	struct cli *cli = advice->sim->cli;
	const struct advise_policy *best = &advise_policies[advice->best];

	if (cli->globals.json)
		return print_json(advice);
	int rc = print_table(advice);

	if (rc)
		return rc;
	const char *text =
		advice->best == 0
			? strata_arena_printf(&cli->arena,
					      "None of these has a lower slowdown than %s/%s with "
					      "a longest wait of at most %g times its own.\n",
					      best->order, best->backfill,
					      advice->sim->conf->wait_limit)
			: strata_arena_printf(&cli->arena,
					      "Chosen by the first half alone, with a longest wait of "
					      "at most %g times %s/%s's. As settings of the service:\n"
					      "    order = %s\n    backfill = %s\n    predict = %s\n",
					      advice->sim->conf->wait_limit,
					      advise_policies[0].order, advise_policies[0].backfill,
					      best->order, best->backfill, best->prediction);

	if (!text)
		return strata_fail_memory(&cli->err);
	cli_print(cli, text);
	return 0;
}

int sim_advise(struct sim *sim)
{
	struct advice advice = { .sim = sim, .half = sim->arrival_count / 2 };

	if (sim->arrival_count < ADVISE_JOBS_MIN)
		return strata_fail(&sim->cli->err, -EINVAL,
				   "%zu job%s are too few to choose by; expected %d or more",
				   sim->arrival_count, cli_plural(sim->arrival_count),
				   ADVISE_JOBS_MIN);
	int rc = try_first(&advice);

	if (rc)
		return rc;
	advice.best = advise_choose(advice.first, advise_policy_count, sim->conf->wait_limit);
	rc = show_second(&advice, 0, &advice.yardstick);
	if (rc == 0)
		rc = show_second(&advice, advice.best, &advice.chosen);
	return rc ? rc : print(&advice);
}
