/* Elements in an order: TopK, Unique, ReverseSequence, and sums that run along an axis (CumSum). */
#include "engine/native/native.h"

#include "engine/native/keys.h"
#include "engine/team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void around(const struct engine_value *x, size_t axis, int64_t *outer, int64_t *inner)
{
	*outer = *inner = 1;
	for (size_t i = 0; i < x->rank; i++)
		if (i != axis)
			*(i < axis ? outer : inner) *= x->dims[i];
}

/* Keys of the elements of x, in scratch memory of `*ret_bytes`. */
static int make_keys(struct native_call *call, const struct engine_value *x, int64_t **ret_keys,
		     size_t *ret_bytes, struct strata_error *err)
{
	size_t bytes = (size_t)engine_value_elements(x) * sizeof(int64_t);
	int64_t *keys = native_scratch(call, bytes, err);

	if (!keys)
		return -ENOMEM;
	if (!keys_of(x, keys)) {
		engine_heap_put(call->heap, keys, bytes);
		return native_lacks(call, err, "it is not built for %s",
				    engine_dtype_name(x->dtype));
	}
	*ret_keys = keys;
	*ret_bytes = bytes;
	return 0;
}

/* ---- TopK ---- */

/* The k best so far: a heap with the worst on top. Of equal ones, the first is better. */
struct best {
	const int64_t *keys; /* of the row */
	int64_t step;        /* between keys */
	bool least;          /* the smallest are wanted */
	int64_t *heap, count;
};

static bool better(const struct best *best, int64_t a, int64_t b)
{
	int64_t left = best->keys[a * best->step], right = best->keys[b * best->step];

	return left == right ? a < b : best->least ? left < right : left > right;
}

static void sift_down(struct best *best, int64_t at)
{
	for (;;) {
		int64_t child = 2 * at + 1, kept = best->heap[at];

		if (child >= best->count)
			return;
		if (child + 1 < best->count &&
		    better(best, best->heap[child], best->heap[child + 1]))
			child++;
		if (!better(best, kept, best->heap[child]))
			return;
		best->heap[at] = best->heap[child];
		best->heap[child] = kept;
	}
}

/* Fills heap[0 … k) with the best, best first. */
static void find_best(struct best *best, int64_t length, int64_t k)
{
	best->count = k;
	for (int64_t i = 0; i < k; i++)
		best->heap[i] = i;
	for (int64_t i = k / 2; i-- > 0;)
		sift_down(best, i);
	for (int64_t i = k; i < length; i++)
		if (better(best, i, best->heap[0])) {
			best->heap[0] = i;
			sift_down(best, 0);
		}
	while (best->count > 1) { /* the worst goes to the end */
		int64_t worst = best->heap[0];

		best->heap[0] = best->heap[--best->count];
		best->heap[best->count] = worst;
		sift_down(best, 0);
	}
}

struct top_work {
	const struct engine_value *x;
	const int64_t *keys;
	int64_t length, inner, k;
	bool least;
	char *values;
	int64_t *indices, *heaps; /* heaps: k for each row */
};

static void top_rows(void *arg, int64_t first, int64_t past)
{
	const struct top_work *work = arg;
	size_t width = engine_dtype_bytes(work->x->dtype);

	for (int64_t r = first; r < past; r++) {
		int64_t o = r / work->inner, i = r % work->inner;
		int64_t base = o * work->length * work->inner + i;
		struct best best = { work->keys + base, work->inner, work->least,
				     work->heaps + r * work->k, 0 };

		find_best(&best, work->length, work->k);
		for (int64_t n = 0; n < work->k; n++) {
			int64_t to = (o * work->k + n) * work->inner + i;

			if (work->indices)
				work->indices[to] = best.heap[n];
			if (work->values)
				memcpy(work->values + (size_t)to * width,
				       (const char *)work->x->data +
					       (size_t)(base + best.heap[n] * work->inner) * width,
				       width);
		}
	}
}

