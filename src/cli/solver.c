/* A solver by any name that users know: see solver.h. */
#include "cli/solver.h"

#include "core/env.h"
#include "sim/input.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

static const struct strata_option real_item = { .type = STRATA_REAL, .real = { 0, -1e9, 1e9 } };

#define FLAG_AT(field) offsetof(struct solver_flags, field)

const struct strata_option solver_flag_rows[] = {
	{ "steps", STRATA_INT, FLAG_AT(steps), .integer = { 20, 1, STRATA_SOLVER_STEPS_MAX },
	  .letter = 'n', .help = "steps of the trajectory" },
	{ "config", STRATA_TEXT, FLAG_AT(config), .value = "FILE",
	  .help = "a diffusers scheduler_config.json" },
	{ "schedule", STRATA_TEXT, FLAG_AT(schedule), .value = "SPEC",
	  .help = "where the noise levels lie (`strata classes schedule`)" },
	{ "reuse", STRATA_TEXT, FLAG_AT(reuse), .value = "SPEC",
	  .help = "leave out model calls: normal, draft, or as `strata classes reuse` has them" },
	{ "sigmas", STRATA_LIST, FLAG_AT(sigmas),
	  .list = { &real_item, STRATA_SOLVER_STEPS_MAX, NULL },
	  .help = "own noise levels, falling" },
	{ "timesteps", STRATA_LIST, FLAG_AT(timesteps),
	  .list = { &real_item, STRATA_SOLVER_STEPS_MAX, NULL }, .help = "own timesteps, falling" },
	{ "strength", STRATA_REAL, FLAG_AT(strength), .real = { 1, 0, 1 },
	  .help = "image to image: how much of the schedule" },
	{ "mu", STRATA_REAL, FLAG_AT(mu), .real = { 0, -20, 20 },
	  .help = "dynamic shifting: what the picture's size asks for" },
	{ 0 }
};

static int read_config(struct cli *cli, const struct strata_registry *solvers,
		       const struct strata_registry *schedules, const char *name, const char *path,
		       struct strata_solver_setup *setup)
{
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	return rc ? rc
		  : strata_solver_read_over(solvers, schedules, name, text, length, &cli->arena,
					    setup, &cli->err);
}

static int fill(struct cli *cli, const struct strata_registry *solvers,
		const struct strata_registry *schedules, const char *name,
		const struct solver_flags *flags, struct solver_asked *asked)
{
	struct strata_solver_setup setup = { 0 };
	int rc = 0;

	if (!name && !flags->config)
		return strata_fail(&cli->err, -EINVAL,
				   "no solver is named; expected a name, or --config FILE");
	rc = flags->config ? read_config(cli, solvers, schedules, name, flags->config, &setup)
			   : strata_solver_read(solvers, schedules, name, strlen(name), &cli->arena,
						&setup, &cli->err);
	if (rc == 0 && flags->schedule)
		rc = strata_spec_read(schedules, flags->schedule, strlen(flags->schedule),
				      &cli->arena, &setup.schedule, &cli->err);
	if (rc == 0 && flags->reuse)
		rc = strata_reuse_build(flags->reuse, &cli->arena, &asked->reuse, &cli->err);
	if (rc)
		return rc;
	bool own = flags->sigmas.count || flags->timesteps.count;

	asked->cls = (const struct strata_solver_class *)setup.solver.cls;
	asked->conf = setup.solver.conf;
	asked->schedule = setup.schedule;
	asked->request = (struct strata_solver_request){
		.steps = own ? 0 : flags->steps,
		.sigmas = flags->sigmas.items,
		.sigma_count = flags->sigmas.count,
		.timesteps = flags->timesteps.items,
		.timestep_count = flags->timesteps.count,
		.drop_penultimate = setup.drop_penultimate,
		.has_strength = origins_find(&cli->given, "strength") != NULL,
		.strength = flags->strength,
		.has_mu = origins_find(&cli->given, "mu") != NULL,
		.mu = flags->mu,
	};
	return 0;
}

int solver_ask(struct cli *cli, const char *name, const struct solver_flags *flags,
	       struct solver_asked *ret_asked)
{
	struct solver_asked asked = { 0 };
	struct strata_registry *solvers = NULL, *schedules = NULL;
	int rc = cli_registry_open(cli, &strata_solver_kind, &solvers);

	if (rc == 0)
		rc = cli_registry_open(cli, &strata_schedule_kind, &schedules);
	if (rc == 0)
		rc = fill(cli, solvers, schedules, name, flags, &asked);
	strata_registry_free(schedules);
	strata_registry_free(solvers);
	if (rc)
		return rc;
	*ret_asked = asked;
	if (asked.schedule.cls)
		ret_asked->request.schedule = &ret_asked->schedule;
	if (asked.reuse.cls)
		ret_asked->request.reuse = &ret_asked->reuse;
	return 0;
}

int solver_table(struct cli *cli, const char *name, const struct solver_flags *flags,
		 struct strata_solver_table **ret_table)
{
	struct solver_asked asked;
	int rc = solver_ask(cli, name, flags, &asked);

	return rc ? rc
		  : strata_solver_compile(asked.cls, asked.conf, &asked.request, &cli->memory,
					  ret_table, &cli->err);
}
