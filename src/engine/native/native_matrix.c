/*
 * Matrix products: MatMul and Gemm. In float32 they go through gemm.h. A right-hand side that is the same in every call is packed once; another
 * is packed for the call, or read as it is when there are only a few rows. Other types have a plain loop.
 */
#include "engine/native/native.h"

#include "engine/native/product.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { THIN_ROWS = 4 }; /* so many rows and fewer are not worth packing for */

/* A packed right-hand side, kept from call to call. */
struct packed {
	struct native_state base;
	struct engine_heap *heap;
	const void *from; /* whose packed form it is */
	int64_t k, n;
	float *at;            /* NULL: int8 has it */
	struct gemm_int8 int8;
};

static void packed_free(struct native_state *state)
{
	struct packed *packed = (struct packed *)state;
	size_t count = (size_t)gemm_packed_count(packed->k, packed->n);

	engine_heap_put(packed->heap, packed->at, count * sizeof(float));
	engine_heap_put(packed->heap, packed->int8.at, count);
	engine_heap_put(packed->heap, packed->int8.scales, (size_t)packed->n * sizeof(float));
	engine_heap_put(packed->heap, packed, sizeof(*packed));
}

static int pack(struct native_call *call, struct gemm_matrix b, struct packed *packed,
		struct strata_error *err)
{
	size_t count = (size_t)gemm_packed_count(packed->k, packed->n);

	if (call->int8_weights) {
		packed->int8.at = engine_heap_get(call->heap, count);
		packed->int8.scales =
			engine_heap_get(call->heap, (size_t)packed->n * sizeof(float));
		if (!packed->int8.at || !packed->int8.scales)
			return strata_fail_memory(err);
		gemm_pack_int8(call->team, b, packed->k, packed->n, &packed->int8);
		return 0;
	}
	packed->at = engine_heap_get(call->heap, count * sizeof(float));
	if (!packed->at)
		return strata_fail_memory(err);
	gemm_pack(call->team, b, packed->k, packed->n, packed->at);
	return 0;
}

static int keep_packed(struct native_call *call, struct gemm_matrix b, int64_t k, int64_t n,
		       const struct packed **ret_packed, struct strata_error *err)
{
	struct packed *packed = (struct packed *)*call->state;

	if (packed && packed->from == b.at && packed->k == k && packed->n == n) {
		*ret_packed = packed;
		return 0;
	}
	if (packed) {
		*call->state = NULL;
		packed_free(&packed->base);
	}
	packed = engine_heap_get(call->heap, sizeof(*packed));
	if (!packed)
		return strata_fail_memory(err);
	*packed = (struct packed){ { packed_free }, call->heap, b.at, k, n, NULL, { 0 } };
	int rc = pack(call, b, packed, err);

	if (rc) {
		packed_free(&packed->base);
		return rc;
	}
	*call->state = &packed->base;
	*ret_packed = packed;
	return 0;
}

/* One product; input 2 is b's. */
static int product(struct native_call *call, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   struct gemm_matrix b, float *c, const struct gemm_finish *finish,
		   struct strata_error *err)
{
	size_t bytes = (size_t)gemm_packed_count(k, n) * sizeof(float);

	if (call->constant && call->constant[1] && call->state) {
		const struct packed *packed = NULL;
		int rc = keep_packed(call, b, k, n, &packed, err);

		if (rc == 0 && packed->at)
			gemm_run(call->team, m, n, k, a, packed->at, c, n, finish);
		else if (rc == 0)
			gemm_run_int8(call->team, m, n, k, a, &packed->int8, c, n, finish);
		return rc;
	}
	if (m <= THIN_ROWS && b.column_step == 1) {
		gemm_run_thin(call->team, m, n, k, a, b.at, b.row_step, c, n, finish);
		return 0;
	}
	float *scratch = native_scratch(call, bytes, err);

