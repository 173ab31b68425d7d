/*
 * torch's CPU generator. What a call of randn draws depends on its length and type:
 *
 *	fewer than 16	Box-Muller in double, a pair at a time; the second of a pair waits for the
 *			next such call
 *	16 and more	one uniform per element, then each block of 16 is transformed in place
 *			(8 radii, 8 angles); when the length is no multiple of 16 the last 16
 *			elements are drawn again and transformed again
 *
 * The blocks are computed in the tensor's own type, with its own count of random bits and its own
 * rounding; float32 goes through the vector polynomials of gauss.h. The rules were found from
 * torch's behaviour and hold for the known answers in tests/data/rng.json.
 */
#include <strata/rng.h>

#include "core/gauss.h"
#include "core/half.h"
#include "core/mt19937.h"

#include <math.h>

enum {
	BLOCK = 16, /* normals are made in blocks of this many where there are as many */
	PAIRS = BLOCK / 2,
	CHUNK = 256, /* words drawn at a time; a multiple of BLOCK */
	F32_BITS = 24,
	F64_BITS = 53,
	F16_BITS = 11,
	BF16_BITS = 8,
};
_Static_assert((int)PAIRS == (int)GAUSS_LANES, "a block is one vector of pairs");

#define PI 3.14159265358979323846

void strata_torch_init(struct strata_torch *torch, uint64_t seed)
{
	*torch = (struct strata_torch){ .has_normal = false };
	mt19937_init(&torch->mt, (uint32_t)seed);
}

uint32_t strata_torch_u32(struct strata_torch *torch)
{
	return mt19937_u32(&torch->mt);
}

uint64_t strata_torch_u64(struct strata_torch *torch)
{
	return mt19937_u64(&torch->mt);
}

/* A uniform number has as many random bits as its type has significant ones: all values are
 * exact. */
static float word_to_uniform(uint32_t word, int bits)
{
	int32_t kept = (int32_t)(word & ((UINT32_C(1) << bits) - 1));

	return (float)kept * (1 / (float)(1 << bits));
}

static double draw_double(struct strata_torch *torch)
{
	return (double)(mt19937_u64(&torch->mt) & ((UINT64_C(1) << F64_BITS) - 1)) * 0x1p-53;
}

void strata_torch_uniform_f32(struct strata_torch *torch, float *ret_values, size_t count)
{
	uint32_t words[CHUNK];

	while (count > 0) {
		size_t take = count < CHUNK ? count : CHUNK;

		mt19937_fill(&torch->mt, words, take);
		for (size_t i = 0; i < take; i++)
			ret_values[i] = word_to_uniform(words[i], F32_BITS);
		ret_values += take;
		count -= take;
	}
}

void strata_torch_uniform_f64(struct strata_torch *torch, double *ret_values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret_values[i] = draw_double(torch);
}

void strata_torch_uniform_f16(struct strata_torch *torch, uint16_t *ret_values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret_values[i] = half_from_float(word_to_uniform(mt19937_u32(&torch->mt), F16_BITS));
}

void strata_torch_uniform_bf16(struct strata_torch *torch, uint16_t *ret_values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret_values[i] =
			bfloat_from_float(word_to_uniform(mt19937_u32(&torch->mt), BF16_BITS));
}

/* One normal in double: what every type uses below 16 elements. */
static double draw_normal(struct strata_torch *torch)
{
	if (torch->has_normal) {
		double value = torch->next_normal;

		torch->has_normal = false;
		torch->next_normal = 0;
		return value;
	}
	double theta = 2 * PI * draw_double(torch);
	double radius = sqrt(-2 * log1p(-draw_double(torch)));

	torch->has_normal = true;
	torch->next_normal = radius * sin(theta);
	return radius * cos(theta);
}

/* Draws what torch draws for the elements behind the last whole block and then throws away. */
static void skip(struct strata_torch *torch, size_t words)
{
	uint32_t unused[2 * BLOCK];

	mt19937_fill(&torch->mt, unused, words);
}

static void blocks_f32(struct strata_torch *torch, float *values, size_t count)
{
	uint32_t words[CHUNK];

	for (size_t done = 0; done < count;) {
		size_t take = count - done < CHUNK ? count - done : CHUNK;

		mt19937_fill(&torch->mt, words, take);
		for (size_t i = 0; i < take; i += BLOCK) {
			float *block = values + done + i;

			for (int k = 0; k < PAIRS; k++) {
				block[k] = 1 - word_to_uniform(words[i + k], F32_BITS);
				block[k + PAIRS] = word_to_uniform(words[i + k + PAIRS], F32_BITS) *
						   (2 * (float)PI);
			}
			gauss_from_angles(block, block + PAIRS, block, block + PAIRS, PAIRS);
		}
		done += take;
	}
}

