#include "test.h"
#include "place_sample.h"

#include "place/detector.h"

static struct sample sample;
static struct strata_error err;
static struct strata_arena arena;

static struct strata_findings find(void)
{
	struct strata_findings findings = { 0 };

	CHECK_OK(strata_graph_finish(sample.graph, &err));
	strata_arena_init(&arena, &sample.memory, 0);
	CHECK_OK(attention_find(sample.graph, &arena, &findings, &err));
	return findings;
}

static void done(void)
{
	strata_arena_fini(&arena);
	sample_end(&sample);
}

static void begin(void)
{
	sample_begin(&sample);
	sample_tensor(&sample, "q", STRATA_ROLE_INPUT, false, DIMS(2, 3, 8));
	sample_tensor(&sample, "k", STRATA_ROLE_INPUT, false, DIMS(2, 8, 5));
	sample_tensor(&sample, "v", STRATA_ROLE_INPUT, false, DIMS(2, 5, 8));
	sample_tensor(&sample, "scale", STRATA_ROLE_WEIGHT, false, DIMS(1));
	sample_tensor(&sample, "mask", STRATA_ROLE_WEIGHT, false, DIMS(3, 5));
	sample_op(&sample, "MatMul", "q k", "s", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
	sample_op(&sample, "Div", "s scale", "d", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
}

TEST(scores_softmax_and_values_are_found)
{
	begin();
	sample_op(&sample, "Softmax", "d", "p", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
	sample_op(&sample, "MatMul", "p v", "y", STRATA_ROLE_OUTPUT, DIMS(2, 3, 8));
	struct strata_findings findings = find();

	CHECK_INT(findings.attention_count, 1);
	CHECK_INT(findings.attentions[0].scores, 0);
	CHECK_INT(findings.attentions[0].softmax, 2);
	CHECK_INT(findings.attentions[0].values, 3);
	CHECK_INT(findings.attentions[0].query_length, 3);
	CHECK_INT(findings.attentions[0].key_length, 5);
	CHECK(!findings.attentions[0].masked);
	done();
}

TEST(a_mask_is_seen)
{
	begin();
	sample_op(&sample, "Add", "d mask", "a", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
	sample_op(&sample, "Softmax", "a", "p", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
	sample_op(&sample, "MatMul", "p v", "y", STRATA_ROLE_OUTPUT, DIMS(2, 3, 8));
	struct strata_findings findings = find();

	CHECK_INT(findings.attention_count, 1);
	CHECK(findings.attentions[0].masked);
	done();
}

/* A causal mask of any length: positions of queries and keys, compared. */
TEST(a_mask_of_positions_is_seen)
{
	begin();
	sample_tensor(&sample, "rows", STRATA_ROLE_INPUT, true, DIMS(3, 1));
	sample_tensor(&sample, "columns", STRATA_ROLE_INPUT, true, DIMS(1, 5));
	sample_op(&sample, "LessOrEqual", "columns rows", "may", STRATA_ROLE_ACTIVATION,
		  DIMS(3, 5));
	sample_op(&sample, "Where", "may d scale", "a", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
	sample_op(&sample, "Softmax", "a", "p", STRATA_ROLE_ACTIVATION, DIMS(2, 3, 5));
	sample_op(&sample, "MatMul", "p v", "y", STRATA_ROLE_OUTPUT, DIMS(2, 3, 8));
	CHECK(find().attentions[0].masked);
	done();
}

TEST(a_softmax_alone_is_none)
{
	begin();
	sample_op(&sample, "Softmax", "d", "p", STRATA_ROLE_OUTPUT,
		  DIMS(2, 3, 5)); /* of a classifier */
	CHECK_INT(find().attention_count, 0);
	done();
}

TEST(one_operator_may_be_all_of_it)
{
	begin();
	sample_op(&sample, "MultiHeadAttention", "q k v", "y", STRATA_ROLE_OUTPUT, DIMS(2, 3, 8));
	struct strata_findings findings = find();

	CHECK_INT(findings.attention_count, 1);
	CHECK(findings.attentions[0].softmax == STRATA_NONE);
	CHECK_INT(findings.attentions[0].scores, 2);
	done();
}

/* As exporters of torch write it: Q, K, V, and a mask that positions make or that is given. */
TEST(one_operator_has_its_lengths_and_its_mask)
{
	sample_begin(&sample);
	sample_tensor(&sample, "q", STRATA_ROLE_INPUT, false, DIMS(2, 4, 3, 8));
	sample_tensor(&sample, "k", STRATA_ROLE_INPUT, false, DIMS(2, 4, 5, 8));
	sample_tensor(&sample, "v", STRATA_ROLE_INPUT, false, DIMS(2, 4, 5, 8));
	sample_tensor(&sample, "padding", STRATA_ROLE_INPUT, false, DIMS(2, 1, 1, 5));
	sample_tensor(&sample, "rows", STRATA_ROLE_INPUT, true, DIMS(3, 1));
	sample_tensor(&sample, "columns", STRATA_ROLE_INPUT, true, DIMS(1, 5));
	sample_tensor(&sample, "zero", STRATA_ROLE_WEIGHT, true, DIMS(1));
	sample_op(&sample, "LessOrEqual", "columns rows", "may", STRATA_ROLE_ACTIVATION,
		  DIMS(3, 5));
	sample_op(&sample, "GreaterOrEqual", "rows zero", "all", STRATA_ROLE_ACTIVATION,
		  DIMS(3, 1));
	sample_op(&sample, "And", "may padding", "both", STRATA_ROLE_ACTIVATION, DIMS(2, 1, 3, 5));
	sample_op(&sample, "And", "all padding", "only", STRATA_ROLE_ACTIVATION, DIMS(2, 1, 3, 5));
	sample_op(&sample, "Attention", "q k v both", "x", STRATA_ROLE_OUTPUT, DIMS(2, 4, 3, 8));
	sample_op(&sample, "Attention", "q k v only", "y", STRATA_ROLE_OUTPUT, DIMS(2, 4, 3, 8));
	sample_op(&sample, "Attention", "q k v", "z", STRATA_ROLE_OUTPUT, DIMS(2, 4, 3, 8));
	struct strata_findings findings = find();

	CHECK_INT(findings.attention_count, 3);
	CHECK_INT(findings.attentions[0].query_length, 3);
	CHECK_INT(findings.attentions[0].key_length, 5);
	CHECK(findings.attentions[0].masked);
	CHECK(!findings.attentions[1].masked); /* a number is no position */
	CHECK(!findings.attentions[2].masked);
	done();
}

/* Of one that takes its projections too, the second input is a weight. */
TEST(one_operator_without_keys_has_no_lengths)
{
	begin();
	sample_tensor(&sample, "w", STRATA_ROLE_WEIGHT, false, DIMS(8, 24));
	sample_op(&sample, "Attention", "q w v mask", "y", STRATA_ROLE_OUTPUT, DIMS(2, 3, 8));
	struct strata_findings findings = find();

	CHECK_INT(findings.attentions[0].query_length, -1);
	CHECK(!findings.attentions[0].masked);
	done();
}