static int read_k(struct native_call *call, int64_t length, int64_t *ret_k,
		  struct strata_error *err)
{
	int64_t k = native_int(call, "k", 0);
	size_t count = 1;
	int rc = native_input(call, 1) ? native_input_ints(call, 1, &k, 1, &count, err) : 0;

	if (rc == 0 && (count != 1 || k < 0 || k > length))
		rc = native_refuse(call, err, "k is %lld; expected 0 to %lld", (long long)k,
				   (long long)length);
	*ret_k = k;
	return rc;
}

static int run_top_k(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct top_work work = { .least = !native_int(call, "largest", 1) };
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer, *keys = NULL;
	size_t axis = 0, bytes = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", -1), x->rank, &axis, err);
	if (rc == 0)
		rc = read_k(call, x->dims[axis], &work.k, err);
	if (rc)
		return rc;
	memcpy(dims, x->dims, sizeof(dims));
	dims[axis] = work.k;
	if (native_wants(call, 0))
		rc = native_make(call, 0, x->dtype, x->rank, dims, err);
	if (rc == 0 && native_wants(call, 1))
		rc = native_make(call, 1, ONNX_INT64, x->rank, dims, err);
	around(x, axis, &outer, &work.inner);
	if (rc || outer * work.inner * work.k == 0)
		return rc;
	rc = make_keys(call, x, &keys, &bytes, err);
	if (rc)
		return rc;
	size_t heap_bytes = (size_t)(outer * work.inner * work.k) * sizeof(int64_t);

	work.x = x;
	work.keys = keys;
	work.length = x->dims[axis];
	work.values = native_wants(call, 0) ? call->outputs[0].data : NULL;
	work.indices = native_wants(call, 1) ? call->outputs[1].data : NULL;
	work.heaps = native_scratch(call, heap_bytes, err);
	if (work.heaps)
		engine_team_run(call->team, outer * work.inner, 1 + 4096 / (work.length + 1),
				top_rows, &work);
	else
		rc = -ENOMEM;
	engine_heap_put(call->heap, work.heaps, heap_bytes);
	engine_heap_put(call->heap, keys, bytes);
	return rc;
}

/* ---- Unique ---- */

/* Things that are compared: single elements, or slices of an axis. */
struct things {
	const int64_t *keys;
	int64_t count, outer, inner; /* a thing is outer × inner keys */
};

static int compare_things(const struct things *things, int64_t a, int64_t b)
{
	for (int64_t o = 0; o < things->outer; o++) {
		const int64_t *left = things->keys + (o * things->count + a) * things->inner;
		const int64_t *right = things->keys + (o * things->count + b) * things->inner;

		for (int64_t i = 0; i < things->inner; i++)
			if (left[i] != right[i])
				return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}

static int by_thing(const void *a, const void *b, void *things)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	int order = compare_things(things, left, right);

	return order ? order : left < right ? -1 : 1;
}

/* A kind of thing: which was the first of it. */
struct kind {
	int64_t first, members, number; /* number: its place in the sorted order */
};

static int by_first(const void *a, const void *b)
{
	return ((const struct kind *)a)->first < ((const struct kind *)b)->first ? -1 : 1;
}

/* Sorts, and makes kinds; inverse[i] is the number of i's kind in sorted order. */
static int64_t find_kinds(struct things *things, int64_t *order, struct kind *kinds,
			  int64_t *inverse)
{
	int64_t count = 0;

	for (int64_t i = 0; i < things->count; i++)
		order[i] = i;
	qsort_r(order, (size_t)things->count, sizeof(*order), by_thing, things);
	for (int64_t i = 0; i < things->count; i++) {
		if (i == 0 || compare_things(things, order[i - 1], order[i]) != 0) {
			kinds[count] = (struct kind){ order[i], 0, count };
			count++;
		}
		kinds[count - 1].members++;
		inverse[order[i]] = count - 1;
	}
	return count;
}

