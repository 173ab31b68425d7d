/* What every source of noise must keep. */
#include "test.h"

#include "core/class.h"

#include <strata/noise.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096 };

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

struct source {
	const struct strata_noise_class *cls;
	void *conf;
	void *state;
};

static struct source start(const struct strata_class *cls, uint64_t seed)
{
	struct strata_schema schema = class_schema(cls);
	struct source source = { .cls = (const struct strata_noise_class *)cls };

	source.conf = strata_arena_get(&arena, cls->conf_size);
	source.state = strata_arena_get(&arena, source.cls->state_size);
	CHECK_OK(strata_schema_defaults(&schema, &arena, source.conf, &err));
	source.cls->start(source.conf, seed, source.state);
	return source;
}

static void each_source(void (*check)(const struct strata_class *cls))
{
	for (const struct strata_class *const *at = strata_noise_kind.classes; *at; at++) {
		strata_arena_fini(&arena);
		strata_arena_init(&arena, &memory, 0);
		check(*at);
	}
	strata_arena_fini(&arena);
}

static void repeatable(const struct strata_class *cls)
{
	float *a = strata_arena_array(&arena, COUNT, sizeof(*a)),
	      *b = strata_arena_array(&arena, COUNT, sizeof(*b));
	struct source first = start(cls, 42), second = start(cls, 42), other = start(cls, 43);

	for (int call = 0; call < 3; call++) {
		first.cls->normal(first.state, a, COUNT);
		second.cls->normal(second.state, b, COUNT);
		CHECK_BYTES(a, b, COUNT * sizeof(*a));
	}
	other.cls->normal(other.state, b, COUNT);
	CHECK(memcmp(a, b, COUNT * sizeof(*a)) != 0);
}

TEST(the_same_seed_gives_the_same_numbers)
{
	each_source(repeatable);
}

static void copied_state(const struct strata_class *cls)
{
	float a[64], b[64];
	struct source source = start(cls, 7);
	void *saved = strata_arena_get(&arena, source.cls->state_size);

	source.cls->normal(source.state, a, 5);
	memcpy(saved, source.state, source.cls->state_size);
	source.cls->normal(source.state, a, 64);
	source.cls->normal(saved, b, 64);
	CHECK_BYTES(a, b, sizeof(a));
}

TEST(a_copy_of_the_state_goes_on_alike)
{
	each_source(copied_state);
}

static void normal(const struct strata_class *cls)
{
	struct source source = start(cls, 1);
	float *values = strata_arena_array(&arena, COUNT, sizeof(*values));
	double sum = 0, squares = 0, fourth = 0;
	size_t total = 0;

	for (int call = 0; call < 16; call++, total += COUNT) {
		source.cls->normal(source.state, values, COUNT);
		for (size_t i = 0; i < COUNT; i++) {
			CHECK(isfinite(values[i]) && fabsf(values[i]) < 8);
			sum += (double)values[i];
			squares += (double)values[i] * (double)values[i];
			fourth += pow((double)values[i], 4);
		}
	}
	CHECK_NEAR(sum / (double)total, 0, 0.02);
	CHECK_NEAR(squares / (double)total, 1, 0.03);
	CHECK_NEAR(fourth / (double)total, 3, 0.2);
}

TEST(the_numbers_are_normal)
{
	each_source(normal);
}

static void bounded(const struct strata_class *cls)
{
	float values[40];

	for (size_t count = 0; count < 38; count++) {
		struct source source = start(cls, 3);

		for (size_t i = 0; i < 40; i++)
			values[i] = 99;
		source.cls->normal(source.state, values + 1, count);
		CHECK_NEAR(values[0], 99, 0);
		CHECK_NEAR(values[count + 1], 99, 0);
		for (size_t i = 1; i <= count; i++)
			CHECK(fabsf(values[i]) < 8);
	}
}

TEST(only_what_was_asked_for_is_written)
{
	each_source(bounded);
}
