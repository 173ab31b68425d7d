/*
 * The compile step: a class writes rows into a draft, and here they are checked and packed into one block that never
 * changes again. Nothing infinite leaves this file, whatever a class computed.
 */
#include "solver/draft.h"
#include "solver/reuse.h"

#include "core/class.h"
#include "core/option_copy.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Far inside what a float holds, so that sums of products stay inside it too. */
static bool fits(double x)
{
	return x >= -1e30 && x <= 1e30;
}

static bool sum_fits(const struct strata_solver_sum *sum)
{
	bool all = fits(sum->a) && fits(sum->e) && fits(sum->b) && fits(sum->d);

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		all &= fits(sum->c[k]);
	return all;
}

static bool row_fits(const struct strata_solver_row *row)
{
	bool all = fits(row->timestep) && fits(row->input_scale) && fits(row->alpha) &&
		   fits(row->sigma) && fits(row->p) && fits(row->q) && fits(row->limit) &&
		   fits(row->threshold_ratio) && sum_fits(&row->next);

	for (uint32_t w = 0; w < row->write_count; w++)
		all &= sum_fits(&row->writes[w].sum);
	return all;
}

/* The slots that a row reads, as bits. */
static unsigned slots_read(const struct strata_solver_row *row)
{
	unsigned bits = 0;

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++) {
		bool reads = row->next.c[k] != 0;

		for (uint32_t w = 0; w < row->write_count; w++)
			reads |= row->writes[w].sum.c[k] != 0;
		bits |= (unsigned)reads << k;
	}
	return bits;
}

/* What no later row reads need not be written: solvers that keep a history need not know where it ends. Rows that are
 * made later may read anything. */
static void drop_unread_writes(struct strata_solver_draft *draft)
{
	unsigned wanted = draft->slot_count ? ~0u : 0;

	for (size_t i = draft->row_count; i-- > 0;) {
		struct strata_solver_row *row = &draft->rows[i];
		uint32_t kept = 0;
		unsigned written = 0;

		for (uint32_t w = 0; w < row->write_count; w++) {
			written |= 1u << row->writes[w].slot;
			if (wanted >> row->writes[w].slot & 1)
				row->writes[kept++] = row->writes[w];
		}
		memset(&row->writes[kept], 0, (row->write_count - kept) * sizeof(row->writes[0]));
		row->write_count = kept;
		wanted = (wanted & ~written) | slots_read(row);
	}
}

/* Image to image starts from the clean sample, noised to where the first row stands. */
static void set_start(const struct strata_solver_request *request,
		      struct strata_solver_draft *draft)
{
	if (request->has_strength && draft->row_count && !draft->own_start) {
		draft->init_clean = draft->rows[0].alpha;
		draft->init_noise_sigma = draft->rows[0].sigma;
	}
}

/* The slots that the rows name, from 0. */
static uint32_t count_slots(const struct strata_solver_draft *draft)
{
	uint32_t count = draft->slot_count;

	for (size_t i = 0; i < draft->row_count; i++)
		for (uint32_t w = 0; w < draft->rows[i].write_count; w++)
			if (draft->rows[i].writes[w].slot >= count)
				count = draft->rows[i].writes[w].slot + 1;
	return count;
}

static int check(const struct strata_solver_class *cls, const struct strata_solver_draft *draft,
		 struct strata_error *err)
{
	if (!fits(draft->init_noise_sigma) || !fits(draft->init_clean))
		return strata_fail(err, -EINVAL,
				   "%s has no finite first sample with this configuration",
				   cls->base.name);
	for (size_t i = 0; i < draft->row_count; i++)
		if (!row_fits(&draft->rows[i]))
			return strata_fail(err, -EINVAL,
					   "%s has no finite step from timestep %g (call %zu of "
					   "%zu) with this "
					   "configuration; use fewer steps or another schedule",
					   cls->base.name, draft->rows[i].timestep, i + 1,
					   draft->row_count);
	return 0;
}

