/*
 * A Brownian path by halving. The whole path's difference is drawn first; an interval is split at its middle, and what the left half has of
 * it is a share of the whole plus noise of its own, whose seed is made of the path's seed and of the interval's place in the tree. So any
 * point is found from the top in some thirty splits, and nothing needs to be kept.
 */
#include <strata/brownian.h>
#include <strata/rng.h>

#include <math.h>
#include <string.h>

enum { POOL = 24, WORDS_MAX = POOL + 4 };

/* numpy's SeedSequence (O'Neill's seed_seq with its constants): words are hashed into a pool, and seeds out of it. */
struct hash {
	uint32_t state, factor;
};

static uint32_t hashed(struct hash *hash, uint32_t value)
{
	value ^= hash->state;
	hash->state *= hash->factor;
	value *= hash->state;
	return value ^ value >> 16;
}

static uint32_t mixed(uint32_t x, uint32_t y)
{
	uint32_t both = 0xca01f9ddu * x - 0x4973f715u * y;

	return both ^ both >> 16;
}

static size_t put_words(uint32_t *words, uint64_t value)
{
	words[0] = (uint32_t)value;
	words[1] = (uint32_t)(value >> 32);
	return words[1] ? 2 : 1;
}

/* The first seed out of a pool of these words. */
static uint32_t seed_of(const uint32_t *words, size_t count)
{
	struct hash hash = { 0x43b0d7e5u, 0x931e8875u }, out = { 0x8b51f9ddu, 0x58f38dedu };
	uint32_t pool[POOL];

	for (size_t i = 0; i < POOL; i++)
		pool[i] = hashed(&hash, i < count ? words[i] : 0);
	for (size_t from = 0; from < POOL; from++)
		for (size_t to = 0; to < POOL; to++)
			if (from != to)
				pool[to] = mixed(pool[to], hashed(&hash, pool[from]));
	for (size_t from = POOL; from < count; from++)
		for (size_t to = 0; to < POOL; to++)
			pool[to] = mixed(pool[to], hashed(&hash, words[from]));
	return hashed(&out, pool[0]);
}

static uint32_t seed_of_path(uint64_t seed)
{
	uint32_t words[2];

	return seed_of(words, put_words(words, seed));
}

/* Of the interval that is number `place` of its depth. */
static uint32_t seed_of_interval(uint64_t seed, uint64_t place, uint64_t depth)
{
	uint32_t words[WORDS_MAX] = { 0 };
	size_t count = POOL;

	put_words(words, seed);
	count += put_words(words + count, place);
	count += put_words(words + count, depth);
	return seed_of(words, count);
}

/* To a millionth as Python's round() does it: by the exact value, and to the even one of two that are as near. */
static double rounded(double x)
{
	double product = x * 1e6, rest = fma(x, 1e6, -product), whole = floor(product);
	double over = product - whole - 0.5;

	if (over > 0 || (over == 0 && (rest > 0 || (rest == 0 && fmod(whole, 2) != 0))))
		whole += 1;
	return whole / 1e6;
}

size_t strata_brownian_scratch(size_t count)
{
	return count * (2 * sizeof(float) + sizeof(double));
}

static void draw(uint32_t seed, float *values, size_t count)
{
	struct strata_torch torch;

	strata_torch_init(&torch, seed);
	strata_torch_normal_f32(&torch, values, count);
}

struct buffers {
	double *sum;   /* what is asked for */
	float *inside; /* the difference over the interval that is looked at */
	float *noise;
};

/* Adds sign times the path's value at a time, counted from its start. Floats are rounded where the reference rounds them. */
static void add_path(const struct strata_brownian *tree, double time, double sign, size_t count,
		     const struct buffers *it)
{
	double start = rounded(tree->low), end = rounded(tree->high);
	double t = rounded(fmin(fmax(time, start), end));
	float scale = (float)sqrt(tree->high - tree->low);
	uint64_t place = 0;

	draw(seed_of_path(tree->seed), it->inside, count);
	for (size_t i = 0; i < count; i++)
		it->inside[i] *= scale;
	for (uint64_t depth = 0; t > start && t < end; depth++) {
		double middle = rounded(0.5 * (end + start)), left = middle - start;
		double whole = 1 / (end - start);
		float share = (float)left, of_whole = (float)whole;
		float spread = (float)sqrt(left * (end - middle) * whole);
		bool go_left = t < middle;

		draw(seed_of_interval(tree->seed, place, depth), it->noise, count);
		for (size_t i = 0; i < count; i++) {
			float in_left = share * it->inside[i] * of_whole + spread * it->noise[i];

			if (!go_left)
				it->sum[i] += sign * (double)in_left;
			it->inside[i] = go_left ? in_left : it->inside[i] - in_left;
		}
		place = 2 * place + (go_left ? 0 : 1);
		start = go_left ? start : middle;
		end = go_left ? middle : end;
	}
	for (size_t i = 0; t >= end && i < count; i++)
		it->sum[i] += sign * (double)it->inside[i];
}

void strata_brownian_normal(const struct strata_brownian *tree, double from, double to,
			    size_t count, void *scratch, float *ret_values)
{
	struct buffers it = { .sum = scratch };
	double length = sqrt(fabs(to - from));

	it.inside = (float *)(it.sum + count);
	it.noise = it.inside + count;
	memset(it.sum, 0, count * sizeof(*it.sum));
	add_path(tree, to, 1, count, &it);
	add_path(tree, from, -1, count, &it);
	for (size_t i = 0; i < count; i++)
		ret_values[i] = length > 0 ? (float)(it.sum[i] / (double)(float)length) : 0;
}
