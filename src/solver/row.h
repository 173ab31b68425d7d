/*
 * One row on plain floats, element by element: what every vectorised kernel must equal to the bit. y is fma(q, m, p·x); of a
 * sum the first product is rounded, and each further term comes by fma, in the order that terms.h gives.
 */
#ifndef SOLVER_ROW_H
#define SOLVER_ROW_H

#include "solver/terms.h"

/* Elements first … first + count − 1 of an item. `most` is what y is limited to, where it is. */
void row_apply(const struct terms *terms, const struct strata_solver_item *item,
	       enum strata_element element, size_t first, size_t count, float most);

/* y before it is limited. */
void row_clean(const struct terms *terms, const struct strata_solver_item *item,
	       enum strata_element element, size_t first, size_t count, float *ret_clean);

/* Element i of a buffer as float, and back, rounded to nearest even. */
float row_load(const void *buffer, enum strata_element element, size_t i);
void row_store(void *buffer, enum strata_element element, size_t i, float value);

#endif
