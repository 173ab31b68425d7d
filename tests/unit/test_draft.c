#include "solver_sample.h"

#include "solver/draft.h"

#include <errno.h>

static struct solver_sample sample;
static struct strata_error err;

TEST(rows_start_out_neutral_and_keep_their_contents)
{
	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);
	struct strata_solver_row *row;

	for (int i = 0; i < 300; i++) {
		CHECK_OK(strata_solver_draft_row(&draft, &row, &err));
		CHECK(row->input_scale == 1 && row->alpha == 1 && row->sigma == 0);
		row->timestep = i;
	}
	for (int i = 0; i < 300; i++)
		CHECK(draft.rows[i].timestep == i);
	solver_sample_end(&sample);
}

TEST(a_table_has_a_most_of_rows)
{
	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);
	struct strata_solver_row *row;

	for (int i = 0; i < STRATA_SOLVER_ROWS_MAX; i++)
		CHECK_INT(strata_solver_draft_row(&draft, &row, &err), 0);
	CHECK_ERROR(strata_solver_draft_row(&draft, &row, &err), -EINVAL, "use fewer steps");
	solver_sample_end(&sample);
}

TEST(sums_add_up)
{
	struct strata_solver_sum sum = { .a = 1, .c = { 2 } },
				 other = { .a = 1, .e = 2, .b = 3, .c = { 0, 4 }, .d = 5 };

	draft_add(&sum, 2, &other);
	CHECK(sum.a == 3 && sum.e == 4 && sum.b == 6 && sum.c[0] == 2 && sum.c[1] == 8 &&
	      sum.d == 10);
}

TEST(an_unlimited_clean_sample_is_folded_away)
{
	struct strata_solver_row row = { .p = 2, .q = -3, .next = { .a = 1, .b = 0.5 } };
	struct strata_solver_row clipped = row;

	draft_write(&row, 1)->b = 1;
	draft_fold(&row);
	CHECK(row.next.a == 2 && row.next.e == -1.5 && row.next.b == 0);
	CHECK(row.writes[0].slot == 1 && row.writes[0].sum.a == 2 && row.writes[0].sum.e == -3);
	clipped.flags = STRATA_ROW_CLIP;
	draft_fold(&clipped);
	CHECK(clipped.next.a == 1 && clipped.next.b == 0.5);
}

static int stop_at_seven(void *run, size_t i)
{
	*(size_t *)run += i;
	return i == 7 ? -EINVAL : 0;
}

TEST(steps_follow_each_other_until_one_fails)
{
	size_t total = 0;

	CHECK_INT(draft_steps(2, 5, stop_at_seven, &total), 0);
	CHECK_INT(total, 2 + 3 + 4);
	CHECK_INT(draft_steps(5, 5, stop_at_seven, &total), 0);
	CHECK_INT(total, 9);
	CHECK_INT(draft_steps(6, 20, stop_at_seven, &total), -EINVAL);
	CHECK_INT(total, 9 + 6 + 7);
}