	if (!scratch)
		return -ENOMEM;
	gemm_pack(call->team, b, k, n, scratch);
	gemm_run(call->team, m, n, k, a, scratch, c, n, finish);
	engine_heap_put(call->heap, scratch, bytes);
	return 0;
}

/* ---- MatMul ---- */

/* a [… m k] · b [… k n], the leading dimensions stretched to each other; vectors count as one row or column. */
struct matmul {
	int64_t m, n, k;
	size_t rank; /* of the leading dimensions */
	int64_t dims[STRATA_TENSOR_RANK_MAX], count;
	int64_t a_strides[STRATA_TENSOR_RANK_MAX], b_strides[STRATA_TENSOR_RANK_MAX]; /* in matrices */
	size_t out_rank;
	int64_t out[STRATA_TENSOR_RANK_MAX];
};

static int64_t leading(const struct engine_value *value, size_t rank, size_t axis)
{
	size_t own = value->rank > 2 ? value->rank - 2 : 0;

	return axis < rank - own ? 1 : value->dims[axis - (rank - own)];
}

static void set_strides(const struct engine_value *value, const struct matmul *how, int64_t *strides)
{
	int64_t step = 1;

	for (size_t axis = how->rank; axis-- > 0;) {
		int64_t dim = leading(value, how->rank, axis);

		strides[axis] = dim == 1 ? 0 : step;
		step *= dim;
	}
}

static int matmul_shape(struct native_call *call, const struct engine_value *a,
			const struct engine_value *b, struct matmul *ret_how,
			struct strata_error *err)
{
	struct matmul how = { .count = 1 };

	if (a->rank == 0 || b->rank == 0)
		return native_refuse(call, err, "a single number is not a matrix");
	how.m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
	how.k = a->dims[a->rank - 1];
	how.n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
	if (how.k != b->dims[b->rank > 1 ? b->rank - 2 : 0])
		return native_refuse(call, err, "%lld columns do not fit to %lld rows",
				     (long long)how.k,
				     (long long)b->dims[b->rank > 1 ? b->rank - 2 : 0]);
	how.rank = a->rank > b->rank ? a->rank : b->rank;
	how.rank = how.rank > 2 ? how.rank - 2 : 0;
	for (size_t axis = 0; axis < how.rank; axis++) {
		int64_t left = leading(a, how.rank, axis), right = leading(b, how.rank, axis);

		if (left != right && left != 1 && right != 1)
			return native_refuse(call, err,
					     "dimensions %lld and %lld do not fit together",
					     (long long)left, (long long)right);
		how.dims[axis] = left == 1 ? right : left;
		how.count *= how.dims[axis];
		how.out[how.out_rank++] = how.dims[axis];
	}
	set_strides(a, &how, how.a_strides);
	set_strides(b, &how, how.b_strides);
	if (a->rank > 1)
		how.out[how.out_rank++] = how.m;
	if (b->rank > 1)
		how.out[how.out_rank++] = how.n;
	*ret_how = how;
	return 0;
}

static void matmul_at(const struct matmul *how, int64_t index, int64_t *ret_a, int64_t *ret_b)
{
	*ret_a = *ret_b = 0;
	for (size_t axis = how->rank; axis-- > 0; index /= how->dims[axis]) {
		*ret_a += index % how->dims[axis] * how->a_strides[axis];
		*ret_b += index % how->dims[axis] * how->b_strides[axis];
	}
}

/* Many small products, one thread each. */
struct many_work {
	const struct matmul *how;
	const float *a, *b;
	float *c, *scratch; /* scratch: one packed b for each product in a range, used in turn */
	const struct gemm_finish *finish;
};

