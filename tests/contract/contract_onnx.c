/*
 * Every operator that is known, held against models that say what is right: the conformance models of ONNX, which Debian packages, and the
 * models of the reference data. "Fully shaped" is counted from the inputs and constants alone: shapes that a file declares for its outputs
 * and inner values are not looked at, but for comparing. A model counts when every output of every node of its graph has a rank
 * and all its dimensions; of a sequence or an optional, what is in it.
 */
#include "kept.h"

#include "formats/onnx/onnx_infer.h"

#include <strata/onnx.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = 1072 }; /* of ONNX 1.12 */
#define CONFORMANCE "/usr/share/libonnx-testdata/data"

static struct strata_error err;

struct tally {
	size_t models, shaped, contradictions, clashes, unknown;
};

static void infer_file(const char *path, unsigned flags, struct tally *tally)
{
	struct strata_memory memory = { 0 };
	struct onnx_inferred inferred;
	struct strata_arena arena;
	struct onnx_model model;
	size_t size;
	char *bytes = test_read_file(path, &size);

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(onnx_model_read(bytes, size, &arena, &model, &err));
	CHECK_OK(onnx_infer(&model, NULL, 0, flags, &arena, &inferred, &err));
	tally->models++;
	tally->shaped += inferred.output_shaped == inferred.output_total;
	tally->contradictions += inferred.contradictions;
	tally->clashes += inferred.first_clash[0] != 0;
	for (size_t i = 0; i < model.graph.node_count; i++)
		tally->unknown += !inferred.nodes[i].known;
	strata_arena_fini(&arena);
	free(bytes);
	CHECK_INT(memory.used_bytes, 0);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void infer_set(const char *set, unsigned flags, struct tally *tally)
{
	struct dirent **entries;
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", CONFORMANCE, set);
	int count = scandir(path, &entries, not_hidden, alphasort);

	if (count < 0)
		test_skip("%s is absent (Debian: libonnx-testdata)", path);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s/model.onnx", CONFORMANCE, set,
			 entries[i]->d_name);
		infer_file(path, flags, tally);
		free(entries[i]);
	}
	free(entries);
}

static struct tally infer_conformance(unsigned flags)
{
	static const char *const sets[] = { "node", "pytorch-converted", "pytorch-operator",
					    "simple" };
	struct tally tally = { 0 };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		infer_set(sets[i], flags, &tally);
	return tally;
}

TEST(conformance_models_are_shaped_from_their_inputs_alone)
{
	struct tally tally = infer_conformance(0);

	printf("# %zu of %zu models fully shaped\n", tally.shaped, tally.models);
	if (tally.models != MODELS)
		test_skip("the conformance models are those of another release");
	CHECK_INT(tally.contradictions, 0);
	CHECK_INT(tally.clashes, 0);
	CHECK_INT(tally.unknown, 0);
	CHECK(tally.shaped >= 923); /* the others depend on numbers that only a run knows */
}

TEST(conformance_models_are_shaped_with_what_they_declare)
{
	struct tally tally = infer_conformance(ONNX_BELIEVE_DECLARED);

	printf("# %zu of %zu models fully shaped\n", tally.shaped, tally.models);
	if (tally.models != MODELS)
		test_skip("the conformance models are those of another release");
	CHECK_INT(tally.contradictions, 0);
	CHECK(tally.shaped >= 1048);
}

TEST(families_are_sorted_and_no_operator_is_there_twice)
{
	const struct onnx_family *family;

	for (size_t f = 0; (family = onnx_family_at(f)); f++) {
		CHECK(family->name[0] && family->op_count > 0);
		for (size_t i = 0; i < family->op_count; i++) {
			const struct onnx_op *op = &family->ops[i];

			CHECK(i == 0 || strcmp(family->ops[i - 1].kind, op->kind) < 0);
			CHECK(op->shape);
			CHECK(onnx_op_find(family->domain, op->kind) == op);
		}
	}
	CHECK(!onnx_op_find("", "NoSuchOperator"));
	CHECK(!onnx_op_find("com.example", "Add"));
}

