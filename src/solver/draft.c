/* A draft: the growing list of rows that a class writes. */
#include "solver/draft.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int strata_solver_draft_row(struct strata_solver_draft *draft, struct strata_solver_row **ret_row,
			    struct strata_error *err)
{
	if (draft->row_count == draft->row_capacity) {
		size_t capacity = draft->row_capacity ? 2 * draft->row_capacity : 64;

		if (draft->row_count >= STRATA_SOLVER_ROWS_MAX)
			return strata_fail(err, -EINVAL,
					   "this takes more than %d model calls; use fewer steps",
					   STRATA_SOLVER_ROWS_MAX);
		struct strata_solver_row *rows =
			strata_arena_array(draft->arena, capacity, sizeof(*rows));

		if (!rows)
			return strata_fail_memory(err);
		if (draft->row_count)
			memcpy(rows, draft->rows, draft->row_count * sizeof(*rows));
		draft->rows = rows;
		draft->row_capacity = capacity;
	}
	struct strata_solver_row *row = &draft->rows[draft->row_count++];

	row->input_scale = row->alpha = 1;
	*ret_row = row;
	return 0;
}

int draft_steps(size_t first, size_t count, int (*step)(void *run, size_t i), void *run)
{
	int rc = 0;

	for (size_t i = first; rc == 0 && i < count; i++)
		rc = step(run, i);
	return rc;
}

struct strata_solver_sum *draft_write(struct strata_solver_row *row, uint32_t slot)
{
	assert(row->write_count < STRATA_SOLVER_WRITES_MAX && slot < STRATA_SOLVER_SLOTS_MAX);
	struct strata_solver_write *write = &row->writes[row->write_count++];

	write->slot = slot;
	return &write->sum;
}

void draft_add(struct strata_solver_sum *sum, double scale, const struct strata_solver_sum *other)
{
	sum->a += scale * other->a;
	sum->e += scale * other->e;
	sum->b += scale * other->b;
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		sum->c[k] += scale * other->c[k];
	sum->d += scale * other->d;
}

static void fold(const struct strata_solver_row *row, struct strata_solver_sum *sum)
{
	sum->a += sum->b * row->p;
	sum->e += sum->b * row->q;
	sum->b = 0;
}

/* How many terms more a sum has once b is gone. */
static int growth(const struct strata_solver_row *row, const struct strata_solver_sum *sum)
{
	struct strata_solver_sum folded = *sum;

	fold(row, &folded);
	return (folded.a != 0) - (sum->a != 0) + (folded.e != 0) - (sum->e != 0) - (sum->b != 0);
}

/* Does it pay? y costs two terms, and each sum that then has two in the place of one costs one. */
static bool folding_pays(const struct strata_solver_row *row)
{
	int more = growth(row, &row->next);

	for (uint32_t w = 0; w < row->write_count; w++)
		more += growth(row, &row->writes[w].sum);
	return more <= 2;
}

void draft_fold_all(struct strata_solver_row *row)
{
	fold(row, &row->next);
	for (uint32_t w = 0; w < row->write_count; w++)
		fold(row, &row->writes[w].sum);
}

void draft_fold(struct strata_solver_row *row)
{
	if (row->flags & (STRATA_ROW_CLIP | STRATA_ROW_THRESHOLD | STRATA_ROW_NO_MODEL) ||
	    !folding_pays(row))
		return;
	draft_fold_all(row);
}
