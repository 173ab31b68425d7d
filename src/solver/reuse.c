/*
 * Reuse: fewer model calls. The outputs of a model change slowly from one call to the next, so some
 * calls can be left out and what came before stand in for them: the last output again, or what a
 * polynomial through the last few says at this timestep.
 *
 * It is a change of the table and of nothing else. A call that is made keeps its output in a slot,
 * in a ring; one that is left out becomes a row without a model call, in which the output's
 * coefficient is shared out over those slots. Whoever applies rows need not know of it. What a row
 * does with the output itself (y held within limits) cannot be shared out and is refused.
 */
#include "solver/reuse.h"

#include "solver/draft.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* ---- which calls are left out ---- */

bool reuse_makes(const struct reuse_conf *conf, size_t call, size_t count)
{
	size_t first = (size_t)conf->first, last = (size_t)conf->last;

	return call < first || call + last >= count ||
	       (call - first + 1) % (size_t)conf->every == 0;
}

/* Lagrange's weights of the outputs at `made`, newest first, for what they would be at `at`. */
static void continue_to(const double *made, uint32_t count, double at, double *ret_weights)
{
	for (uint32_t i = 0; i < count; i++) {
		ret_weights[i] = 1;
		for (uint32_t k = 0; k < count; k++)
			if (k != i)
				ret_weights[i] *= (at - made[k]) / (made[i] - made[k]);
	}
}

void reuse_plan(const struct reuse_conf *conf, const struct strata_solver_row *const *calls,
		size_t count, struct strata_reuse_use *ret_uses)
{
	double made[STRATA_REUSE_OUTPUTS_MAX];
	uint32_t made_count = 0;

	assert(conf->order < STRATA_REUSE_OUTPUTS_MAX);
	for (size_t i = 0; i < count; i++) {
		struct strata_reuse_use *use = &ret_uses[i];
		double at = calls[i]->timestep;

		memset(use, 0, sizeof(*use));
		if (!reuse_makes(conf, i, count)) {
			use->count = made_count;
			continue_to(made, made_count, at, use->weights);
			continue;
		}
		if (made_count && made[0] == at)
			made_count = 0; /* two calls at one timestep are no slope */
		uint32_t kept = made_count <= (uint32_t)conf->order ? made_count
								    : (uint32_t)conf->order;

		memmove(&made[1], &made[0], kept * sizeof(made[0]));
		made[0] = at;
		made_count = kept < (uint32_t)conf->order + 1 ? kept + 1 : kept;
	}
}

/* ---- by name ---- */

/* Each has less error on a known mixture than as many calls of the same solver in fewer steps:
 * `strata solver plot --reuse` shows it. */
static const struct {
	const char *name, *spec;
} qualities[] = {
	{ "draft", "taylor:every=3" },
	{ "normal", "taylor:every=2:order=2" },
	{ "exact", "none" },
};
enum { QUALITIES = sizeof(qualities) / sizeof(qualities[0]) };

const char *strata_quality_name(size_t index)
{
	return index < QUALITIES ? qualities[index].name : NULL;
}

int strata_reuse_build(const char *text, struct strata_arena *arena, struct strata_spec *ret_spec,
		       struct strata_error *err)
{
	for (size_t i = 0; i < QUALITIES; i++)
		if (strcmp(qualities[i].name, text) == 0)
			text = qualities[i].spec;
	int rc = strata_spec_build(&strata_reuse_kind, text, arena, ret_spec, err);

	return rc == -ENOENT ? strata_fail(err, rc,
					   "there is no quality '%.64s'; expected exact, normal or "
					   "draft, or one of `strata classes reuse`",
					   text)
			     : rc;
}

/* ---- in the table ---- */

struct rewrite {
	const struct strata_solver_class *cls;
	const char *name;               /* of the way to reuse */
	uint32_t slot_base, slot_count; /* the ring */
	size_t made;                    /* calls so far */
};

static int refuse(const struct rewrite *rewrite, unsigned flags, struct strata_error *err)
{
	const char *name = rewrite->cls->base.name;

	if (flags & (STRATA_ROW_CLIP | STRATA_ROW_THRESHOLD))
		return strata_fail(err, -ENOTSUP,
				   "%s limits what the model predicts here, so no call can be left "
				   "out; expected clip_sample=no, thresholding=no, or reuse none",
				   name);
	return strata_fail(err, -ENOTSUP,
			   "%s goes by each output of the model, so no call can be left out; "
			   "expected another solver, or reuse none",
			   name);
}