/* ---- the models of the reference data ---- */

static const struct strata_onnx_dim dynamic_dims[] = { { "batch", 2 },
						       { "sequence", 1 },
						       { "past_sequence", 16 } };

static struct strata_graph *open_model(const char *name, struct strata_memory *memory,
				       struct strata_onnx_metrics *metrics)
{
	struct strata_graph *graph;
	char path[256];

	snprintf(path, sizeof(path), "%s.onnx", name);
	CHECK_OK(strata_onnx_open(kept_file("onnx", path), dynamic_dims,
				  strcmp(name, "gpt2_decode_dynamic") == 0 ? 3 : 0, memory, &graph,
				  metrics, &err));
	return graph;
}

/* Columns of truth.tsv, by place. */
enum {
	MODEL,
	KIND,
	PHASE,
	OPSET,
	NODES,
	FLOPS,
	PARAMS,
	PARAM_BYTES,
	INITIALIZERS,
	CONSTANTS,
	KV_IN,
	KV_OUT,
	ACTIVATIONS,
	OUTPUTS,
	COLUMNS
};

/* The next line's columns; false at the end. */
static bool next_row(char **text, char **columns)
{
	char *line = strsep(text, "\n");

	if (!line || !*line)
		return false;
	for (size_t i = 0; i < COLUMNS; i++) {
		columns[i] = strsep(&line, "\t");
		CHECK(columns[i]);
	}
	return true;
}

TEST(metrics_are_those_of_the_truth)
{
	size_t size, models = 0;
	char path[4096];

	snprintf(path, sizeof(path), "%s/onnx/truth.tsv", test_data_dir());
	char *text = test_read_file(path, &size);
	char *rest = text, *columns[COLUMNS];

	CHECK(next_row(&rest, columns));
	CHECK_TEXT(columns[FLOPS], "mac_flops");
	CHECK_TEXT(columns[ACTIVATIONS], "activation_bytes");
	CHECK_TEXT(columns[OUTPUTS], "onnx112_outputs_total");
	for (; next_row(&rest, columns); models++) {
		struct strata_memory memory = { 0 };
		struct strata_onnx_metrics metrics;
		struct strata_graph *graph = open_model(columns[MODEL], &memory, &metrics);
		double flops = 0;

		for (size_t i = 0; i < graph->op_count; i++)
			flops += graph->ops[i].flops;
		CHECK_INT(metrics.flops, atoll(columns[FLOPS]));
		CHECK_INT(flops, atoll(columns[FLOPS]));
		CHECK_INT(metrics.node_count, atoll(columns[NODES]));
		CHECK_INT(metrics.opset, atoll(columns[OPSET]));
		CHECK_INT(metrics.known_count, metrics.node_count);
		CHECK_INT(metrics.initializer_bytes, atoll(columns[INITIALIZERS]));
		CHECK_INT(metrics.constant_bytes, atoll(columns[CONSTANTS]));
		CHECK_INT(metrics.output_count, atoll(columns[OUTPUTS]));
		CHECK_INT(metrics.shaped_count, metrics.output_count);
		CHECK_INT(metrics.contradiction_count + metrics.clash_count, 0);
		if (columns[ACTIVATIONS][0] == '>') /* where its author had not all shapes */
			CHECK(metrics.activation_bytes >= atoll(columns[ACTIVATIONS] + 2));
		else
			CHECK_INT(metrics.activation_bytes, atoll(columns[ACTIVATIONS]));
		CHECK_INT(metrics.tied_bytes,
			  strncmp(columns[MODEL], "gpt2", 4) == 0 ? 35840 : 0); /* lm_head is wte */
		strata_graph_free(graph);
		CHECK_INT(memory.used_bytes, 0);
	}
	CHECK_INT(models, 11);
	free(text);
}