static void many_part(void *arg, int64_t first, int64_t past)
{
	const struct many_work *work = arg;
	const struct matmul *how = work->how;
	struct engine_team alone = { 1 };
	float *packed = work->scratch + first * gemm_packed_count(how->k, how->n);
	int64_t last_b = -1;

	for (int64_t i = first; i < past; i++) {
		int64_t a, b;

		matmul_at(how, i, &a, &b);
		struct gemm_matrix left = { work->a + a * how->m * how->k, how->k, 1 };
		struct gemm_matrix right = { work->b + b * how->k * how->n, how->n, 1 };

		if (b != last_b)
			gemm_pack(&alone, right, how->k, how->n, packed);
		last_b = b;
		gemm_run(&alone, how->m, how->n, how->k, left, packed,
			 work->c + i * how->m * how->n, how->n, work->finish);
	}
}

static int many_products(struct native_call *call, const struct matmul *how, const float *a,
			 const float *b, float *c, const struct gemm_finish *finish,
			 struct strata_error *err)
{
	size_t bytes =
		(size_t)(gemm_packed_count(how->k, how->n) * how->count) * sizeof(float);
	struct many_work work = { how, a, b, c, native_scratch(call, bytes, err), finish };

	if (!work.scratch)
		return -ENOMEM;
	engine_team_run(call->team, how->count, 1, many_part, &work);
	engine_heap_put(call->heap, work.scratch, bytes);
	return 0;
}

static int matmul_reals(struct native_call *call, const struct engine_value *a,
			const struct engine_value *b, const struct matmul *how,
			const struct gemm_finish *finish, struct strata_error *err)
{
	float *c = call->outputs[0].data;
	int rc = 0;

	if (engine_value_elements(b) == how->k * how->n) { /* one b for all: the rows are one matrix */
		struct gemm_matrix left = { a->data, how->k, 1 }, right = { b->data, how->n, 1 };
		int64_t rows = engine_value_elements(&call->outputs[0]) / (how->n ? how->n : 1);

		return product(call, rows, how->n, how->k, left, right, c, finish, err);
	}
	if (how->count >= call->team->thread_count)
		return many_products(call, how, a->data, b->data, c, finish, err);
	struct native_call fresh = *call;

	fresh.constant = NULL;
	for (int64_t i = 0; rc == 0 && i < how->count; i++) {
		int64_t at_a, at_b;

		matmul_at(how, i, &at_a, &at_b);
		struct gemm_matrix left = { (const float *)a->data + at_a * how->m * how->k, how->k,
					    1 };
		struct gemm_matrix right = { (const float *)b->data + at_b * how->k * how->n,
					     how->n, 1 };

		rc = product(&fresh, how->m, how->n, how->k, left, right,
			     c + i * how->m * how->n, finish, err);
	}
	return rc;
}

#define PLAIN_PRODUCT(type, sum_type)                                                            \
	static void plain_##type(const struct matmul *how, const void *a_any, const void *b_any, \
				 void *c_any)                                                    \
	{                                                                                        \
		for (int64_t i = 0; i < how->count; i++) {                                       \
			int64_t at_a, at_b;                                                      \
			matmul_at(how, i, &at_a, &at_b);                                         \
			const type *a = (const type *)a_any + at_a * how->m * how->k;            \
			const type *b = (const type *)b_any + at_b * how->k * how->n;            \
			type *c = (type *)c_any + i * how->m * how->n;                           \
			for (int64_t r = 0; r < how->m; r++)                                     \
				for (int64_t j = 0; j < how->n; j++) {                           \
					sum_type sum = 0;                                        \
					for (int64_t k = 0; k < how->k; k++)                     \
						sum += (sum_type)a[r * how->k + k] *             \
						       (sum_type)b[k * how->n + j];              \
					c[r * how->n + j] = (type)sum;                           \
				}                                                                \
		}                                                                                \
	}
PLAIN_PRODUCT(double, double)
PLAIN_PRODUCT(int32_t, uint32_t)
PLAIN_PRODUCT(int64_t, uint64_t)

int native_matmul(struct native_call *call, const struct gemm_finish *finish,
		  struct strata_error *err)
{
	const struct engine_value *a, *b;
	struct matmul how;
	int rc = native_tensor(call, 0, &a, err);

