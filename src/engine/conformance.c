/* Running conformance data: see conformance.h. */
#include "engine/conformance.h"

#include "engine/engine.h"
#include "formats/onnx/onnx_graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { VALUES_MAX = 64, SETS_MAX = 16 };

/* ---- reading values ---- */

static int read_tensor(struct engine_heap *heap, struct strata_arena *arena,
		       struct onnx_bytes bytes, struct engine_value *ret_value,
		       struct strata_error *err)
{
	struct onnx_reader reader = { .arena = arena };
	struct onnx_field field = { .nested = true, .bytes = bytes };
	struct onnx_tensor tensor;
	int rc = onnx_read_tensor(&reader, &field, &tensor, err);

	return rc ? rc : engine_value_of_tensor(heap, &tensor, "", false, ret_value, err);
}

static int read_value(struct engine_heap *heap, struct strata_arena *arena, struct onnx_bytes bytes,
		      enum onnx_kind kind, struct engine_value *ret_value, struct strata_error *err);

/* SequenceProto: elem_type 2, tensors 3, sequences 5, optionals 7. OptionalProto: elem_type 2, tensor 3, sequence 5. */
static int read_items(struct engine_heap *heap, struct strata_arena *arena, struct onnx_bytes bytes,
		      enum onnx_kind kind, struct engine_value *ret_value, struct strata_error *err)
{
	struct engine_value items[VALUES_MAX];
	struct onnx_wire wire = onnx_wire_of(bytes);
	struct onnx_field field;
	size_t count = 0;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		if (!field.nested || (field.number != 3 && field.number != 5))
			continue;
		if (count == VALUES_MAX)
			rc = strata_fail(err, -E2BIG, "a sequence has more than %d items", VALUES_MAX);
		else
			rc = read_value(heap, arena, field.bytes,
					field.number == 3 ? ONNX_TENSOR : ONNX_SEQUENCE, &items[count], err);
		if (rc)
			break;
		count++;
	}
	if (rc == 0)
		rc = engine_value_list(heap, kind, count ? items[0].dtype : ONNX_NONE, items, count,
				       ret_value, err);
	for (size_t i = 0; i < count; i++)
		engine_value_drop(&items[i]);
	return rc;
}

static int read_value(struct engine_heap *heap, struct strata_arena *arena, struct onnx_bytes bytes,
		      enum onnx_kind kind, struct engine_value *ret_value, struct strata_error *err)
{
	return kind == ONNX_SEQUENCE || kind == ONNX_OPTIONAL
		       ? read_items(heap, arena, bytes, kind, ret_value, err)
		       : read_tensor(heap, arena, bytes, ret_value, err);
}

/* -ENOENT when there is no such file. */
static int load(struct strata_engine_model *model, const char *directory, int set, const char *what,
		size_t index, const struct onnx_type *type, struct engine_value *ret_value,
		struct strata_error *err)
{
	char path[4200];
	void *bytes;
	size_t length;

	snprintf(path, sizeof(path), "%s/test_data_set_%d/%s_%zu.pb", directory, set, what, index);
	if (access(path, F_OK))
		return -ENOENT;
	int rc = onnx_file_map(path, &bytes, &length, err);

	if (rc)
		return rc;
	rc = read_value(&model->engine->heap, &model->instance.model->arena, (struct onnx_bytes){ bytes, length },
			type->kind, ret_value, err);
	munmap(bytes, length);
	/* The files have no type for bfloat16: they store its bits as uint16. */
	if (rc == 0 && type->kind == ONNX_TENSOR && type->dtype == ONNX_BFLOAT16 &&
	    ret_value->dtype == ONNX_UINT16)
		ret_value->dtype = ONNX_BFLOAT16;
	return rc;
}

/* ---- comparing ---- */

/* bfloat16 has seven bits behind the first, and who cuts off is one unit from who rounds. */
static bool near(double a, double b, int dtype)
{
	double part = dtype == ONNX_BFLOAT16 ? 1.0 / 128 : 1e-3;

	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	if (isinf(a) || isinf(b))
		return a == b;
	return fabs(a - b) <= 1e-7 + part * fabs(b);
}

static bool same_texts(const struct engine_value *a, const struct engine_value *b)
{
	int64_t count = engine_value_elements(a);

	for (int64_t i = 0; i < count; i++)
		if (strcmp(((char *const *)a->data)[i], ((char *const *)b->data)[i]) != 0)
			return false;
	return true;
}

static int compare_numbers(struct engine_heap *heap, const struct engine_value *got,
			   const struct engine_value *expected, struct strata_error *err)
{
	struct engine_value a = { 0 }, b = { 0 };
	int64_t count = engine_value_elements(got);
	int rc = engine_value_cast(heap, got, ONNX_DOUBLE, &a, err);

	if (rc == 0)
		rc = engine_value_cast(heap, expected, ONNX_DOUBLE, &b, err);
	for (int64_t i = 0; rc == 0 && i < count; i++)
		if (!near(((double *)a.data)[i], ((double *)b.data)[i], expected->dtype))
			rc = strata_fail(err, -EBADMSG, "element %lld is %g; expected %g",
					 (long long)i, ((double *)a.data)[i],
					 ((double *)b.data)[i]);
	engine_value_drop(&a);
	engine_value_drop(&b);
	return rc;
}