static int pack(const struct strata_solver_class *cls, const void *conf,
		const struct strata_solver_draft *draft, struct strata_memory *memory,
		struct strata_solver_table **ret_table, struct strata_error *err)
{
	size_t rows_bytes = draft->row_count * sizeof(*draft->rows);
	size_t train_bytes = draft->train_count * sizeof(double);
	size_t head_bytes = sizeof(struct strata_solver_table) + rows_bytes + train_bytes;
	struct strata_schema schema = class_schema(&cls->base);
	size_t conf_at = (head_bytes + 15) / 16 * 16;
	size_t size_bytes = conf_at + option_copy_bytes(&schema, conf);
	struct strata_solver_table *table = strata_memory_get(memory, size_bytes);

	if (!table)
		return strata_fail_memory(err);
	struct strata_solver_row *rows = (struct strata_solver_row *)(table + 1);
	double *train = (void *)(rows + draft->row_count);
	void *conf_copy = (char *)table + conf_at;

	if (draft->row_count)
		memcpy(rows, draft->rows, rows_bytes);
	if (train_bytes)
		memcpy(train, draft->train_sigmas, train_bytes);
	option_copy(&schema, conf, conf_copy);
	*table = (struct strata_solver_table){
		.cls = cls,
		.conf = conf_copy,
		.rows = rows,
		.row_count = draft->row_count,
		.slot_count = count_slots(draft),
		.step_count = draft->step_count,
		.init_noise_sigma = draft->init_noise_sigma,
		.init_clean = draft->init_clean,
		.path_low = draft->path_low,
		.path_high = draft->path_high,
		.train_sigmas = train_bytes ? train : NULL,
		.train_count = draft->train_count,
		.size_bytes = size_bytes,
	};
	*ret_table = table;
	return 0;
}

int strata_solver_compile(const struct strata_solver_class *cls, const void *conf,
			  const struct strata_solver_request *request, struct strata_memory *memory,
			  struct strata_solver_table **ret_table, struct strata_error *err)
{
	struct strata_arena arena;
	int rc = 0;

	if (!request->sigma_count && !request->timestep_count &&
	    (request->steps < 1 || request->steps > STRATA_SOLVER_STEPS_MAX))
		return strata_fail_at(err, -EINVAL, "steps", "steps is %lld; expected 1 to %d",
				      (long long)request->steps, STRATA_SOLVER_STEPS_MAX);
	if (request->has_strength && !(request->strength >= 0 && request->strength <= 1))
		return strata_fail_at(err, -EINVAL, "strength", "strength is %g; expected 0 to 1",
				      request->strength);
	strata_arena_init(&arena, memory, 0);
	struct strata_solver_draft draft = { .arena = &arena, .init_noise_sigma = 1 };

	rc = cls->compile(conf, request, &draft, err);
	if (rc == 0) {
		set_start(request, &draft);
		drop_unread_writes(&draft);
		for (size_t i = 0; i < draft.row_count; i++)
			draft_fold(&draft.rows[i]);
		if (request->reuse) {
			rc = reuse_apply(cls, request->reuse, count_slots(&draft), &draft, err);
			drop_unread_writes(&draft);
		}
	}
	if (rc == 0)
		rc = check(cls, &draft, err);
	if (rc == 0)
		rc = pack(cls, conf, &draft, memory, ret_table, err);
	strata_arena_fini(&arena);
	return rc;
}

void strata_solver_table_free(struct strata_solver_table *table, struct strata_memory *memory)
{
	if (table)
		strata_memory_put(memory, table, table->size_bytes);
}

const struct strata_solver_row *strata_solver_row_at(const struct strata_solver_table *table,
						     size_t index)
{
	return index < table->row_count ? &table->rows[index] : NULL;
}

size_t strata_solver_row_near(const struct strata_solver_table *table, double timestep)
{
	size_t best = 0;

	for (size_t i = 1; i < table->row_count; i++)
		if (fabs(table->rows[i].timestep - timestep) <
		    fabs(table->rows[best].timestep - timestep))
			best = i;
	return best;
}
