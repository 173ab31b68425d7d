/* What the classes share about writing rows. */
#ifndef SOLVER_DRAFT_H
#define SOLVER_DRAFT_H

#include <strata/solver.h>

/* One more slot write of the row; its sum, zeroed, is for the caller to fill. */
struct strata_solver_sum *draft_write(struct strata_solver_row *row, uint32_t slot);

/* sum += scale · other, term by term. */
void draft_add(struct strata_solver_sum *sum, double scale, const struct strata_solver_sum *other);

/* Where y is not limited it is a sum of x and m itself, so it need not be computed: every b goes into a and e, unless
 * that makes more terms than it saves. */
void draft_fold(struct strata_solver_row *row);

#endif
