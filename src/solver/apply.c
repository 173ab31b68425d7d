/* Applying rows to a batch whose members may each stand at a different one. */
#include "solver/row.h"

void strata_solver_apply(const struct strata_solver_item *items, size_t item_count,
			 size_t element_count, const struct strata_solver_how *how)
{
	for (size_t i = 0; i < item_count && element_count; i++) {
		float threshold = 0;

		if (items[i].row->flags & STRATA_ROW_THRESHOLD)
			threshold = row_threshold(&items[i], how->element, element_count);
		row_apply(&items[i], how->element, 0, element_count, threshold);
	}
}
