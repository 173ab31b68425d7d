/* What is planned for a call, before it runs: the same for one subgraph and with what goes between several. */
#include "engine_kept.h"

#include <errno.h>

static struct strata_error err;

static int64_t planned(const char *name, const char *devices, int64_t budget_bytes, bool *ret_several)
{
	struct strata_engine_metrics metrics;
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = devices,
							     .objective = STRATA_THROUGHPUT });
	kept_engine_open(&kept, kept_file("onnx", name), budget_bytes);
	strata_engine_metrics(kept.model, &metrics);
	CHECK_INT(metrics.planned_bytes, -1); /* not before it is prepared */
	CHECK_OK(strata_engine_prepare(kept.model, kept.inputs, &err));
	strata_engine_metrics(kept.model, &metrics);
	*ret_several = strata_engine_subgraph_count(kept.model) > 1;
	int64_t bytes = metrics.planned_bytes;

	kept_engine_run(&kept);
	strata_engine_metrics(kept.model, &metrics);
	CHECK_INT(metrics.planned_bytes, bytes);
	kept_engine_free(&kept);
	return bytes;
}

TEST(it_is_known_before_a_call)
{
	bool several;
	int64_t whole = planned("gpt2_prefill.onnx", "cpu:0", 0, &several);

	CHECK(whole > 0 && !several);
	int64_t cut = planned("gpt2_prefill.onnx", "cpu:0", 100000, &several);

	CHECK(several);
	CHECK(cut > 0 && cut <= 2 * whole);
}

TEST(inputs_that_do_not_fit_are_refused)
{
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
	kept_engine_open(&kept, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	enum strata_dtype before = kept.inputs[0].dtype;

	kept.inputs[0].dtype = STRATA_DTYPE_F32;
	CHECK_ERROR(strata_engine_prepare(kept.model, kept.inputs, &err), -EINVAL, "expected");
	kept.inputs[0].dtype = before;
	kept_engine_run(&kept);
	kept_engine_free(&kept);
}
