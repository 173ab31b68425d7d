/* What every way to reuse must keep: the first call is made, only outputs there are stand in, a
 * model that always says the same is taken for what it is, and every solver is either rewritten
 * whole or refused with a sentence. */
#include "test.h"

#include "core/class.h"
#include "solver/reuse.h"

#include <strata/trajectory.h>

#include <errno.h>
#include <math.h>
#include <string.h>

enum { CALLS_MAX = 40, NUMBERS = 3 };

static struct strata_memory memory;
static struct strata_error err;

static void check_plan(const struct strata_reuse_class *reuse, const void *conf, size_t count)
{
	struct strata_solver_row rows[CALLS_MAX];
	const struct strata_solver_row *calls[CALLS_MAX];
	struct strata_reuse_use uses[CALLS_MAX + 1], again[CALLS_MAX + 1];
	size_t made = 0;

	memset(uses, 0x55, sizeof(uses));
	memset(again, 0x55, sizeof(again));
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct strata_solver_row){ .timestep = 1000.0 - 7 * (double)i };
		calls[i] = &rows[i];
	}
	reuse->plan(conf, calls, count, uses);
	reuse->plan(conf, calls, count, again);
	CHECK_BYTES(uses, again, sizeof(uses)); /* and nothing behind the last */
	for (size_t i = 0; i < count; i++) {
		double total = 0;

		CHECK(uses[i].count <= made && uses[i].count <= STRATA_REUSE_OUTPUTS_MAX);
		CHECK(!uses[i].features || (made > 0 && uses[i].count == 0));
		made += uses[i].count == 0;
		for (uint32_t k = 0; k < uses[i].count; k++)
			total += uses[i].weights[k];
		CHECK_NEAR(total, uses[i].count ? 1 : 0, 1e-12);
	}
}

TEST(the_first_call_is_made_and_what_stands_in_adds_up_to_one_output)
{
	for (const struct strata_class *const *at = strata_reuse_kind.classes; *at; at++) {
		struct strata_schema schema = class_schema(*at);
		struct strata_arena arena;

		strata_arena_init(&arena, &memory, 0);
		void *conf = strata_arena_get(&arena, schema.conf_size ? schema.conf_size : 1);

		CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
		for (size_t count = 1; count <= CALLS_MAX; count++)
			check_plan((const struct strata_reuse_class *)*at, conf, count);
		strata_arena_fini(&arena);
	}
}

/* How many calls were made; the sample at the end of a model that says `slope` times the part of the
 * timesteps that is gone, plus `level`. */
static size_t run(const char *solver, const char *reuse, double level, double slope,
		  float *ret_sample)
{
	struct strata_trajectory *trajectory;
	struct strata_arena arena;
	struct strata_spec spec;
	const struct strata_solver_row *row;
	size_t calls = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_reuse_build(reuse, &arena, &spec, &err));
	const struct strata_trajectory_conf conf = { .solver = solver,
						     .request = { .steps = 20, .reuse = &spec },
						     .element_count = NUMBERS,
						     .isa = STRATA_ISA_SCALAR,
						     .noise = "philox",
						     .seed = 5 };
	int rc = strata_trajectory_new(&conf, &memory, &trajectory, &err);

	if (rc) {
		CHECK_INT(rc, -ENOTSUP);
		strata_arena_fini(&arena);
		return 0;
	}
	strata_trajectory_begin(trajectory, NULL, ret_sample);
	while ((row = strata_trajectory_row(trajectory))) {
		float output[NUMBERS];

		for (size_t i = 0; i < NUMBERS; i++)
			output[i] = (float)(level + slope * (1 - row->timestep / 1000));
		CHECK_OK(strata_trajectory_step_unguided(trajectory, output, output, row->timestep,
							 ret_sample, &err));
		calls++;
	}
	strata_trajectory_free(trajectory);
	strata_arena_fini(&arena);
	return calls;
}

static bool alike(const float *a, const float *b)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (!(fabs((double)a[i] - (double)b[i]) <= 1e-3 * (1 + fabs((double)a[i]))))
			return false;
	return true;
}

