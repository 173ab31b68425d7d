#include "test.h"

#include "core/class.h"

#include <strata/cluster.h>
#include <strata/rng.h>

#include <string.h>

#define SECOND INT64_C(1000000000)

extern const struct strata_prediction_class strata_prediction_learned;

static const struct strata_prediction_class *cls = &strata_prediction_learned;
static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static void *conf, *state;

static void open_with(const char *options)
{
	struct strata_schema schema = class_schema(&cls->base);

	strata_arena_init(&arena, &memory, 0);
	conf = strata_arena_get(&arena, schema.conf_size);
	CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
	CHECK_OK(strata_schema_read_text(&schema, options, strlen(options), &arena, conf, &err));
	CHECK_OK(cls->open(conf, &memory, &state, &err));
}

static void close_all(void)
{
	cls->close(state);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static struct strata_run run_of(uint64_t user, uint64_t name, double size, int64_t limit_s)
{
	return (struct strata_run){ user, name, size, 0, limit_s * SECOND };
}

static void learn(struct strata_run run, int64_t ran_s, int times)
{
	while (times--)
		cls->learn(conf, state, &run, ran_s * SECOND);
}

static double predict_s(struct strata_run run)
{
	return (double)cls->predict(conf, state, &run) / 1e9;
}

TEST(nothing_known_is_the_limit)
{
	open_with("");
	CHECK_NEAR(predict_s(run_of(1, 0, 1, 3600)), 3600, 0);
	close_all();
}

TEST(a_new_user_is_taken_to_be_like_others)
{
	open_with("");
	for (uint64_t user = 1; user <= 100; user++)
		learn(run_of(user, 0, 1, 3600), 360, 1);
	CHECK_NEAR(predict_s(run_of(500, 0, 4, 3600)), 360, 80);
	CHECK_NEAR(predict_s(run_of(500, 0, 4, 4000)), 400, 90); /* a tenth of what it asked for */
	CHECK_NEAR(predict_s(run_of(500, 0, 4, 36000)), 36000,
		   0); /* nobody asked for so much yet */
	close_all();
}

TEST(what_is_run_every_day_is_like_itself)
{
	open_with("");
	for (int day = 0; day < 30; day++) {
		learn(run_of(1, 0, 1, 3600), 60, 1);
		learn(run_of(1, 0, 8, 3600), 3000, 1);
		learn(run_of(1, 0, 8, 7200), 7000, 1);
	}
	CHECK_NEAR(predict_s(run_of(1, 0, 1, 3600)), 60, 600);
	CHECK_NEAR(predict_s(run_of(1, 0, 8, 3600)), 3000, 300);
	CHECK_NEAR(predict_s(run_of(1, 0, 8, 7200)), 7000, 600);
	close_all();
}

TEST(names_tell_jobs_of_one_user_apart)
{
	open_with("");
	for (int day = 0; day < 30; day++) {
		learn(run_of(1, 1, 1, 3600), 60, 1);
		learn(run_of(1, 2, 1, 3600), 3000, 1);
	}
	CHECK(predict_s(run_of(1, 1, 1, 3600)) < 300);
	CHECK(predict_s(run_of(1, 2, 1, 3600)) > 2500);
	CHECK(predict_s(run_of(1, 2, 16, 1800)) > 1500); /* also when asked for differently */
	close_all();
}

TEST(no_more_than_it_asks_for)
{
	open_with("");
	learn(run_of(1, 0, 1, 3600), 3600, 50);
	CHECK_NEAR(predict_s(run_of(1, 0, 1, 10)), 10, 0);
	struct strata_run shortest = { .user = 1, .size = 1, .requested_ns = 1 };

	CHECK_INT(cls->predict(conf, state, &shortest), 1);
	cls->learn(conf, state, &shortest, 0);
	CHECK_INT(cls->predict(conf, state, &shortest), 1);
	close_all();
}

TEST(a_change_is_followed)
{
	open_with("");
	learn(run_of(1, 0, 1, 3600), 60, 100);
	learn(run_of(1, 0, 1, 3600), 3000, 20);
	CHECK_NEAR(predict_s(run_of(1, 0, 1, 3600)), 3000, 500);
	close_all();
}

TEST(the_table_is_full_and_the_oldest_goes)
{
	open_with("kinds=8");
	size_t used = memory.used_bytes;

	/* the limit's kind and three of each user: two users fit, of a third one kind */
	learn(run_of(1, 0, 1, 3600), 60, 20);
	learn(run_of(2, 0, 1, 3600), 60, 20);
	double known = predict_s(run_of(1, 0, 1, 3600));

	CHECK_NEAR(known, 60, 30);
	learn(run_of(2, 0, 1, 3600), 60, 20);
	CHECK_NEAR(predict_s(run_of(1, 0, 1, 3600)), known, 30);
	for (uint64_t user = 3; user < 1000; user++)
		learn(run_of(user, 0, 1, 3600), 3000, 1);
	CHECK_NEAR(predict_s(run_of(1, 0, 1, 3600)), predict_s(run_of(5000, 0, 1, 3600)), 0);
	CHECK_INT(memory.used_bytes, used);
	close_all();
}

/* The same without a table: kinds are told apart by what they are, and every run is kept. */
struct past {
	struct strata_run run;
	int64_t ran_ns;
};
enum { PAST_COUNT = 3000 };
static struct past past[PAST_COUNT];

static int64_t about(int64_t limit_ns)
{
	int64_t low = 1;

	while (low <= limit_ns / 2)
		low *= 2;
	return low >= 2 && limit_ns >= low + low / 2 ? low + low / 2 : low;
}

static bool same_kind(int level, const struct strata_run *a, const struct strata_run *b)
{
	if (level == 0)
		return about(a->requested_ns) == about(b->requested_ns);
	return a->user == b->user && (level < 2 || a->name == b->name) &&
	       (level < 3 || a->requested_ns == b->requested_ns) &&
	       (level < 4 || a->size == b->size);
}

static double naive_ns(const struct strata_run *run, size_t count, double keep, double doubt)
{
	double limit = (double)run->requested_ns, expected = limit;

	for (int level = 0; level < 5; level++) {
		double weight = 0, sum = 0, each = 1;

		if (level == 2 && run->name == 0)
			continue;
		for (size_t i = count; i-- > 0;) {
			double ran = (double)past[i].ran_ns;

			if (!same_kind(level, run, &past[i].run))
				continue;
			weight += each;
			sum += each *
			       (level ? ran : ran / (double)past[i].run.requested_ns * limit);
			each *= level ? keep : 0.998;
		}
		if (weight > 0)
			expected =
				((sum < weight * limit ? sum : weight * limit) + doubt * expected) /
				(weight + doubt);
	}
	return expected;
}

TEST(it_predicts_as_a_list_of_all_runs_would)
{
	struct strata_rng rng;

	open_with("keep=0.8:doubt=1.5");
	strata_rng_init(&rng, 11, 0);
	for (size_t i = 0; i < PAST_COUNT; i++) {
		struct strata_run run = {
			.user = strata_rng_below(&rng, 12),
			.name = strata_rng_below(&rng, 3),
			.size = (double)(1 + strata_rng_below(&rng, 3)) / 2,
			.requested_ns = 1 + (int64_t)strata_rng_below(&rng, 8) * 500 * SECOND,
		};
		int64_t ran_ns = (int64_t)strata_rng_below(&rng, (uint64_t)run.requested_ns + 1);
		double want = naive_ns(&run, i, 0.8, 1.5);

		CHECK_NEAR((double)cls->predict(conf, state, &run), want < 1 ? 1 : want,
			   1 + want * 1e-9);
		past[i] = (struct past){ run, ran_ns };
		cls->learn(conf, state, &run, ran_ns);
	}
	close_all();
}
