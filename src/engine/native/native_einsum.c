/*
 * Einsum, and Det. An equation becomes labels with a step in each operand and in the result. Two float32 operands whose labels fall into one row, one
 * column and one sum go through gemm.h, matrix by matrix; all others through plain loops in double (or 64-bit integers).
 */
#include "engine/native/native.h"

#include "engine/native/gemm.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { LETTERS = 52, LABELS = LETTERS + STRATA_TENSOR_RANK_MAX, OPERANDS = 4, RESULT = OPERANDS };

struct label {
	bool used, out;
	int64_t dim;
	int64_t steps[OPERANDS + 1]; /* in elements of each operand, and of the result */
	bool in[OPERANDS];
	unsigned times; /* how often it is in the operands */
};

struct einsum {
	size_t operands;
	size_t spread; /* dimensions of the widest ellipsis */
	struct label labels[LABELS];
	uint8_t out[STRATA_TENSOR_RANK_MAX], summed[LABELS]; /* labels in order */
	size_t out_count, summed_count;
};

static int letter(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

/* ---- reading the equation ---- */

/* Labels of one term (letters and at most one ellipsis) for `rank` dimensions; ellipsis dimensions are counted from their end. */
static int read_term(struct native_call *call, const char *from, const char *to, size_t rank,
		     size_t spread, uint8_t *ret_labels, struct strata_error *err)
{
	size_t letters = 0, at = 0;
	bool dots = false;

	for (const char *c = from; c < to; c++)
		letters += letter(*c) >= 0;
	if (letters > rank)
		return native_refuse(call, err, "a term has %zu letters for %zu dimensions",
				     letters, rank);
	for (const char *c = from; c < to; c++) {
		if (isspace((unsigned char)*c))
			continue;
		if (letter(*c) >= 0) {
			ret_labels[at++] = (uint8_t)letter(*c);
			continue;
		}
		if (dots || to - c < 3 || strncmp(c, "...", 3) != 0)
			return native_refuse(call, err, "the equation has '%c'", *c);
		size_t own = rank - letters;

		for (size_t i = 0; i < own && at < STRATA_TENSOR_RANK_MAX; i++)
			ret_labels[at++] = (uint8_t)(LETTERS + spread - own + i);
		dots = true;
		c += 2;
	}
	if (at != rank)
		return native_refuse(call, err, "a term has %zu labels for %zu dimensions", at,
				     rank);
	return 0;
}

static int add_operand(struct native_call *call, struct einsum *how, size_t index,
		       const uint8_t *labels, struct strata_error *err)
{
	const struct engine_value *x = call->inputs[index];
	int64_t step = 1;

	for (size_t i = x->rank; i-- > 0; step *= x->dims[i]) {
		struct label *label = &how->labels[labels[i]];

		if (label->used && label->dim != x->dims[i] && label->dim != 1 && x->dims[i] != 1)
			return native_refuse(call, err,
					     "dimensions %lld and %lld do not fit together",
					     (long long)label->dim, (long long)x->dims[i]);
		label->dim = !label->used || label->dim == 1 ? x->dims[i] : label->dim;
		label->used = label->in[index] = true;
		label->times++;
		label->steps[index] += x->dims[i] == 1 ? 0 : step;
	}
	return 0;
}

/* How many dimensions the ellipsis of a term stands for. */
static size_t spread_of(const char *from, const char *to, size_t rank)
{
	size_t letters = 0;
	bool dots = false;

	for (const char *c = from; c < to; c++) {
		letters += letter(*c) >= 0;
		dots |= *c == '.';
	}
	return dots && rank > letters ? rank - letters : 0;
}

static int read_operands(struct native_call *call, struct einsum *how, const char *equation,
			 const char *end, struct strata_error *err)
{
	uint8_t labels[STRATA_TENSOR_RANK_MAX];
	const char *from;
	int rc = 0;

	for (int pass = 0; pass < 2; pass++) {
		from = equation;
		for (size_t i = 0; rc == 0 && i < how->operands; i++) {
			const char *comma = memchr(from, ',', (size_t)(end - from));
			const char *to = comma ? comma : end;
			size_t rank = call->inputs[i]->rank, spread = spread_of(from, to, rank);

			if ((comma == NULL) != (i + 1 == how->operands))
				return native_refuse(call, err,
						     "the equation is not for %zu inputs",
						     how->operands);
			if (pass == 0) {
				how->spread = spread > how->spread ? spread : how->spread;
			} else {
				rc = read_term(call, from, to, rank, how->spread, labels, err);
				if (rc == 0)
					rc = add_operand(call, how, i, labels, err);
			}
			from = comma ? comma + 1 : end;
		}
	}
	return rc;
}

static int add_out(struct native_call *call, struct einsum *how, size_t label,
		   struct strata_error *err)
{
	if (!how->labels[label].used || how->labels[label].out ||
	    how->out_count == STRATA_TENSOR_RANK_MAX)
		return native_refuse(call, err, "the result's term does not fit to the inputs'");
	how->labels[label].out = true;
	how->out[how->out_count++] = (uint8_t)label;
	return 0;
}

static int read_result(struct native_call *call, struct einsum *how, const char *arrow,
		       struct strata_error *err)
{
	int rc = 0;

	if (!arrow) { /* the ellipsis, then letters that occur once, by their names */
		for (size_t i = 0; rc == 0 && i < how->spread; i++)
			rc = add_out(call, how, LETTERS + i, err);
		for (size_t i = 0; rc == 0 && i < LETTERS; i++)
			if (how->labels[i].times == 1)
				rc = add_out(call, how, i, err);
		return rc;
	}
	for (const char *c = arrow + 2; rc == 0 && *c; c++) {
		if (isspace((unsigned char)*c))
			continue;
		if (letter(*c) >= 0) {
			rc = add_out(call, how, (size_t)letter(*c), err);
		} else if (strncmp(c, "...", 3) == 0) {
			for (size_t i = 0; rc == 0 && i < how->spread; i++)
				rc = add_out(call, how, LETTERS + i, err);
			c += 2;
		} else {
			rc = native_refuse(call, err, "the equation has '%c'", *c);
		}
	}
	return rc;
}

static int read_equation(struct native_call *call, struct einsum *how, struct strata_error *err)
{
	const char *equation = native_text(call, "equation", "");
	const char *arrow = strstr(equation, "->");
	const char *end = arrow ? arrow : equation + strlen(equation);
	int rc = read_operands(call, how, equation, end, err);

	if (rc == 0)
		rc = read_result(call, how, arrow, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < LABELS; i++)
		if (how->labels[i].used && !how->labels[i].out)
			how->summed[how->summed_count++] = (uint8_t)i;
	return 0;
}

/* ---- plain loops ---- */

/* Offsets of all operands at a place among the given labels. */
static void offsets_at(const struct einsum *how, const uint8_t *labels, size_t count, int64_t place,
		       int64_t *ret)
{
	memset(ret, 0, (OPERANDS + 1) * sizeof(*ret));
	for (size_t i = count; i-- > 0;) {
		const struct label *label = &how->labels[labels[i]];
		int64_t at = place % label->dim;

		place /= label->dim;
		for (size_t k = 0; k <= OPERANDS; k++)
			ret[k] += at * label->steps[k];
	}
}

static int64_t places(const struct einsum *how, const uint8_t *labels, size_t count)
{
	int64_t product = 1;

	for (size_t i = 0; i < count; i++)
		product *= how->labels[labels[i]].dim;
	return product;
}

#define PLAIN(type)                                                                             \
	for (int64_t o = 0; o < outs; o++) {                                                    \
		type sum = 0;                                                                   \
		offsets_at(how, how->out, how->out_count, o, base);                             \
		for (int64_t s = 0; s < sums; s++) {                                            \
			type product = 1;                                                       \
			offsets_at(how, how->summed, how->summed_count, s, more);               \
			for (size_t k = 0; k < how->operands; k++)                              \
				product *= ((const type *)operands[k].data)[base[k] + more[k]]; \
			sum += product;                                                         \
		}                                                                               \
		((type *)result.data)[o] = sum;                                                 \
	}

static int run_plain(struct native_call *call, const struct einsum *how, const int64_t *dims,
		     struct strata_error *err)
{
	int dtype = call->inputs[0]->dtype;
	bool real = dtype == ONNX_FLOAT || dtype == ONNX_DOUBLE;
	struct engine_value operands[OPERANDS] = { 0 }, result = { 0 };
	int64_t outs = places(how, how->out, how->out_count), base[OPERANDS + 1];
	int64_t sums = places(how, how->summed, how->summed_count), more[OPERANDS + 1];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < how->operands; i++)
		rc = engine_value_cast(call->heap, call->inputs[i], real ? ONNX_DOUBLE : ONNX_INT64,
				       &operands[i], err);
	if (rc == 0)
		rc = engine_value_make(call->heap, real ? ONNX_DOUBLE : ONNX_INT64, how->out_count,
				       dims, &result, err);
	if (rc == 0 && real)
		PLAIN(double)
	else if (rc == 0)
		PLAIN(uint64_t)
	if (rc == 0)
		rc = engine_value_cast(call->heap, &result, dtype, &call->outputs[0], err);
	engine_value_drop(&result);
	for (size_t i = 0; i < how->operands; i++)
		engine_value_drop(&operands[i]);
	return rc;
}

