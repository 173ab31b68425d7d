#include "test.h"
#include "place_sample.h"

#include <strata/detector.h>

#include <stdio.h>

static struct sample sample;
static struct strata_error err;
static struct strata_arena arena;

static struct strata_findings detect(void)
{
	struct strata_findings findings;

	CHECK_OK(strata_graph_finish(sample.graph, &err));
	strata_arena_init(&arena, &sample.memory, 0);
	CHECK_OK(strata_graph_detect(sample.graph, NULL, &arena, &findings, &err));
	return findings;
}

static void done(void)
{
	strata_arena_fini(&arena);
	sample_end(&sample);
}

TEST(a_graph_without_signs_is_other)
{
	sample_begin(&sample);
	sample_tensor(&sample, "x", STRATA_ROLE_INPUT, false, DIMS(4, 4));
	sample_tensor(&sample, "w", STRATA_ROLE_WEIGHT, false, DIMS(4, 4));
	sample_op(&sample, "MatMul", "x w", "y", STRATA_ROLE_OUTPUT, DIMS(4, 4));
	struct strata_findings findings = detect();

	CHECK_INT(findings.workload, STRATA_WORKLOAD_OTHER);
	CHECK_INT(findings.phase, STRATA_PHASE_FORWARD);
	CHECK(findings.why[0]);
	done();
}

/* A decode step of one operator, as runtimes write it, with caches in and out. */
TEST(caches_of_one_operator_are_found)
{
	uint32_t in[5], out[2];

	sample_begin(&sample);
	in[0] = sample_tensor(&sample, "q", STRATA_ROLE_INPUT, false, DIMS(1, 1, 64));
	in[1] = sample_tensor(&sample, "new_k", STRATA_ROLE_INPUT, false, DIMS(1, 1, 64));
	in[2] = sample_tensor(&sample, "new_v", STRATA_ROLE_INPUT, false, DIMS(1, 1, 64));
	in[3] = sample_tensor(&sample, "past_k", STRATA_ROLE_INPUT, false, DIMS(1, 2, 7, 32));
	in[4] = sample_tensor(&sample, "past_v", STRATA_ROLE_INPUT, false, DIMS(1, 2, 7, 32));
	out[0] = sample_tensor(&sample, "y", STRATA_ROLE_OUTPUT, false, DIMS(1, 1, 64));
	out[1] = sample_tensor(&sample, "k", STRATA_ROLE_OUTPUT, false, DIMS(1, 2, 8, 32));
	CHECK_OK(strata_graph_add_op(sample.graph,
				     &(struct strata_op){ .kind = "GroupQueryAttention",
							  .inputs = in,
							  .input_count = 5,
							  .outputs = out,
							  .output_count = 2,
							  .bytes = -1,
							  .kv_device = STRATA_NONE },
				     NULL, &err));
	struct strata_findings findings = detect();

	CHECK_INT(findings.workload, STRATA_WORKLOAD_LLM);
	CHECK_INT(findings.phase, STRATA_PHASE_DECODE);
	CHECK_INT(findings.kv_in_count, 2);
	CHECK_INT(findings.kv_out_count, 1);
	CHECK_INT(findings.kv_in_bytes, 2 * 7 * 2 * 32 * 4);
	CHECK_INT(findings.kv_out_bytes, 8 * 2 * 32 * 4);
	CHECK_INT(sample.graph->tensors[in[3]].role, STRATA_ROLE_KV);
	done();
}

/* As torch writes it: a cache is appended to, and what comes of that is attended to and goes out. */
static void append(const char *past, const char *fresh, const char *all)
{
	char words[32];

	sample_op(&sample, "MatMul", "x w", fresh, STRATA_ROLE_ACTIVATION, DIMS(1, 2, 1, 32));
	if (past)
		sample_tensor(&sample, past, STRATA_ROLE_INPUT, false, DIMS(1, 2, 7, 32));
	snprintf(words, sizeof(words), "%s %s", past ? past : "", fresh);
	sample_op(&sample, "Concat", words + !past, all, STRATA_ROLE_OUTPUT,
		  DIMS(1, 2, past ? 8 : 1, 32));
}

