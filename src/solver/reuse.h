/* Reuse as a change of a table: some rows take a sum of earlier outputs in place of a model call. */
#ifndef SOLVER_REUSE_H
#define SOLVER_REUSE_H

#include <strata/solver.h>

extern const struct strata_reuse_class strata_reuse_none;

/* Which calls are made: the first and the last few, and each `every`th between them. */
struct reuse_conf {
	int64_t every, first, last;
	int64_t order; /* of the polynomial through the outputs that were made */
};

#define REUSE_AT(member) offsetof(struct reuse_conf, member)
#define REUSE_CALLS                                                                          \
	{ "every", STRATA_INT, REUSE_AT(every), .integer = { 2, 1, 100 },                    \
	  .help = "one of so many model calls is made" },                                    \
	{ "first", STRATA_INT, REUSE_AT(first), .integer = { 3, 1, 1000 },                   \
	  .help = "so many calls at the start are made, all of them" },                      \
	{ "last", STRATA_INT, REUSE_AT(last), .integer = { 1, 0, 1000 },                     \
	  .help = "and so many at the end" }

/* Is this call of so many made in full? */
bool reuse_makes(const struct reuse_conf *conf, size_t call, size_t count);
/* Fills the uses: where a call is left out, the polynomial through the last order + 1 outputs, of
 * fewer where there are no more, is continued to its timestep. */
void reuse_plan(const struct reuse_conf *conf, const struct strata_solver_row *const *calls,
		size_t count, struct strata_reuse_use *ret_uses);

/* Rewrites the draft's rows, whose y is folded away where it can be. Outputs go into slots from
 * slot_count on. */
int reuse_apply(const struct strata_solver_class *cls, const struct strata_spec *spec,
		uint32_t slot_count, struct strata_solver_draft *draft, struct strata_error *err);

#endif
