/* Matrix products in all their forms, recurrent layers, and transforms: where the multiplications are. */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

/* ---- MatMul ---- */

static int matmul_shape(struct onnx_call *call, const struct onnx_value *a,
			const struct onnx_value *b, int dtype, struct strata_error *err)
{
	struct onnx_value *to = onnx_output(call, 0);
	struct onnx_value x = { .kind = ONNX_TENSOR, .ranked = true, .length = -1 }, y = x;
	int64_t inner;

	onnx_set_type(to, dtype);
	if (!a || !b || !a->ranked || !b->ranked)
		return 0;
	if (a->rank == 0 || b->rank == 0)
		return onnx_clash(call, err, "a scalar is no matrix");
	int64_t k_a = a->dims[a->rank - 1], k_b = b->dims[b->rank == 1 ? 0 : b->rank - 2];

	if (!onnx_merge_dim(k_a, k_b, &inner))
		return onnx_clash(call, err, "%lld columns meet %lld rows", (long long)k_a,
				  (long long)k_b);
	x.rank = a->rank > 2 ? a->rank - 2 : 0;
	y.rank = b->rank > 2 ? b->rank - 2 : 0;
	memcpy(x.dims, a->dims, x.rank * sizeof(*x.dims));
	memcpy(y.dims, b->dims, y.rank * sizeof(*y.dims));
	int rc = onnx_broadcast(call, &x, &y, to, err);

	if (rc)
		return rc;
	if (a->rank > 1)
		to->dims[to->rank++] = a->dims[a->rank - 2];
	if (b->rank > 1)
		to->dims[to->rank++] = b->dims[b->rank - 1];
	return 0;
}

static int shape_matmul(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *a = onnx_input(call, 0), *b = onnx_input(call, 1);

	return matmul_shape(call, a, b, a ? a->dtype : ONNX_NONE, err);
}

static int shape_matmul_integer(struct onnx_call *call, struct strata_error *err)
{
	return matmul_shape(call, onnx_input(call, 0), onnx_input(call, 1), ONNX_INT32, err);
}

static int shape_qlinear_matmul(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *zero = onnx_input(call, 7);

	return matmul_shape(call, onnx_input(call, 0), onnx_input(call, 3),
			    zero ? zero->dtype : ONNX_NONE, err);
}

/* Each element of the result is a sum over the common dimension. */
static double matmul_flops(const struct onnx_call *call)
{
	const struct onnx_value *a = onnx_input(call, 0);

	return a->rank ? 2.0 * (double)onnx_elements(&call->outputs[0]) *
				 (double)a->dims[a->rank - 1]
		       : 0;
}

static int shape_gemm(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *a = onnx_input(call, 0), *b = onnx_input(call, 1);
	bool trans_a = onnx_call_int(call, "transA", 0) != 0;
	bool trans_b = onnx_call_int(call, "transB", 0) != 0;
	struct onnx_value *to = onnx_output(call, 0);
	int64_t inner;

	onnx_set_rank(to, a ? a->dtype : ONNX_NONE, 2);
	if (!a || !b || !a->ranked || !b->ranked)
		return 0;
	if (a->rank != 2 || b->rank != 2)
		return onnx_clash(call, err, "%zu and %zu dimensions; expected matrices", a->rank,
				  b->rank);
	if (!onnx_merge_dim(a->dims[!trans_a], b->dims[trans_b], &inner))
		return onnx_clash(call, err, "%lld columns meet %lld rows",
				  (long long)a->dims[!trans_a], (long long)b->dims[trans_b]);
	to->dims[0] = a->dims[trans_a];
	to->dims[1] = b->dims[!trans_b];
	return 0;
}

static double gemm_flops(const struct onnx_call *call)
{
	const struct onnx_value *a = onnx_input(call, 0);
	bool trans_a = onnx_call_int(call, "transA", 0) != 0;

	return 2.0 * (double)onnx_elements(&call->outputs[0]) * (double)a->dims[!trans_a];
}

/* ---- Einsum ---- */

enum { LETTERS = 128 };

struct einsum {
	int64_t dims[LETTERS];                /* by letter; INT64_MIN: not seen */
	int64_t dots[STRATA_TENSOR_RANK_MAX]; /* of the ellipsis, from the right */
	size_t dot_rank;
	unsigned seen[LETTERS];
};

static bool einsum_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The dimensions of the ellipsis, aligned at the right. */
static bool einsum_dots(struct einsum *sum, const struct onnx_value *value, size_t first,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t from_right = count - 1 - i;

		if (from_right >= sum->dot_rank)
			sum->dots[from_right] = value->dims[first + i];
		else if (!onnx_broadcast_dim(sum->dots[from_right], value->dims[first + i],
					     &sum->dots[from_right]))
			return false;
	}
	if (count > sum->dot_rank)
		sum->dot_rank = count;
	return true;
}