	if (rc == 0)
		rc = native_typed(call, 1, a->dtype, &b, err);
	if (rc == 0)
		rc = matmul_shape(call, a, b, &how, err);
	if (rc == 0)
		rc = native_make(call, 0, a->dtype, how.out_rank, how.out, err);
	if (rc)
		return rc;
	switch (a->dtype) {
	case ONNX_FLOAT:
		return matmul_reals(call, a, b, &how, finish, err);
	case ONNX_DOUBLE:
		plain_double(&how, a->data, b->data, call->outputs[0].data);
		return 0;
	case ONNX_INT32:
	case ONNX_UINT32:
		plain_int32_t(&how, a->data, b->data, call->outputs[0].data);
		return 0;
	case ONNX_INT64:
	case ONNX_UINT64:
		plain_int64_t(&how, a->data, b->data, call->outputs[0].data);
		return 0;
	default:
		return native_refuse(call, err, "it does not take %s", engine_dtype_name(a->dtype));
	}
}

static int run_matmul(struct native_call *call, struct strata_error *err)
{
	return native_matmul(call, NULL, err);
}

/* ---- Gemm: alpha · a · b + beta · c ---- */

struct gemm_op {
	int64_t m, n, k;
	struct gemm_matrix a, b;
};

static int gemm_shape(struct native_call *call, const struct engine_value *a,
		      const struct engine_value *b, struct gemm_op *ret_how,
		      struct strata_error *err)
{
	bool turn_a = native_int(call, "transA", 0), turn_b = native_int(call, "transB", 0);

	if (a->rank != 2 || b->rank != 2)
		return native_refuse(call, err, "inputs have %u and %u dimensions; expected 2",
				     a->rank, b->rank);
	struct gemm_op how = { a->dims[turn_a ? 1 : 0], b->dims[turn_b ? 0 : 1],
			       a->dims[turn_a ? 0 : 1] };

	if (b->dims[turn_b ? 1 : 0] != how.k)
		return native_refuse(call, err, "%lld columns do not fit to %lld rows",
				     (long long)how.k, (long long)b->dims[turn_b ? 1 : 0]);
	how.a = (struct gemm_matrix){ a->data, turn_a ? 1 : a->dims[1], turn_a ? a->dims[1] : 1 };
	how.b = (struct gemm_matrix){ b->data, turn_b ? 1 : b->dims[1], turn_b ? b->dims[1] : 1 };
	*ret_how = how;
	return 0;
}

/* Adds beta · c, stretched. */
static int add_stretched(struct native_call *call, const struct engine_value *c, float beta,
			 struct strata_error *err)
{
	struct engine_value *output = &call->outputs[0];
	const struct engine_value *both[2] = { output, c };
	int64_t dims[STRATA_TENSOR_RANK_MAX], offsets[NATIVE_WALK_MAX];
	struct native_walk walk;
	size_t rank;
	int rc = native_broadcast(call, both, 2, &rank, dims, err);

	if (rc)
		return rc;
	if (rank != 2 || dims[0] != output->dims[0] || dims[1] != output->dims[1])
		return native_refuse(call, err, "input 3 does not fit to the product");
	native_walk_init(&walk, rank, dims, both, 2);
	for (int64_t i = 0; i < walk.runs; i++) {
		native_walk_at(&walk, i, offsets);
		float *to = (float *)output->data + offsets[0];
		const float *from = (const float *)c->data + offsets[1];
		int64_t step = walk.rank ? walk.strides[1][0] : 1;

		for (int64_t k = 0; k < walk.run; k++)
			to[k] += beta * from[k * step];
	}
	return 0;
}