/* ---- by matrix products ---- */

/* Labels of one role, joined to one dimension. */
struct joined {
	int64_t dim;
	int64_t steps[OPERANDS + 1];
	bool any;
};

struct product {
	struct joined rows, columns, sum; /* of operand 1, of operand 2, of both */
	uint8_t batch[STRATA_TENSOR_RANK_MAX];
	size_t batch_count;
};

/* Adds a label inside those that are there; false when they are not stepped through as one. */
static bool join(struct joined *joined, const struct label *label)
{
	if (label->dim == 1)
		return true;
	for (size_t k = 0; k <= OPERANDS && joined->any; k++)
		if (joined->steps[k] != label->steps[k] * label->dim)
			return false;
	memcpy(joined->steps, label->steps, sizeof(joined->steps));
	joined->dim *= label->dim;
	joined->any = true;
	return true;
}

static bool as_product(const struct einsum *how, struct product *ret)
{
	struct product product = { .rows.dim = 1, .columns.dim = 1, .sum.dim = 1 };

	for (size_t i = 0; i < how->out_count; i++) {
		const struct label *label = &how->labels[how->out[i]];

		if (label->in[0] && label->in[1])
			product.batch[product.batch_count++] = how->out[i];
		else if (!join(label->in[0] ? &product.rows : &product.columns, label))
			return false;
	}
	for (size_t i = 0; i < how->summed_count; i++) {
		const struct label *label = &how->labels[how->summed[i]];

		if (!label->in[0] || !label->in[1] || !join(&product.sum, label))
			return false;
	}
	*ret = product;
	return product.columns.dim == 1 || product.columns.steps[RESULT] == 1;
}