static int unique_lists(struct native_call *call, const struct things *things,
			const struct kind *kinds, int64_t kind_count, const int64_t *inverse,
			const int64_t *place, struct strata_error *err)
{
	int rc = 0;

	for (size_t output = 1; rc == 0 && output < 4; output++) {
		int64_t length = output == 2 ? things->count : kind_count;

		if (!native_wants(call, output))
			continue;
		rc = native_make(call, output, ONNX_INT64, 1, &length, err);
		for (int64_t i = 0; rc == 0 && i < length; i++)
			((int64_t *)call->outputs[output].data)[i] = output == 1 ? kinds[i].first
								     : output == 2
									     ? place[inverse[i]]
									     : kinds[i].members;
	}
	return rc;
}

static int unique_values(struct native_call *call, const struct engine_value *x, int64_t axis,
			 const struct things *things, const struct kind *kinds, int64_t kind_count,
			 struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX];

	memcpy(dims, x->dims, sizeof(dims));
	if (axis >= 0)
		dims[axis] = kind_count;
	int rc = axis < 0 ? native_make(call, 0, x->dtype, 1, &kind_count, err)
			  : native_make(call, 0, x->dtype, x->rank, dims, err);
	size_t row = (size_t)things->inner * engine_dtype_bytes(x->dtype);

	for (int64_t o = 0; rc == 0 && o < things->outer; o++)
		for (int64_t i = 0; i < kind_count; i++)
			memcpy((char *)call->outputs[0].data + (size_t)(o * kind_count + i) * row,
			       (const char *)x->data +
				       (size_t)(o * things->count + kinds[i].first) * row,
			       row);
	return rc;
}

static int unique(struct native_call *call, const struct engine_value *x, int64_t axis,
		  struct things *things, struct strata_error *err)
{
	size_t bytes = (size_t)things->count * (3 * sizeof(int64_t) + sizeof(struct kind));
	int64_t *order = native_scratch(call, bytes, err);

	if (!order)
		return -ENOMEM;
	int64_t *inverse = order + things->count, *place = inverse + things->count;
	struct kind *kinds = (struct kind *)(place + things->count);
	int64_t count = find_kinds(things, order, kinds, inverse);

	if (!native_int(call, "sorted", 1))
		qsort(kinds, (size_t)count, sizeof(*kinds), by_first);
	for (int64_t i = 0; i < count; i++)
		place[kinds[i].number] = i;
	int rc = unique_values(call, x, axis, things, kinds, count, err);

	if (rc == 0)
		rc = unique_lists(call, things, kinds, count, inverse, place, err);
	engine_heap_put(call->heap, order, bytes);
	return rc;
}

static int run_unique(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	bool flat = !onnx_attribute_find(call->node, "axis");
	struct things things = { .outer = 1, .inner = 1 };
	int64_t *keys = NULL;
	size_t axis = 0, bytes = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && !flat)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &axis, err);
	if (rc == 0)
		rc = make_keys(call, x, &keys, &bytes, err);
	if (rc)
		return rc;
	things.keys = keys;
	things.count = flat ? engine_value_elements(x) : x->dims[axis];
	if (!flat)
		around(x, axis, &things.outer, &things.inner);
	if (engine_value_elements(x) == 0 && things.count > 0)
		rc = native_refuse(call, err, "input 1 has no elements");
	else
		rc = unique(call, x, flat ? -1 : (int64_t)axis, &things, err);
	engine_heap_put(call->heap, keys, bytes);
	return rc;
}

/* ---- ReverseSequence ---- */

