/*
 * A row by a kernel. Where the row has a loop of its own that is one call, straight on the caller's tensors. All else goes in
 * blocks of float32 that stay in the first cache: what is left over at the end of a range is filled up to a vector there, and a
 * row without a loop of its own is added up there, one sum after the other.
 */
#include "solver/kernel.h"

#include <string.h>

#ifdef __x86_64__
extern const struct kernel kernel_avx2, kernel_avx512;
#endif

const struct kernel *kernel_find(enum strata_isa isa)
{
	switch (isa) {
#ifdef __x86_64__
	case STRATA_ISA_AVX2:
		return &kernel_avx2;
	case STRATA_ISA_AVX512:
		return &kernel_avx512;
#endif
	default:
		return NULL;
	}
}

static bool shape_of(const struct terms *terms, enum kernel_shape *ret_shape)
{
	const struct terms_sum *sums = terms->sums;

	if (terms->sum_count == 1)
		*ret_shape = SHAPE_ONE;
	else if (terms->sum_count == 2 && sums[1].count == 1)
		*ret_shape = SHAPE_FIRST;
	else if (terms->sum_count == 2 && sums[1].count == 2)
		*ret_shape = SHAPE_TWO;
	else if (terms->sum_count == 2 && sums[1].count == sums[0].count)
		*ret_shape = SHAPE_ALL;
	else if (terms->sum_count == 3 && sums[1].count == sums[0].count && sums[2].count == 1)
		*ret_shape = SHAPE_ALL_FIRST;
	else
		return false;
	return true;
}

/* The loop that does all of a row, or NULL. Noise is float32, and a loop of other elements takes it as the last value only. */
static kernel_loop *find_loop(const struct kernel *kernel, const struct terms *terms,
			      enum strata_element element)
{
	bool has_clean = terms_have_clean(terms);
	enum kernel_shape shape;

	if (!terms->nested || !terms->operand_count || terms->operand_count > KERNEL_VALUES_MAX ||
	    (has_clean && terms->operands[0] != OPERAND_CLEAN) || !shape_of(terms, &shape))
		return NULL;
	for (size_t k = 0; element != STRATA_F32 && k + 1 < terms->operand_count; k++)
		if (terms->operands[k] == OPERAND_NOISE)
			return NULL;
	return kernel->loops[element][has_clean][terms->operand_count][shape];
}

/* What a loop is told of a row, but for the buffers. */
static void begin(const struct terms *terms, float most, struct kernel_call *call)
{
	*call = (struct kernel_call){
		.p = terms->p,
		.q = terms->q,
		.most = most,
		.limited = terms->limited,
		.divided = terms->divided,
	};
	for (size_t s = 0; s < terms->sum_count && s < KERNEL_SUMS_MAX; s++)
		call->factors[s] = terms->sums[s].factors;
}

static const void *element_at(const void *tensor, enum strata_element element, size_t i)
{
	return (const char *)tensor +
	       i * (element == STRATA_F32 ? sizeof(float) : sizeof(uint16_t));
}

/* A multiple of the lanes, straight on the caller's tensors. */
static void apply_straight(kernel_loop *loop, const struct terms *terms,
			   const struct strata_solver_item *item, enum strata_element element,
			   size_t first, size_t count, float most)
{
	struct kernel_call call;

	begin(terms, most, &call);
	call.count = count;
	for (size_t k = 0; k < terms->operand_count; k++) {
		enum operand operand = terms->operands[k];

		if (operand != OPERAND_CLEAN)
			call.values[k] = element_at(terms_operand(terms, item, operand),
						    operand == OPERAND_NOISE ? STRATA_F32 : element,
						    first);
		call.last_is_float = operand == OPERAND_NOISE;
	}
	if (terms->operands[0] == OPERAND_CLEAN) {
		call.sample = element_at(item->sample, element, first);
		call.output =
			element_at(terms_operand(terms, item, OPERAND_OUTPUT), element, first);
	}
	for (size_t s = 0; s < terms->sum_count; s++)
		call.results[s] =
			(void *)element_at(terms_target(&terms->sums[s], item), element, first);
	loop(&call);
}

/* ---- blocks ---- */

struct block {
	float operands[OPERAND_COUNT][KERNEL_BLOCK];
	float results[SUMS_MAX][KERNEL_BLOCK];
	size_t count; /* elements that there are, filled up with 0 to `whole`, a multiple of the lanes */
	size_t whole;
};

static void take(const struct kernel *kernel, const struct terms *terms,
		 const struct strata_solver_item *item, enum strata_element element, size_t first,
		 enum operand operand, struct block *block)
{
	float *to = block->operands[operand];
	const void *from = terms_operand(terms, item, operand);

	if (operand == OPERAND_NOISE || element == STRATA_F32)
		memcpy(to, (const float *)from + first, block->count * sizeof(*to));
	else
		kernel->load[element]((const uint16_t *)from + first, to, block->count);
	memset(to + block->count, 0, (block->whole - block->count) * sizeof(*to));
}

