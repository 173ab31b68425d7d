/* What every order of the queue must keep. */
#include "test.h"

#include "core/class.h"

#include <strata/cluster.h>

#include <math.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static struct strata_order_job job_of(unsigned i)
{
	return (struct strata_order_job){
		.submit_ns = (int64_t)i * 7919 * 1000000000 % 1000000000000,
		.now_ns = 2000000000000 + (int64_t)i,
		.requested_ns = 1 + (int64_t)(i * 2654435761u % 100000) * 1000000000,
		.predicted_ns = 1 + (int64_t)(i * 40503u % 1000) * 1000000000,
		.size = i % 5 ? i % 64 + 1 : 0.25,
		.priority = (int64_t)(i % 7) - 3,
		.band = (enum strata_band)(i % 3),
		.share = 1.0 / (1 + i % 13),
		.share_factor = 1.0 / (1 + i % 11),
		.cluster_size = 64,
	};
}

static void each(void (*check)(const struct strata_order_class *order, const void *conf))
{
	for (const struct strata_class *const *at = strata_order_kind.classes; *at; at++) {
		struct strata_schema schema = class_schema(*at);

		strata_arena_init(&arena, &memory, 0);
		void *conf = strata_arena_get(&arena, schema.conf_size);

		CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
		check((const struct strata_order_class *)*at, conf);
		strata_arena_fini(&arena);
	}
}

static void finite_keys(const struct strata_order_class *order, const void *conf)
{
	for (unsigned i = 0; i < 2000; i++) {
		struct strata_order_job job = job_of(i);
		double key = order->key(conf, &job);

		CHECK(isfinite(key));
		CHECK(order->key(conf, &job) == key);
	}
	struct strata_order_job edge = {
		.requested_ns = 1, .predicted_ns = 1, .size = 0, .share = 1, .share_factor = 1
	};

	CHECK(isfinite(order->key(conf, &edge)));
}

TEST(keys_are_finite_and_repeatable)
{
	each(finite_keys);
}

static void honest_about_time(const struct strata_order_class *order, const void *conf)
{
	bool changed = false;

	for (unsigned i = 0; i < 200; i++) {
		struct strata_order_job job = job_of(i), later = job;

		later.now_ns += 86400000000000;
		changed |= order->key(conf, &job) != order->key(conf, &later);
		later = job;
		later.share /= 2;
		later.share_factor /= 2;
		bool by_share = order->key(conf, &job) != order->key(conf, &later);

		CHECK(order->wants_share || !by_share);
		changed |= by_share;
	}
	CHECK(order->changes_with_time || !changed);
}

TEST(an_order_says_whether_its_keys_change)
{
	each(honest_about_time);
}
