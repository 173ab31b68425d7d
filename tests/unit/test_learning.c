/* Learning: which calls are looked at, and what of them is believed. */
#include "engine_kept.h"

#include "engine/engine.h"

TEST(the_first_calls_and_some_later_ones_are_looked_at)
{
	struct engine_learning learning = { 0 };
	int wanted = 0;

	for (; learning.calls < 160; learning.calls++)
		wanted += engine_learning_wants(&learning);
	CHECK_INT(wanted, 16 + 9);
}

TEST(predictions_follow_what_is_observed)
{
	struct strata_engine_subgraph subgraph;
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
	kept_engine_open(&kept, kept_file("onnx", "sd_unet_mini.onnx"), 0);
	for (int i = 0; i < 20; i++)
		kept_engine_run(&kept);
	CHECK(strata_engine_subgraph_at(kept.model, 0, &subgraph));
	CHECK(strata_corrections_sure(kept.engine->corrections, "Conv", 0) == 1);
	CHECK(strata_corrections_sure(kept.engine->corrections, "NoSuch", 0) == 0);
	/* A bound that noise does not reach: prices alone are off by more on most machines. */
	CHECK(subgraph.predicted_ns > (double)subgraph.least_ns / 8);
	CHECK(subgraph.predicted_ns < (double)subgraph.total_ns / (double)subgraph.calls * 8);
	kept_engine_free(&kept);
}