/* All that a row reads. */
static void take_all(const struct kernel *kernel, const struct terms *terms,
		     const struct strata_solver_item *item, enum strata_element element,
		     size_t first, struct block *block)
{
	uint32_t taken = 1u << OPERAND_CLEAN;

	for (size_t k = 0; k < terms->operand_count; k++)
		if (terms->operands[k] != OPERAND_CLEAN) {
			take(kernel, terms, item, element, first, terms->operands[k], block);
			taken |= 1u << terms->operands[k];
		}
	if (!terms_have_clean(terms))
		return;
	if (!(taken & 1u << OPERAND_SAMPLE))
		take(kernel, terms, item, element, first, OPERAND_SAMPLE, block);
	if (!(taken & 1u << OPERAND_OUTPUT))
		take(kernel, terms, item, element, first, OPERAND_OUTPUT, block);
}

/* y, as the sum 1·y. */
static void clean_block(const struct kernel *kernel, struct kernel_call *call, struct block *block)
{
	static const float one = 1;

	call->factors[0] = &one;
	call->results[0] = block->operands[OPERAND_CLEAN];
	kernel->loops[STRATA_F32][true][1][SHAPE_ONE](call);
}

/* A sum of any length: a loop takes so many terms, and the next one goes on from 1·(what there is). */
static void sum_block(const struct kernel *kernel, const struct terms_sum *sum,
		      struct kernel_call *call, struct block *block, float *result)
{
	float factors[KERNEL_VALUES_MAX] = { 1 };
	size_t done = 0;

	if (!sum->count)
		memset(result, 0, block->count * sizeof(*result));
	while (done < sum->count) {
		size_t values = done > 0;

		call->values[0] = result;
		while (values < KERNEL_VALUES_MAX && done < sum->count) {
			factors[values] = sum->factors[done];
			call->values[values++] = block->operands[sum->operands[done++]];
		}
		call->factors[0] = factors;
		call->results[0] = result;
		kernel->loops[STRATA_F32][false][values][SHAPE_ONE](call);
		factors[0] = 1;
	}
}

static void compute_block(const struct kernel *kernel, kernel_loop *loop, const struct terms *terms,
			  float most, struct block *block)
{
	struct kernel_call call;

	begin(terms, most, &call);
	call.count = block->whole;
	call.sample = block->operands[OPERAND_SAMPLE];
	call.output = block->operands[OPERAND_OUTPUT];
	if (loop) {
		for (size_t k = 0; k < terms->operand_count; k++)
			call.values[k] = block->operands[terms->operands[k]];
		for (size_t s = 0; s < terms->sum_count; s++)
			call.results[s] = block->results[s];
		loop(&call);
		return;
	}
	if (terms_have_clean(terms))
		clean_block(kernel, &call, block);
	for (size_t s = 0; s < terms->sum_count; s++)
		sum_block(kernel, &terms->sums[s], &call, block, block->results[s]);
}

static void give_all(const struct kernel *kernel, const struct terms *terms,
		     const struct strata_solver_item *item, enum strata_element element,
		     size_t first, const struct block *block)
{
	for (size_t s = 0; s < terms->sum_count; s++) {
		void *to = terms_target(&terms->sums[s], item);

		if (element == STRATA_F32)
			memcpy((float *)to + first, block->results[s],
			       block->count * sizeof(float));
		else
			kernel->store[element](block->results[s], (uint16_t *)to + first,
					       block->count);
	}
}

static void set_count(const struct kernel *kernel, size_t count, struct block *block)
{
	block->count = count < KERNEL_BLOCK ? count : KERNEL_BLOCK;
	block->whole = (block->count + kernel->lanes - 1) / kernel->lanes * kernel->lanes;
}

void kernel_apply(const struct kernel *kernel, const struct terms *terms,
		  const struct strata_solver_item *item, enum strata_element element, size_t first,
		  size_t count, float most)
{
	kernel_loop *straight = find_loop(kernel, terms, element);
	kernel_loop *loop = find_loop(kernel, terms, STRATA_F32);
	size_t done = 0;

	size_t turn = element == STRATA_BF16 ? 2 * kernel->lanes : kernel->lanes;

	if (straight && count >= turn) {
		done = count - count % turn;
		apply_straight(straight, terms, item, element, first, done, most);
	}
	while (done < count) {
		struct block block;

		set_count(kernel, count - done, &block);
		take_all(kernel, terms, item, element, first + done, &block);
		compute_block(kernel, loop, terms, most, &block);
		give_all(kernel, terms, item, element, first + done, &block);
		done += block.count;
	}
}

void kernel_clean(const struct kernel *kernel, const struct terms *terms,
		  const struct strata_solver_item *item, enum strata_element element, size_t first,
		  size_t count, float ret_clean[KERNEL_BLOCK])
{
	struct block block;
	struct kernel_call call;

	set_count(kernel, count, &block);
	take(kernel, terms, item, element, first, OPERAND_SAMPLE, &block);
	take(kernel, terms, item, element, first, OPERAND_OUTPUT, &block);
	begin(terms, 0, &call);
	call.count = block.whole;
	call.limited = false;
	call.sample = block.operands[OPERAND_SAMPLE];
	call.output = block.operands[OPERAND_OUTPUT];
	clean_block(kernel, &call, &block);
	memcpy(ret_clean, block.operands[OPERAND_CLEAN], count * sizeof(float));
}