void strata_torch_normal_f32(struct strata_torch *torch, float *ret_values, size_t count)
{
	if (count < BLOCK) {
		for (size_t i = 0; i < count; i++)
			ret_values[i] = (float)draw_normal(torch);
		return;
	}
	blocks_f32(torch, ret_values, count / BLOCK * BLOCK);
	if (count % BLOCK) {
		skip(torch, count % BLOCK);
		blocks_f32(torch, ret_values + count - BLOCK, BLOCK);
	}
}

static void blocks_f64(struct strata_torch *torch, double *values, size_t count)
{
	for (double *block = values; block < values + count; block += BLOCK) {
		strata_torch_uniform_f64(torch, block, BLOCK);
		for (int k = 0; k < PAIRS; k++) {
			double radius = sqrt(-2 * log(1 - block[k]));
			double theta = 2 * PI * block[k + PAIRS];

			block[k] = radius * cos(theta);
			block[k + PAIRS] = radius * sin(theta);
		}
	}
}

void strata_torch_normal_f64(struct strata_torch *torch, double *ret_values, size_t count)
{
	if (count < BLOCK) {
		for (size_t i = 0; i < count; i++)
			ret_values[i] = draw_normal(torch);
		return;
	}
	blocks_f64(torch, ret_values, count / BLOCK * BLOCK);
	if (count % BLOCK) {
		skip(torch, 2 * (count % BLOCK));
		blocks_f64(torch, ret_values + count - BLOCK, BLOCK);
	}
}

/* The 16-bit types: radius and angle are rounded to the type. torch has functions of its own for
 * bfloat16, which round what they return; for float16 it calls those of float, and the products are
 * rounded once. */
struct narrow {
	int bits;
	uint16_t (*from_float)(float value);
	float (*to_float)(uint16_t bits);
	bool rounds_functions;
};

static const struct narrow narrow_f16 = { F16_BITS, half_from_float, half_to_float, false };
static const struct narrow narrow_bf16 = { BF16_BITS, bfloat_from_float, bfloat_to_float, true };

static float round_to(const struct narrow *type, float value)
{
	return type->to_float(type->from_float(value));
}

static float round_function(const struct narrow *type, float value)
{
	return type->rounds_functions ? round_to(type, value) : value;
}

static void blocks_narrow(struct strata_torch *torch, const struct narrow *type, uint16_t *values,
			  size_t count)
{
	for (uint16_t *block = values; block < values + count; block += BLOCK) {
		uint32_t words[BLOCK];

		mt19937_fill(&torch->mt, words, BLOCK);
		for (int k = 0; k < PAIRS; k++) {
			float u = round_to(type, 1 - word_to_uniform(words[k], type->bits));
			double turn = word_to_uniform(words[k + PAIRS], type->bits);
			float radius = round_to(type, sqrtf(-2 * round_function(type, logf(u))));
			float theta = round_to(type, (float)(2 * PI * turn));
			float cosine = round_function(type, cosf(theta));
			float sine = round_function(type, sinf(theta));

			block[k] = type->from_float(radius * cosine);
			block[k + PAIRS] = type->from_float(radius * sine);
		}
	}
}

static void normal_narrow(struct strata_torch *torch, const struct narrow *type,
			  uint16_t *ret_values, size_t count)
{
	if (count < BLOCK) {
		for (size_t i = 0; i < count; i++)
			ret_values[i] = type->from_float((float)draw_normal(torch));
		return;
	}
	blocks_narrow(torch, type, ret_values, count / BLOCK * BLOCK);
	if (count % BLOCK) {
		skip(torch, count % BLOCK);
		blocks_narrow(torch, type, ret_values + count - BLOCK, BLOCK);
	}
}

void strata_torch_normal_f16(struct strata_torch *torch, uint16_t *ret_values, size_t count)
{
	normal_narrow(torch, &narrow_f16, ret_values, count);
}

void strata_torch_normal_bf16(struct strata_torch *torch, uint16_t *ret_values, size_t count)
{
	normal_narrow(torch, &narrow_bf16, ret_values, count);
}
