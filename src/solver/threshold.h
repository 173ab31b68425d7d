/* Dynamic thresholding: what y of one batch member is limited to, and divided by. */
#ifndef SOLVER_THRESHOLD_H
#define SOLVER_THRESHOLD_H

#include "solver/kernel.h"

/* The quantile threshold_ratio of |y| over all elements (1 or more), at least 1 and at most the row's limit. `kernel` may be
 * NULL. */
float threshold_find(const struct kernel *kernel, const struct terms *terms,
		     const struct strata_solver_item *item, enum strata_element element,
		     size_t count);

#endif