/* Of float64 and integers, plainly: whole numbers wrap, and alpha and beta that are none are refused. */
#define OTHER_GEMM(type, sum_type, alpha_value, beta_value)                                         \
	for (int64_t i = 0; i < how.m * how.n; i++) {                                               \
		int64_t r = i / how.n, j = i % how.n, at = 0;                                       \
		sum_type sum = 0;                                                                   \
		for (int64_t k = 0; k < how.k; k++)                                                 \
			sum += (sum_type)((const type *)a->data)[r * how.a.row_step +               \
								 k * how.a.column_step] *           \
			       (sum_type)((const type *)b->data)[k * how.b.row_step +               \
								 j * how.b.column_step];            \
		sum *= (sum_type)(alpha_value);                                                     \
		if (c) {                                                                            \
			at = (rows > 1 ? r * columns : 0) + (columns > 1 ? j : 0);                  \
			sum += (sum_type)(beta_value) * (sum_type)((const type *)c->data)[at];      \
		}                                                                                   \
		((type *)call->outputs[0].data)[i] = (type)sum;                                     \
	}

static int gemm_other(struct native_call *call, const struct engine_value *a,
		      const struct engine_value *b, const struct engine_value *c,
		      struct strata_error *err)
{
	double alpha = native_real(call, "alpha", 1), beta = native_real(call, "beta", 1);
	struct gemm_op how = { 0 };
	int rc = gemm_shape(call, a, b, &how, err);
	int64_t columns = c && c->rank > 0 ? c->dims[c->rank - 1] : 1;
	int64_t rows = c && c->rank > 1 ? c->dims[c->rank - 2] : 1;

	if (rc == 0 && c &&
	    (c->rank > 2 || (rows != 1 && rows != how.m) || (columns != 1 && columns != how.n)))
		rc = native_refuse(call, err, "input 3 does not fit to the product");
	if (rc == 0 && a->dtype != ONNX_DOUBLE &&
	    (alpha != floor(alpha) || beta != floor(beta) || fabs(alpha) > 1e9 || fabs(beta) > 1e9))
		rc = native_lacks(call, err, "alpha and beta of whole numbers are to be whole");
	if (rc == 0)
		rc = native_make(call, 0, a->dtype, 2, (int64_t[]){ how.m, how.n }, err);
	if (rc)
		return rc;
	switch (a->dtype) {
	case ONNX_DOUBLE:
		OTHER_GEMM(double, double, alpha, beta)
		return 0;
	case ONNX_INT32:
	case ONNX_UINT32:
		OTHER_GEMM(uint32_t, uint32_t, (int64_t)alpha, (int64_t)beta)
		return 0;
	case ONNX_INT64:
	case ONNX_UINT64:
		OTHER_GEMM(uint64_t, uint64_t, (int64_t)alpha, (int64_t)beta)
		return 0;
	default:
		return native_refuse(call, err, "it does not take %s", engine_dtype_name(a->dtype));
	}
}

static int run_gemm(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *a, *b, *c = native_input(call, 2);
	struct gemm_op how = { 0 };
	int rc = native_tensor(call, 0, &a, err);

	if (rc == 0)
		rc = native_typed(call, 1, a->dtype, &b, err);
	if (rc == 0 && c)
		rc = native_typed(call, 2, a->dtype, &c, err);
	if (rc)
		return rc;
	if (a->dtype != ONNX_FLOAT)
		return gemm_other(call, a, b, c, err);
	rc = gemm_shape(call, a, b, &how, err);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, 2, (int64_t[]){ how.m, how.n }, err);
	if (rc)
		return rc;
	float beta = (float)native_real(call, "beta", 1);
	struct gemm_finish finish = { .scale = (float)native_real(call, "alpha", 1) };
	bool by_column = c && beta == 1 && engine_value_elements(c) == how.n &&
			 c->rank > 0 && c->dims[c->rank - 1] == how.n;

	finish.bias = by_column ? c->data : NULL;
	rc = product(call, how.m, how.n, how.k, how.a, how.b, call->outputs[0].data, &finish, err);
	return rc == 0 && c && !by_column ? add_stretched(call, c, beta, err) : rc;
}

static const struct native_op ops[] = {
	{ "Gemm", run_gemm },
	{ "MatMul", run_matmul },
};

const struct native_family native_family_matrix = { "matrix products", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