static int run_product(struct native_call *call, const struct einsum *how,
		       const struct product *product, struct strata_error *err)
{
	int64_t m = product->rows.dim, n = product->columns.dim, k = product->sum.dim;
	int64_t count = places(how, product->batch, product->batch_count), at[OPERANDS + 1];
	size_t bytes = (size_t)gemm_packed_count(k, n) * sizeof(float);
	float *packed = native_scratch(call, bytes, err);

	if (!packed)
		return -ENOMEM;
	for (int64_t i = 0; i < count; i++) {
		offsets_at(how, product->batch, product->batch_count, i, at);
		struct gemm_matrix a = { (const float *)call->inputs[0]->data + at[0],
					 product->rows.steps[0], product->sum.steps[0] };
		struct gemm_matrix b = { (const float *)call->inputs[1]->data + at[1],
					 product->sum.steps[1], product->columns.steps[1] };

		gemm_pack(call->team, b, k, n, packed);
		gemm_run(call->team, m, n, k, a, packed,
			 (float *)call->outputs[0].data + at[RESULT],
			 product->rows.any ? product->rows.steps[RESULT] : n, NULL);
	}
	engine_heap_put(call->heap, packed, bytes);
	return 0;
}

static int check_operands(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *first, *next;
	int rc = native_tensor(call, 0, &first, err);

	if (rc == 0 && (call->input_count > OPERANDS || first->dtype == ONNX_STRING ||
			first->dtype == ONNX_BOOL))
		rc = native_lacks(call, err, "it is built for up to %d inputs of numbers",
				  OPERANDS);
	for (size_t i = 1; rc == 0 && i < call->input_count; i++)
		rc = native_typed(call, i, first->dtype, &next, err);
	return rc;
}