/* One operand's letters: text up to `end`. */
static bool einsum_term(struct einsum *sum, const char *text, const char *end,
			const struct onnx_value *value)
{
	size_t letters = 0, at = 0;

	for (const char *c = text; c < end; c++)
		letters += einsum_letter(*c);
	for (const char *c = text; c < end; c++) {
		if (einsum_letter(*c)) {
			int64_t *dim = &sum->dims[(unsigned char)*c];

			if (at >= value->rank)
				return false;
			if (!sum->seen[(unsigned char)*c]++)
				*dim = value->dims[at];
			else if (!onnx_broadcast_dim(*dim, value->dims[at], dim))
				return false;
			at++;
		} else if (*c == '.') {
			if (end - c < 3 || letters > value->rank)
				return false;
			if (!einsum_dots(sum, value, at, value->rank - letters))
				return false;
			at += value->rank - letters;
			c += 2;
		} else if (*c != ' ') {
			return false;
		}
	}
	return at == value->rank;
}

static bool einsum_put(struct onnx_value *to, int64_t dim)
{
	if (to->rank == STRATA_TENSOR_RANK_MAX)
		return false;
	to->dims[to->rank++] = dim;
	return true;
}

/* Without "->": the ellipsis, then the letters seen once, in order. */
static bool einsum_result(const struct einsum *sum, const char *text, struct onnx_value *to)
{
	bool fits = true;

	to->rank = 0;
	for (size_t i = sum->dot_rank; !text && i-- > 0;)
		fits &= einsum_put(to, sum->dots[i]);
	for (size_t c = 0; !text && c < LETTERS; c++)
		if (sum->seen[c] == 1)
			fits &= einsum_put(to, sum->dims[c]);
	for (; text && *text; text++)
		if (einsum_letter(*text) && sum->seen[(unsigned char)*text]) {
			fits &= einsum_put(to, sum->dims[(unsigned char)*text]);
		} else if (text[0] == '.' && text[1] == '.' && text[2] == '.') {
			for (size_t i = sum->dot_rank; i-- > 0;)
				fits &= einsum_put(to, sum->dots[i]);
			text += 2;
		} else if (*text != ' ') {
			return false;
		}
	return fits;
}

static bool einsum_read(const struct onnx_call *call, struct einsum *sum, const char **ret_result)
{
	const char *text = onnx_call_text(call, "equation", ""), *arrow = strstr(text, "->");
	const char *stop = arrow ? arrow : text + strlen(text);

	*ret_result = arrow ? arrow + 2 : NULL;
	for (size_t i = 0; i < call->input_count; i++) {
		const struct onnx_value *value = onnx_input(call, i);
		const char *end = memchr(text, ',', (size_t)(stop - text));

		end = end ? end : stop;
		if (!value || !einsum_term(sum, text, end, value))
			return false;
		text = end < stop ? end + 1 : stop;
	}
	return text == stop;
}

static int shape_einsum(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *to = onnx_output(call, 0);
	struct einsum sum = { .dot_rank = 0 };
	const char *result;

	if (!onnx_input(call, 0))
		return 0;
	onnx_set_type(to, onnx_input(call, 0)->dtype);
	for (size_t i = 0; i < call->input_count; i++)
		if (!onnx_input(call, i) || !onnx_input(call, i)->ranked)
			return 0;
	if (!einsum_read(call, &sum, &result))
		return onnx_clash(call, err, "the operands do not fit the equation");
	onnx_set_rank(to, to->dtype, 0);
	if (!einsum_result(&sum, result, to))
		return onnx_clash(call, err, "the result does not fit the equation");
	return 0;
}

/* Of two operands: a multiplication for every choice of all letters. With one there are only sums. */
static double einsum_flops(const struct onnx_call *call)
{
	struct einsum sum = { .dot_rank = 0 };
	const char *result;
	double flops = 2;

	if (call->input_count < 2 || !einsum_read(call, &sum, &result))
		return 0;
	for (size_t c = 0; c < LETTERS; c++)
		if (sum.seen[c])
			flops *= (double)sum.dims[c];
	for (size_t i = 0; i < sum.dot_rank; i++)
		flops *= (double)sum.dots[i];
	return flops;
}

static int shape_det(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(onnx_output(call, 0), from->dtype);
	if (!from->ranked)
		return 0;
	if (from->rank < 2)
		return onnx_clash(call, err, "%zu dimensions; expected matrices", from->rank);
	onnx_set_shape(onnx_output(call, 0), from->dtype, from->rank - 2, from->dims);
	return 0;
}

/* ---- recurrent layers ---- */