static int keep_output(struct rewrite *rewrite, struct strata_solver_row *row,
		       struct strata_error *err)
{
	uint32_t slot = rewrite->slot_base + (uint32_t)(rewrite->made++ % rewrite->slot_count);

	if (row->write_count == STRATA_SOLVER_WRITES_MAX)
		return strata_fail(err, -ENOTSUP,
				   "%s writes as much at each step as a row may; reuse %s has no "
				   "place for the output",
				   rewrite->cls->base.name, rewrite->name);
	draft_write(row, slot)->e = 1;
	return 0;
}

static void share_out(const struct rewrite *rewrite, const struct strata_reuse_use *use,
		      struct strata_solver_sum *sum)
{
	for (uint32_t i = 0; i < use->count; i++) {
		size_t at = (rewrite->made - 1 - i) % rewrite->slot_count;

		sum->c[rewrite->slot_base + at] += sum->e * use->weights[i];
	}
	sum->e = 0;
}

static int leave_out(struct rewrite *rewrite, const struct strata_reuse_use *use,
		     struct strata_solver_row *row, struct strata_error *err)
{
	assert(use->count <= rewrite->made && use->count <= rewrite->slot_count);
	if (row->flags & ~(unsigned)STRATA_ROW_NOISE)
		return refuse(rewrite, row->flags, err);
	draft_fold_all(row);
	share_out(rewrite, use, &row->next);
	for (uint32_t w = 0; w < row->write_count; w++)
		share_out(rewrite, use, &row->writes[w].sum);
	row->p = row->q = 0;
	row->flags |= STRATA_ROW_NO_MODEL;
	return 0;
}

static int rewrite_rows(struct rewrite *rewrite, const struct strata_reuse_use *uses,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = 0;
	size_t call = 0;

	for (size_t i = 0; rc == 0 && i < draft->row_count; i++) {
		struct strata_solver_row *row = &draft->rows[i];

		if (row->flags & STRATA_ROW_NO_MODEL)
			continue;
		if (uses[call].features)
			row->flags |= STRATA_ROW_FEATURES;
		rc = uses[call].count      ? leave_out(rewrite, &uses[call], row, err)
		     : rewrite->slot_count ? keep_output(rewrite, row, err)
					   : 0;
		call++;
	}
	return rc;
}

int reuse_apply(const struct strata_solver_class *cls, const struct strata_spec *spec,
		uint32_t slot_count, struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct strata_reuse_class *reuse = (const struct strata_reuse_class *)spec->cls;
	const struct strata_solver_row **calls =
		strata_arena_array(draft->arena, draft->row_count, sizeof(*calls));
	struct strata_reuse_use *uses =
		strata_arena_array(draft->arena, draft->row_count, sizeof(*uses));
	struct rewrite rewrite = { .cls = cls, .name = reuse->base.name, .slot_base = slot_count };
	size_t count = 0;

	if (!calls || !uses)
		return strata_fail_memory(err);
	for (size_t i = 0; i < draft->row_count; i++)
		if (!(draft->rows[i].flags & STRATA_ROW_NO_MODEL))
			calls[count++] = &draft->rows[i];
	reuse->plan(spec->conf, calls, count, uses);
	for (size_t i = 0; i < count; i++)
		if (uses[i].count > rewrite.slot_count)
			rewrite.slot_count = uses[i].count;
	if (cls->next_row && reuse != &strata_reuse_none)
		return refuse(&rewrite, 0, err);
	if (slot_count + rewrite.slot_count > STRATA_SOLVER_SLOTS_MAX)
		return strata_fail(err, -ENOTSUP,
				   "%s keeps %u tensors of its own and reuse %s needs %u; expected "
				   "%d at most",
				   cls->base.name, slot_count, reuse->base.name, rewrite.slot_count,
				   STRATA_SOLVER_SLOTS_MAX);
	return rewrite_rows(&rewrite, uses, draft, err);
}