TEST(caches_that_are_appended_to_are_found)
{
	for (int decode = 0; decode < 2; decode++) {
		sample_begin(&sample);
		sample_tensor(&sample, "x", STRATA_ROLE_INPUT, false, DIMS(1, 2, 1, 32));
		sample_tensor(&sample, "w", STRATA_ROLE_WEIGHT, false, DIMS(32, 32));
		append(decode ? "past_k" : NULL, "new_k", "k");
		append(decode ? "past_v" : NULL, "new_v", "v");
		sample_tensor(&sample, "q", STRATA_ROLE_INPUT, false, DIMS(1, 2, 1, 32));
		sample_tensor(&sample, "mask", STRATA_ROLE_INPUT, false, DIMS(1, 1, 1, 8));
		sample_op(&sample, "Attention", "q k v mask", "y", STRATA_ROLE_OUTPUT,
			  DIMS(1, 2, 1, 32));
		struct strata_findings findings = detect();

		CHECK_INT(findings.workload, STRATA_WORKLOAD_LLM);
		CHECK_INT(findings.phase, decode ? STRATA_PHASE_DECODE : STRATA_PHASE_PREFILL);
		CHECK_INT(findings.kv_in_count, decode ? 2 : 0); /* and the mask is none */
		CHECK_INT(findings.kv_out_count, 2);
		done();
	}
}

/* Keys and values of an attention alone are not kept from call to call. */
TEST(keys_that_are_given_are_no_cache)
{
	sample_begin(&sample);
	sample_tensor(&sample, "q", STRATA_ROLE_INPUT, false, DIMS(1, 2, 3, 32));
	sample_tensor(&sample, "k", STRATA_ROLE_INPUT, false, DIMS(1, 2, 7, 32));
	sample_tensor(&sample, "v", STRATA_ROLE_INPUT, false, DIMS(1, 2, 7, 32));
	sample_op(&sample, "Attention", "q k v", "y", STRATA_ROLE_OUTPUT, DIMS(1, 2, 3, 32));
	CHECK_INT(detect().kv_in_count, 0);
	done();
}

TEST(what_follows_from_gradients_is_backward)
{
	sample_begin(&sample);
	sample_tensor(&sample, "x", STRATA_ROLE_INPUT, false, DIMS(4, 4));
	sample_tensor(&sample, "w", STRATA_ROLE_WEIGHT, false, DIMS(4, 4));
	uint32_t forward =
		sample_op(&sample, "MatMul", "x w", "m", STRATA_ROLE_ACTIVATION, DIMS(4, 4));
	uint32_t loss = sample_op(&sample, "Softmax", "m", "l", STRATA_ROLE_ACTIVATION, DIMS(4, 4));
	uint32_t grad =
		sample_op(&sample, "SoftmaxGrad", "l", "g", STRATA_ROLE_ACTIVATION, DIMS(4, 4));
	uint32_t after = sample_op(&sample, "MatMul", "g w", "y", STRATA_ROLE_OUTPUT, DIMS(4, 4));

	detect();
	CHECK_INT(sample.graph->ops[forward].phase, STRATA_PHASE_FORWARD);
	CHECK_INT(sample.graph->ops[loss].phase, STRATA_PHASE_FORWARD);
	CHECK_INT(sample.graph->ops[grad].phase, STRATA_PHASE_BACKWARD);
	CHECK_INT(sample.graph->ops[after].phase, STRATA_PHASE_BACKWARD);
	done();
}

/* Two weights at one place of one file are one. */
TEST(weights_at_the_same_place_are_tied)
{
	struct strata_tensor weight = { .name = "a",
					.role = STRATA_ROLE_WEIGHT,
					.bytes = 400,
					.file = 0,
					.offset_bytes = 64,
					.extent_bytes = 400,
					.device = STRATA_NONE };
	uint32_t a, b, c;

	sample_begin(&sample);
	CHECK_OK(strata_graph_add_file(sample.graph, "model", NULL, &err));
	CHECK_OK(strata_graph_add_tensor(sample.graph, &weight, &a, &err));
	weight.name = "b";
	CHECK_OK(strata_graph_add_tensor(sample.graph, &weight, &b, &err));
	weight.name = "c";
	weight.offset_bytes = 464;
	CHECK_OK(strata_graph_add_tensor(sample.graph, &weight, &c, &err));
	sample_op(&sample, "Sum", "a b c", "y", STRATA_ROLE_OUTPUT, DIMS(4));
	struct strata_findings findings = detect();

	CHECK(sample.graph->tensors[a].tied &&
	      sample.graph->tensors[a].tied == sample.graph->tensors[b].tied);
	CHECK_INT(sample.graph->tensors[c].tied, 0);
	CHECK_INT(findings.tied_bytes, 400);
	done();
}

TEST(workloads_have_names)
{
	for (int i = 0; i < STRATA_WORKLOAD_COUNT; i++)
		for (int k = 0; k < i; k++)
			CHECK(strcmp(strata_workload_name(i), strata_workload_name(k)) != 0);
	CHECK_TEXT(strata_workload_name(STRATA_WORKLOAD_LLM), "llm");
	CHECK_TEXT(strata_workload_name((enum strata_workload)99), "other");
}
