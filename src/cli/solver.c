/* A solver by any name that users know: see solver.h. */
#include "cli/solver.h"

#include "core/class.h"
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

/* NAME[:options] itself, or what a family of models stands for. */
static const char *expand(const struct solver_asked *asked, const char *name)
{
	const struct strata_model_family *family;
	struct strata_solver_name found;
	size_t length = strcspn(name, ":");

	if (strata_solver_find(asked->solvers, asked->schedules, name, length, &found, NULL) ==
		    -ENOENT &&
	    strata_model_family_find(name, strlen(name), &family, NULL) == 0)
		return family->solver;
	return name;
}

/* The file's settings; the name, where there is one, says which class they are for, and its options come last. */
static int read_config(struct cli *cli, const char *name, const char *path,
		       struct solver_asked *asked, struct strata_solver_setup *setup)
{
	struct strata_solver_name named = { 0 };
	const char *text, *options = name ? strchr(name, ':') : NULL;
	size_t length, name_length = name ? strcspn(name, ":") : 0;
	int rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	if (rc == 0 && name)
		rc = strata_solver_find(asked->solvers, asked->schedules, name, name_length, &named,
					&cli->err);
	if (rc == 0 && named.schedule) /* the schedule behind the name, with its defaults */
		rc = strata_solver_read(asked->solvers, asked->schedules, name, name_length,
					&cli->arena, setup, &cli->err);
	if (rc == 0)
		rc = strata_solver_read_config(asked->solvers, text, length, name ? &named : NULL,
					       &cli->arena, &setup->solver, &cli->err);
	if (rc == 0 && options) {
		struct strata_schema schema = class_schema(setup->solver.cls);

		rc = strata_schema_read_text(&schema, options + 1, strlen(options + 1), &cli->arena,
					     setup->solver.conf, &cli->err);
	}
	setup->drop_penultimate = named.drop_penultimate;
	return rc;
}

static int fill(struct cli *cli, const char *name, const struct solver_flags *flags,
		struct solver_asked *asked)
{
	struct strata_solver_setup setup = { 0 };
	int rc = 0;

	if (!name && !flags->config)
		return strata_fail(&cli->err, -EINVAL,
				   "no solver is named; expected a name, or --config FILE");
	if (name)
		name = expand(asked, name);
	rc = flags->config ? read_config(cli, name, flags->config, asked, &setup)
			   : strata_solver_read(asked->solvers, asked->schedules, name,
						strlen(name), &cli->arena, &setup, &cli->err);
	if (rc == 0 && flags->schedule)
		rc = strata_spec_read(asked->schedules, flags->schedule, strlen(flags->schedule),
				      &cli->arena, &setup.schedule, &cli->err);
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
	int rc = cli_registry_open(cli, &strata_solver_kind, &asked.solvers);

	if (rc)
		return rc;
	rc = cli_registry_open(cli, &strata_schedule_kind, &asked.schedules);
	if (rc == 0)
		rc = fill(cli, name, flags, &asked);
	if (rc) {
		solver_asked_fini(&asked);
		return rc;
	}
	*ret_asked = asked;
	if (asked.schedule.cls)
		ret_asked->request.schedule = &ret_asked->schedule;
	return 0;
}

void solver_asked_fini(struct solver_asked *asked)
{
	strata_registry_free(asked->solvers);
	strata_registry_free(asked->schedules);
}