/* Does the model draw random numbers? Then those of the files are another generator's: of such results only kind, type and shape can be compared. */
static bool is_random(const struct onnx_graph *graph)
{
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct onnx_node *node = &graph->nodes[i];

		if (strncmp(node->kind, "Random", 6) == 0 || strcmp(node->kind, "Bernoulli") == 0 ||
		    strcmp(node->kind, "Multinomial") == 0 ||
		    (strcmp(node->kind, "Dropout") == 0 && node->input_count > 2))
			return true;
	}
	return false;
}

static int compare(struct engine_heap *heap, const struct engine_value *got,
		   const struct engine_value *expected, bool random, struct strata_error *err)
{
	if (got->kind != expected->kind || got->item_count != expected->item_count)
		return strata_fail(err, -EBADMSG, "the result is of another kind or length");
	for (size_t i = 0; i < got->item_count; i++) {
		int rc = compare(heap, &got->items[i], &expected->items[i], random, err);

		if (rc)
			return rc;
	}
	if (got->kind != ONNX_TENSOR)
		return 0;
	if (got->dtype != expected->dtype)
		return strata_fail(err, -EBADMSG, "the result is %s; expected %s",
				   engine_dtype_name(got->dtype),
				   engine_dtype_name(expected->dtype));
	bool like = got->rank == expected->rank;

	for (size_t i = 0; like && i < got->rank; i++)
		like = got->dims[i] == expected->dims[i];
	if (!like)
		return strata_fail(err, -EBADMSG, "the result has another shape");
	if (random)
		return 0;
	if (got->dtype == ONNX_STRING)
		return same_texts(got, expected) ? 0
						 : strata_fail(err, -EBADMSG, "a text differs");
	return compare_numbers(heap, got, expected, err);
}

/* ---- running ---- */

static int check_outputs(struct strata_engine_model *model, const char *directory, int set,
			 struct engine_value *outputs, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->instance.model->onnx.graph;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < graph->output_count; i++) {
		struct engine_value expected = { 0 };

		rc = load(model, directory, set, "output", i, &graph->outputs[i].type, &expected,
			  err);
		if (rc == -ENOENT)
			return 0;
		if (rc == 0)
			rc = compare(&model->engine->heap, &outputs[i], &expected, is_random(graph), err);
		engine_value_drop(&expected);
	}
	return rc;
}

static uint64_t digest_of(const struct engine_value *value, uint64_t digest)
{
	const uint8_t *at = value->data;
	size_t bytes = value->kind == ONNX_TENSOR && value->dtype != ONNX_STRING
			       ? engine_value_bytes(value)
			       : 0;

	for (size_t i = 0; i < bytes; i++)
		digest = (digest ^ at[i]) * 1099511628211u;
	for (size_t i = 0; i < value->item_count; i++)
		digest = digest_of(&value->items[i], digest);
	return digest;
}

/* 1: there is no such set. Results are compared with the files', or go into the digest if there is one. */
static int run_set(struct strata_engine_model *model, const char *directory, int set, uint64_t *digest,
		   struct strata_error *err)
{
	const struct engine_model *file = model->instance.model;
	struct engine_value inputs[VALUES_MAX] = { 0 }, outputs[VALUES_MAX] = { 0 };
	char path[4200];
	int rc = 0;

	snprintf(path, sizeof(path), "%s/test_data_set_%d", directory, set);
	if (access(path, F_OK))
		return 1;
	if (file->input_count > VALUES_MAX || file->onnx.graph.output_count > VALUES_MAX)
		return strata_fail(err, -E2BIG, "the model has more than %d inputs or outputs",
				   VALUES_MAX);
	for (size_t i = 0; rc == 0 && i < file->input_count; i++) {
		rc = load(model, directory, set, "input", i, &file->input_infos[i]->type,
			  &inputs[i], err);
		if (rc == -ENOENT)
			rc = strata_fail(err, -EINVAL, "%s has no input_%zu.pb", path, i);
	}
	if (rc == 0)
		rc = engine_model_run(model, &(struct engine_call){ inputs, outputs }, 1, err);
	for (size_t i = 0; rc == 0 && digest && i < file->onnx.graph.output_count; i++)
		*digest = digest_of(&outputs[i], *digest);
	if (rc == 0 && !digest)
		rc = check_outputs(model, directory, set, outputs, err);
	for (size_t i = 0; i < VALUES_MAX; i++) {
		engine_value_drop(&inputs[i]);
		engine_value_drop(&outputs[i]);
	}
	return rc;
}

/* Runs every set. */
static int run_sets(struct strata_engine *engine, const char *directory, uint64_t *digest,
		    struct strata_error *err)
{
	struct strata_engine_model *model;
	char path[4200];

	snprintf(path, sizeof(path), "%s/model.onnx", directory);
	int rc = strata_engine_open(engine, path, NULL, &model, err);

	if (rc)
		return rc;
	for (int set = 0; rc == 0 && set < SETS_MAX; set++)
		rc = run_set(model, directory, set, digest, err);
	strata_engine_close(model);
	return rc < 0 ? rc : 0;
}

enum conformance engine_conformance_run(struct strata_engine *engine, const char *directory,
					struct strata_error *ret_why)
{
	int rc = run_sets(engine, directory, NULL, ret_why);

	return rc == -EBADMSG ? CONFORMANCE_WRONG : rc ? CONFORMANCE_REFUSED : CONFORMANCE_RIGHT;
}

int engine_conformance_digest(struct strata_engine *engine, const char *directory,
			      uint64_t *ret_digest, struct strata_error *err)
{
	uint64_t digest = 14695981039346656037u;
	int rc = run_sets(engine, directory, &digest, err);

	if (rc == 0)
		*ret_digest = digest;
	return rc;
}
