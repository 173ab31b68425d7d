/* A loop on the virtual clock: what was planned happens, also when the order was never told. */
#include "test.h"

#include "sim/staging.h"

#include <math.h>

static struct strata_memory memory;
static struct strata_error err;

enum { LAYERS = 6 };

TEST(a_recorded_order_is_as_good_as_a_declared_one)
{
	static struct strata_stage_layer layers[LAYERS];
	const struct strata_stage_model declared = { layers, LAYERS, NULL, LAYERS };
	const struct strata_stage_model recorded = { layers, LAYERS, NULL, 0 };
	struct strata_stage_run_conf run_conf = { .machine = { 10, 200, 10000000 } };
	struct staging_result result[2];
	struct strata_stage_plan plan;
	struct strata_arena arena;

	for (int i = 0; i < LAYERS; i++)
		layers[i] = (struct strata_stage_layer){ "l", 50 + 10 * (i % 3), 3000 };
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_stage_plan(NULL, &declared, &run_conf.machine, &arena, &plan, &err));
	for (int i = 0; i < 2; i++) {
		struct staging_conf conf = {
			.model = &declared, .page_bytes = 10, .bytes_per_s = 10000000, .steps = 12
		};

		run_conf.model = i ? &recorded : &declared;
		CHECK_OK(strata_stage_run_new(&run_conf, &memory, &conf.run, &err));
		CHECK_OK(staging_run(&conf, &arena, &result[i], &err));
		CHECK(fabs(result[i].step_ns - plan.metrics.step_ns) < 1e-6 * plan.metrics.step_ns);
		CHECK_INT(result[i].bytes_per_step, plan.metrics.bytes_per_step);
		CHECK(result[i].peak_bytes <= 200);
		CHECK_INT(result[i].surprises, 0);
		CHECK(fabs(result[i].wait_ns + 18000 - result[i].step_ns) < 1e-3);
		strata_stage_run_free(conf.run);
	}
	CHECK(result[1].first_ns > result[0].step_ns); /* nothing was read ahead */
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