static int shape_recurrent(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0), *r = onnx_input(call, 2);
	int64_t hidden = onnx_call_int(call, "hidden_size", -1);
	int64_t ways =
		strcmp(onnx_call_text(call, "direction", "forward"), "bidirectional") == 0 ? 2 : 1;
	bool batch_first = onnx_call_int(call, "layout", 0) != 0;

	if (!x || x->kind != ONNX_TENSOR)
		return 0;
	if (hidden < 0)
		hidden = r && r->ranked && r->rank == 3 ? r->dims[2] : -1;
	int64_t steps = -1, batch = -1;

	if (x->ranked && x->rank != 3)
		return onnx_clash(call, err, "%zu dimensions; expected steps, batch, inputs",
				  x->rank);
	if (x->ranked) {
		steps = x->dims[batch_first];
		batch = x->dims[!batch_first];
	}
	const int64_t all[] = { steps, ways, batch, hidden }, last[] = { ways, batch, hidden };
	const int64_t all_first[] = { batch, steps, ways, hidden };
	const int64_t last_first[] = { batch, ways, hidden };

	onnx_set_shape(onnx_output(call, 0), x->dtype, 4, batch_first ? all_first : all);
	onnx_set_shape(onnx_output(call, 1), x->dtype, 3, batch_first ? last_first : last);
	if (call->output_count > 2)
		onnx_set_shape(&call->outputs[2], x->dtype, 3, batch_first ? last_first : last);
	return 0;
}

/* Per step and element of the batch: inputs and state, each through its matrix of gates × hidden rows. */
static double recurrent_flops(const struct onnx_call *call)
{
	const struct onnx_value *x = onnx_input(call, 0), *w = onnx_input(call, 1),
				*r = onnx_input(call, 2);

	if (!w || !r || !x->rank || w->rank != 3 || r->rank != 3)
		return 0;
	double places = (double)onnx_elements(x) / (double)(x->dims[2] > 0 ? x->dims[2] : 1);

	return 2 * places * ((double)onnx_elements(w) + (double)onnx_elements(r));
}

/* ---- transforms ---- */

static int shape_dft(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *length = onnx_input(call, 1);
	const struct onnx_value *axis_value = onnx_input(call, 2);
	bool one_sided = onnx_call_int(call, "onesided", 0) != 0;
	struct onnx_value *to = onnx_output(call, 0);
	int64_t wanted = onnx_call_int(call, "axis", onnx_opset(call) >= 20 ? -2 : 1);
	size_t axis;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked || (axis_value && !axis_value->integers))
		return 0;
	if (axis_value && onnx_elements(axis_value) == 1)
		wanted = axis_value->integers[0];
	if (from->rank < 2 || !onnx_axis(wanted, from->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	if (length)
		to->dims[axis] = length->integers ? onnx_element_dim(length, 0) : -1;
	if (one_sided && to->dims[axis] >= 0)
		to->dims[axis] = to->dims[axis] / 2 + 1;
	to->dims[to->rank - 1] = 2;
	return 0;
}

static int shape_stft(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *signal = onnx_input(call, 0), *step = onnx_input(call, 1);
	const struct onnx_value *window = onnx_input(call, 2), *length = onnx_input(call, 3);
	struct onnx_value *to = onnx_output(call, 0);
	int64_t frame = -1;

	(void)err;
	if (!signal || signal->kind != ONNX_TENSOR)
		return 0;
	onnx_set_rank(to, signal->dtype, 4);
	to->dims[3] = 2;
	if (!signal->ranked || signal->rank < 2)
		return 0;
	to->dims[0] = signal->dims[0];
	if (length && length->integers && onnx_elements(length) == 1)
		frame = onnx_element_dim(length, 0);
	else if (window && window->ranked && window->rank == 1)
		frame = window->dims[0];
	if (frame < 0)
		return 0;
	to->dims[2] = onnx_call_int(call, "onesided", 1) ? frame / 2 + 1 : frame;
	if (step && step->integers && onnx_elements(step) == 1 && step->integers[0] > 0 &&
	    signal->dims[1] >= frame)
		to->dims[1] = (signal->dims[1] - frame) / step->integers[0] + 1;
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "DFT", shape_dft },
	{ "Det", shape_det },
	{ "Einsum", shape_einsum, .flops = einsum_flops },
	{ "GRU", shape_recurrent, .flops = recurrent_flops },
	{ "Gemm", shape_gemm, .flops = gemm_flops },
	{ "LSTM", shape_recurrent, .flops = recurrent_flops },
	{ "MatMul", shape_matmul, .flops = matmul_flops },
	{ "MatMulInteger", shape_matmul_integer, .flops = matmul_flops },
	{ "QLinearMatMul", shape_qlinear_matmul, .flops = matmul_flops },
	{ "RNN", shape_recurrent, .flops = recurrent_flops },
	{ "STFT", shape_stft },
};
/* clang-format on */

const struct onnx_family onnx_family_matrix = { "matrix products", "", ops,
						sizeof(ops) / sizeof(ops[0]) };
