/*
 * One row on plain floats: what every vectorised kernel must equal to the bit. Coefficients are rounded to float once;
 * terms are added in the order a, e, b, c[0] …, d, each product rounded before it is added; a term whose coefficient is
 * 0 is left out.
 */
#ifndef SOLVER_ROW_H
#define SOLVER_ROW_H

#include <strata/solver.h>

/* Elements first … first + count − 1 of an item. `threshold` is the s of STRATA_ROW_THRESHOLD, else not read. */
void row_apply(const struct strata_solver_item *item, enum strata_element element, size_t first,
	       size_t count, float threshold);

/* threshold.c: the s of STRATA_ROW_THRESHOLD for one item. */
float row_threshold(const struct strata_solver_item *item, enum strata_element element,
		    size_t count);

/* Element i of a buffer as float, and back, rounded to nearest even. */
float row_load(const void *buffer, enum strata_element element, size_t i);
void row_store(void *buffer, enum strata_element element, size_t i, float value);

/* y before it is limited. */
float row_predict(const struct strata_solver_row *row, float x, float m);

#endif