static int run_reverse(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *lengths;
	int64_t time = native_int(call, "time_axis", 0), batch = native_int(call, "batch_axis", 1);
	int64_t inner = 1;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_INT64, &lengths, err);
	if (rc == 0 && (x->rank < 2 || time + batch != 1 || time * batch != 0))
		rc = native_refuse(call, err, "time_axis and batch_axis are %lld and %lld",
				   (long long)time, (long long)batch);
	if (rc == 0 && engine_value_elements(lengths) != x->dims[batch])
		rc = native_refuse(call, err, "there is not a length for each member");
	for (int64_t i = 0; rc == 0 && i < x->dims[batch]; i++) {
		int64_t length = ((const int64_t *)lengths->data)[i];

		if (length < 0 || length > x->dims[time])
			rc = native_refuse(call, err, "a length is %lld of %lld", (long long)length,
					   (long long)x->dims[time]);
	}
	if (rc == 0)
		rc = native_make(call, 0, x->dtype, x->rank, x->dims, err);
	if (rc || engine_value_elements(x) == 0)
		return rc;
	for (size_t i = 2; i < x->rank; i++)
		inner *= x->dims[i];
	size_t row = (size_t)inner * engine_dtype_bytes(x->dtype);

	for (int64_t b = 0; b < x->dims[batch]; b++)
		for (int64_t t = 0; t < x->dims[time]; t++) {
			int64_t length = ((const int64_t *)lengths->data)[b];
			int64_t from = t < length ? length - 1 - t : t;
			int64_t to_row = time == 0 ? t * x->dims[1] + b : b * x->dims[1] + t;
			int64_t from_row = time == 0 ? from * x->dims[1] + b
						     : b * x->dims[1] + from;

			memcpy((char *)call->outputs[0].data + (size_t)to_row * row,
			       (const char *)x->data + (size_t)from_row * row, row);
		}
	return 0;
}

/* ---- CumSum ---- */

#define RUNNING_SUM(type, sum_type)                                                    \
	for (int64_t o = 0; o < outer; o++)                                            \
		for (int64_t i = 0; i < inner; i++) {                                  \
			sum_type sum = 0;                                              \
			for (int64_t n = 0; n < length; n++) {                         \
				int64_t k = reverse ? length - 1 - n : n;              \
				int64_t at = (o * length + k) * inner + i;             \
				sum_type here = (sum_type)((const type *)x->data)[at]; \
				if (!exclusive)                                        \
					sum += here;                                   \
				((type *)call->outputs[0].data)[at] = (type)sum;       \
				if (exclusive)                                         \
					sum += here;                                   \
			}                                                              \
		}

static int run_cum_sum(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	bool exclusive = native_int(call, "exclusive", 0), reverse = native_int(call, "reverse", 0);
	int64_t asked, outer, inner;
	size_t axis = 0, count = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_input_ints(call, 1, &asked, 1, &count, err);
	if (rc == 0 && count != 1)
		rc = native_refuse(call, err, "axis is not a single number");
	if (rc == 0)
		rc = native_axis(call, asked, x->rank, &axis, err);
	if (rc == 0) /* not in place: a running sum over other rows is read again */
		rc = native_make(call, 0, x->dtype, x->rank, x->dims, err);
	if (rc || engine_value_elements(x) == 0)
		return rc;
	int64_t length = x->dims[axis];

	around(x, axis, &outer, &inner);
	switch (x->dtype) {
	case ONNX_FLOAT:
		RUNNING_SUM(float, float);
		return 0;
	case ONNX_DOUBLE:
		RUNNING_SUM(double, double);
		return 0;
	case ONNX_INT32:
	case ONNX_UINT32:
		RUNNING_SUM(uint32_t, uint32_t);
		return 0;
	case ONNX_INT64:
	case ONNX_UINT64:
		RUNNING_SUM(uint64_t, uint64_t);
		return 0;
	default:
		return native_refuse(call, err, "it does not take %s", engine_dtype_name(x->dtype));
	}
}

static const struct native_op ops[] = {
	{ "CumSum", run_cum_sum },
	{ "ReverseSequence", run_reverse },
	{ "TopK", run_top_k },
	{ "Unique", run_unique },
};

const struct native_family native_family_order = { "order", "", ops, sizeof(ops) / sizeof(ops[0]) };
