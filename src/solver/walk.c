/* Going through the rows: those of the table first, then those that an adaptive solver makes as it goes. */
#include "solver/draft.h"
#include "solver/row.h"

#include <math.h>

const struct strata_solver_row *strata_solver_next(struct strata_solver_walk *walk)
{
	const struct strata_solver_table *table = walk->table;

	if (walk->index < table->row_count)
		return &table->rows[walk->index++];
	if (!table->cls->next_row || walk->index >= STRATA_SOLVER_ROWS_MAX)
		return NULL;
	walk->row = (struct strata_solver_row){ .input_scale = 1, .alpha = 1 };
	walk->index++;
	if (!table->cls->next_row(table->conf, walk))
		return NULL;
	draft_fold(&walk->row);
	return &walk->row;
}

double strata_solver_measure(const struct strata_solver_item *item, size_t element_count,
			     enum strata_element element)
{
	double total = 0;

	for (size_t i = 0; i < element_count; i++) {
		double fine = (double)row_load(item->next, element, i);
		double rough = (double)row_load(item->slots[STRATA_SLOT_ROUGH], element, i);
		double before = (double)row_load(item->slots[STRATA_SLOT_BEFORE], element, i);
		double allowed = fmax(item->row->limit,
				      item->row->threshold_ratio * fmax(fabs(rough), fabs(before)));
		double off = (rough - fine) / allowed;

		total += off * off;
	}
	return sqrt(total / (double)element_count);
}
