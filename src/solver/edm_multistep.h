/* DPM-Solver's multistep rule on an EDM model. */
#ifndef SOLVER_EDM_MULTISTEP_H
#define SOLVER_EDM_MULTISTEP_H

#include "solver/dpm.h"
#include "solver/edm.h"

/* All rows of a trajectory. Of `dpm` the order, the algorithm (one of the two on the clean sample), the solver type and the
 * ends count; its common part does not. */
int edm_multistep(const struct edm_conf *edm, const struct dpm_conf *dpm,
		  const struct strata_solver_request *request, struct strata_solver_draft *draft,
		  struct strata_error *err);

#endif