TEST(a_model_that_always_says_the_same_loses_nothing)
{
	size_t refused = 0, rewritten = 0;

	for (const struct strata_class *const *at = strata_solver_kind.classes; *at; at++)
		for (const struct strata_class *const *reuse = strata_reuse_kind.classes; *reuse;
		     reuse++) {
			float whole[NUMBERS], less[NUMBERS];
			size_t all = run((*at)->name, "none", 0.2, 0, whole);
			size_t made = run((*at)->name, (*reuse)->name, 0.2, 0, less);

			if (made == 0) {
				refused++;
				continue;
			}
			CHECK(made <= all);
			if (!alike(whole, less))
				test_fail(__FILE__, __LINE__, "%s %s: %g, not %g", (*at)->name,
					  (*reuse)->name, (double)less[0], (double)whole[0]);
			rewritten += made < all;
		}
	CHECK(rewritten > 30);
	CHECK(refused > 0);
}

TEST(a_model_that_changes_evenly_loses_nothing_with_a_line_or_a_parabola)
{
	float whole[NUMBERS], line[NUMBERS], parabola[NUMBERS], last[NUMBERS];

	CHECK_INT(run("euler", "none", 0.2, 0.5, whole), 20);
	CHECK_INT(run("euler", "taylor", 0.2, 0.5, line), 12);
	CHECK_INT(run("euler", "taylor:order=2", 0.2, 0.5, parabola), 12);
	CHECK_INT(run("euler", "interval", 0.2, 0.5, last), 12);
	CHECK(alike(whole, line));
	CHECK(alike(whole, parabola));
	CHECK(!alike(whole, last));
}

TEST(which_calls_are_made_is_as_the_options_say)
{
	float sample[NUMBERS];

	CHECK_INT(run("euler", "taylor:every=1", 0.2, 0, sample), 20);
	CHECK_INT(run("euler", "taylor:every=100:first=1:last=0", 0.2, 0, sample), 1);
	CHECK_INT(run("euler", "taylor:every=100:first=4:last=3", 0.2, 0, sample), 7);
	CHECK_INT(run("euler", "taylor:every=3", 0.2, 0, sample), 9);
	CHECK_INT(run("euler", "interval:first=1000", 0.2, 0, sample), 20);
}

TEST(words_of_quality_are_ways_to_reuse)
{
	float sample[NUMBERS];
	size_t before = 0;

	for (size_t i = 0; strata_quality_name(i); i++) {
		size_t calls = run("euler", strata_quality_name(i), 0.2, 0, sample);

		CHECK(calls > before); /* sorted */
		before = calls;
	}
	CHECK_INT(before, 20);
	CHECK_TEXT(strata_quality_name(0), "draft");
}

static int compile(const char *solver, const char *reuse, struct strata_memory *from,
		   struct strata_solver_table **ret_table, struct strata_error *error)
{
	struct strata_arena arena;
	struct strata_spec spec;

	strata_arena_init(&arena, from, 0);
	int rc = strata_reuse_build(reuse, &arena, &spec, error);
	const struct strata_solver_request request = { .steps = 20, .reuse = &spec };

	if (rc == 0)
		rc = strata_solver_build_for(solver, &request, from, ret_table, error);
	strata_arena_fini(&arena);
	return rc;
}

TEST(what_goes_by_the_output_itself_is_refused_with_a_sentence)
{
	struct strata_solver_table *table = NULL;

	CHECK_ERROR(compile("ddim:clip_sample=yes", "taylor", &memory, &table, &err), -ENOTSUP,
		    "ddim limits what the model predicts here, so no call can be left out; "
		    "expected clip_sample=no");
	CHECK_ERROR(compile("dpm_adaptive", "taylor", &memory, &table, &err), -ENOTSUP,
		    "dpm_adaptive goes by each output of the model");
	CHECK_ERROR(compile("euler_cfg_pp", "interval", &memory, &table, &err), -ENOTSUP,
		    "goes by each output of the model");
	CHECK_ERROR(compile("euler", "tailor", &memory, &table, &err), -ENOENT, "no quality 'tailor'");
	CHECK(!table);
}

static int use_reuse(struct strata_memory *failing, void *context, struct strata_error *error)
{
	struct strata_solver_table *table;
	int rc = compile("dpmpp_2m", "taylor", failing, &table, error);

	(void)context;
	if (rc)
		return rc;
	test_result(table->rows, table->row_count * sizeof(table->rows[0]));
	strata_solver_table_free(table, failing);
	return 0;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(use_reuse, NULL) > 3);
}
