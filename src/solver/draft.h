/* What the classes share about writing rows. */
#ifndef SOLVER_DRAFT_H
#define SOLVER_DRAFT_H

#include <strata/solver.h>

/* The loop of every solver whose steps follow each other: `step` writes the rows of step i, for i from first to count − 1 until one
 * fails. `run` is the solver's own. */
int draft_steps(size_t first, size_t count, int (*step)(void *run, size_t i), void *run);

/* One more slot write of the row; its sum, zeroed, is for the caller to fill. */
struct strata_solver_sum *draft_write(struct strata_solver_row *row, uint32_t slot);

/* sum += scale · other, term by term. */
void draft_add(struct strata_solver_sum *sum, double scale, const struct strata_solver_sum *other);

/* Where y is not limited it is a sum of x and m itself, so it need not be computed: every b goes into a and e, unless
 * that makes more terms than it saves. */
void draft_fold(struct strata_solver_row *row);
/* The same whether it pays or not; y must not be limited. */
void draft_fold_all(struct strata_solver_row *row);

#endif
