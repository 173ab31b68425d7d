/* What the commands about solvers share: a solver by any name, with a configuration file or
 * without. */
#ifndef CLI_SOLVER_H
#define CLI_SOLVER_H

#include "cli/cli.h"

#include <strata/solver.h>

/* What the flags say beside the name. */
struct solver_flags {
	const char *config; /* path of a scheduler_config.json; NULL: none */
	/* a spec of kind schedule; NULL: as the name or the configuration says */
	const char *schedule;
	const char *reuse; /* a spec of kind reuse; NULL: every model call is made */
	int64_t steps;
	double strength, mu;
	struct strata_list sigmas, timesteps; /* doubles */
};
extern const struct strata_option solver_flag_rows[]; /* for tables that are made of these alone */

/* A solver as it is asked for. Everything lives in the run's arena. */
struct solver_asked {
	const struct strata_solver_class *cls;
	void *conf;
	struct strata_spec schedule, reuse; /* cls NULL: none */
	struct strata_solver_request request;
};

/* name may be a solver's, with options behind it, or a family's of models; NULL with a
 * configuration file that names its class. */
int solver_ask(struct cli *cli, const char *name, const struct solver_flags *flags,
	       struct solver_asked *ret_asked);

/* The same, compiled; freed by the caller, into the run's memory. */
int solver_table(struct cli *cli, const char *name, const struct solver_flags *flags,
		 struct strata_solver_table **ret_table);

#endif