static int run_einsum(struct native_call *call, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], step = 1;
	struct einsum how = { .operands = call->input_count };
	struct product product;
	bool empty = false;
	int rc = check_operands(call, err);

	if (rc == 0)
		rc = read_equation(call, &how, err);
	if (rc)
		return rc;
	for (size_t i = how.out_count; i-- > 0; step *= dims[i]) {
		dims[i] = how.labels[how.out[i]].dim;
		how.labels[how.out[i]].steps[RESULT] = step;
	}
	for (size_t i = 0; i < how.operands; i++)
		empty |= engine_value_elements(call->inputs[i]) == 0;
	if (empty) {
		rc = native_make(call, 0, call->inputs[0]->dtype, how.out_count, dims, err);
		if (rc == 0)
			memset(call->outputs[0].data, 0, engine_value_bytes(&call->outputs[0]));
		return rc;
	}
	if (how.operands == 2 && call->inputs[0]->dtype == ONNX_FLOAT &&
	    as_product(&how, &product)) {
		rc = native_make(call, 0, ONNX_FLOAT, how.out_count, dims, err);
		return rc ? rc : run_product(call, &how, &product, err);
	}
	return run_plain(call, &how, dims, err);
}

/* ---- Det ---- */

/* By elimination with the largest pivot, in place. */
static double determinant(double *a, int64_t n)
{
	double result = 1;

	for (int64_t c = 0; c < n; c++) {
		int64_t best = c;

		for (int64_t r = c + 1; r < n; r++)
			if (fabs(a[r * n + c]) > fabs(a[best * n + c]))
				best = r;
		double pivot = a[best * n + c];

		if (pivot == 0)
			return 0;
		if (best != c)
			for (int64_t k = c; k < n; k++) {
				double swap = a[c * n + k];

				a[c * n + k] = a[best * n + k];
				a[best * n + k] = swap;
			}
		result *= best == c ? pivot : -pivot;
		for (int64_t r = c + 1; r < n; r++) {
			double factor = a[r * n + c] / pivot;

			for (int64_t k = c; k < n; k++)
				a[r * n + k] -= factor * a[c * n + k];
		}
	}
	return result;
}

static int run_det(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2]))
		rc = native_refuse(call, err, "input 1 is not a square matrix");
	if (rc == 0 && x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE)
		rc = native_refuse(call, err, "input 1 is %s; expected float32",
				   engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = native_make(call, 0, x->dtype, x->rank - 2, x->dims, err);
	if (rc)
		return rc;
	int64_t n = x->dims[x->rank - 1], count = engine_value_elements(&call->outputs[0]);
	size_t bytes = (size_t)(n * n) * sizeof(double);
	double *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	for (int64_t i = 0; i < count; i++) {
		for (int64_t k = 0; k < n * n; k++)
			room[k] = x->dtype == ONNX_FLOAT ? ((const float *)x->data)[i * n * n + k]
							 : ((const double *)x->data)[i * n * n + k];
		double result = determinant(room, n);

		if (x->dtype == ONNX_FLOAT)
			((float *)call->outputs[0].data)[i] = (float)result;
		else
			((double *)call->outputs[0].data)[i] = result;
	}
	engine_heap_put(call->heap, room, bytes);
	return 0;
}

static const struct native_op ops[] = {
	{ "Det", run_det },
	{ "Einsum", run_einsum },
};

const struct native_family native_family_einsum = { "sums by labels", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
