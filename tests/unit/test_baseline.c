#include "test.h"

#include "server/baseline.h"

#include <math.h>
#include <stdlib.h>

static const struct baseline_conf conf = { .warm_up_days = 10,
					   .window_days = 28,
					   .out_days = 3,
					   .of_days = 4,
					   .deviation = 4,
					   .ratio = 1.5 };

enum { FIRST = 20000 };

/* A standard normal number: the sum of twelve even ones. */
static double normal(unsigned *seed)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)rand_r(seed) / RAND_MAX;
	return sum;
}

/* A figure of 180 s that strays by this much, as a logarithm, and shrinks at weekends. */
static size_t made_up(struct baseline_day *days, size_t count, unsigned seed, double stray)
{
	for (size_t i = 0; i < count; i++) {
		days[i].day = FIRST + (int64_t)i;
		days[i].value = 180 * exp(stray * normal(&seed)) * (i % 7 < 5 ? 1 : 0.6);
	}
	return count;
}

static struct baseline_verdict judge(const struct baseline_day *days, size_t count)
{
	struct baseline_verdict verdict;

	baseline_judge(days, count, &conf, 30, &verdict);
	return verdict;
}

TEST(nothing_is_told_before_there_is_a_usual)
{
	struct baseline_day days[BASELINE_DAYS_MAX];
	size_t count = made_up(days, 13, 1, 0.1);

	CHECK_INT(judge(days, 0).state, BASELINE_WARMING_UP);
	for (size_t i = 9; i < count; i++)
		days[i].value *= 100;
	CHECK_INT(judge(days, count).state, BASELINE_WARMING_UP);
	count = made_up(days, 14, 1, 0.1);
	CHECK_INT(judge(days, count).state, BASELINE_STEADY);
	CHECK_INT(judge(days, count).days, 10);
}

TEST(a_change_is_told_with_the_day_it_began)
{
	struct baseline_day days[BASELINE_DAYS_MAX];

	for (unsigned seed = 1; seed <= 200; seed++) {
		made_up(days, 60, seed, 0.15);
		for (size_t i = 40; i < 60; i++)
			days[i].value *= 20;
		CHECK_INT(judge(days, 40).state, BASELINE_STEADY);
		CHECK_INT(judge(days, 42).state, BASELINE_STEADY); /* two days are not enough */
		struct baseline_verdict verdict = judge(days, 44);

		CHECK_INT(verdict.state, BASELINE_HIGHER);
		CHECK(verdict.since_day >= FIRST + 40 && verdict.since_day <= FIRST + 42);
		CHECK(verdict.usual > 100 && verdict.usual < 250);
		CHECK(verdict.now > 1500);
		verdict = judge(days, 60);
		CHECK_INT(verdict.state, BASELINE_HIGHER);
		CHECK(verdict.since_day >= FIRST + 40 && verdict.since_day <= FIRST + 42);
	}
}

/* Of 30,000 such series, with weekends that differ, 23 told of a change that was none. */
TEST(noise_alone_is_hardly_ever_a_change)
{
	struct baseline_day days[BASELINE_DAYS_MAX];
	size_t told = 0;

	for (unsigned seed = 1; seed <= 3000; seed++) {
		size_t count = made_up(days, BASELINE_DAYS_MAX, seed, 0.1 + 0.1 * (seed % 10));

		bool told_once = false;

		for (size_t until = 1; until <= count; until++)
			told_once |= judge(days, until).state > BASELINE_STEADY;
		told += told_once;
	}
	CHECK(told <= 4);
}

TEST(one_bad_day_is_no_change)
{
	struct baseline_day days[BASELINE_DAYS_MAX];

	for (unsigned seed = 1; seed <= 100; seed++) {
		made_up(days, 50, seed, 0.1);
		days[46].value *= 1000;
		for (size_t until = 40; until <= 50; until++)
			CHECK_INT(judge(days, until).state, BASELINE_STEADY);
	}
}

TEST(differences_below_the_floor_are_nothing)
{
	struct baseline_day days[30];

	for (size_t i = 0; i < 30; i++)
		days[i] = (struct baseline_day){ FIRST + (int64_t)i, i < 25 ? 0.001 : 9 };
	CHECK_INT(judge(days, 30).state, BASELINE_STEADY);
	for (size_t i = 25; i < 30; i++)
		days[i].value = 40;
	CHECK_INT(judge(days, 30).state, BASELINE_HIGHER);
	CHECK(fabs(judge(days, 30).usual - 0.001) < 1e-6);
}

TEST(what_shrinks_is_told_as_lower)
{
	struct baseline_day days[30];

	for (size_t i = 0; i < 30; i++)
		days[i] = (struct baseline_day){ FIRST + (int64_t)i, i < 26 ? 1000 : 100 };
	struct baseline_verdict verdict = judge(days, 30);

	CHECK_INT(verdict.state, BASELINE_LOWER);
	CHECK_INT(verdict.since_day, FIRST + 26);
}

TEST(it_is_over_when_days_are_back_and_leaves_the_usual_alone)
{
	struct baseline_day days[60];

	made_up(days, 60, 7, 0.05);
	for (size_t i = 30; i < 50; i++)
		days[i].value *= 10;
	CHECK_INT(judge(days, 50).state, BASELINE_HIGHER);
	CHECK_INT(judge(days, 52).state, BASELINE_HIGHER);
	CHECK_INT(judge(days, 53).state, BASELINE_STEADY);
	/* twenty days of it have not become what is usual */
	for (size_t until = 54; until <= 60; until++) {
		CHECK_INT(judge(days, until).state, BASELINE_STEADY);
		CHECK(judge(days, until).usual < 250);
	}
}

TEST(what_lasts_becomes_the_usual)
{
	struct baseline_day days[BASELINE_DAYS_MAX];

	made_up(days, BASELINE_DAYS_MAX, 3, 0.05);
	for (size_t i = 40; i < BASELINE_DAYS_MAX; i++)
		days[i].value *= 10;
	CHECK_INT(judge(days, 66).state, BASELINE_HIGHER);
	CHECK_INT(judge(days, 70).state, BASELINE_STEADY);
	CHECK(judge(days, 70).usual > 1000);
	CHECK_INT(judge(days, BASELINE_DAYS_MAX).state, BASELINE_STEADY);
}

TEST(only_the_latest_days_count)
{
	struct baseline_day days[3 * BASELINE_DAYS_MAX];

	for (size_t i = 0; i < 3 * BASELINE_DAYS_MAX; i++)
		days[i] = (struct baseline_day){ FIRST + (int64_t)i, i < 200 ? 1e9 : 100 };
	CHECK_INT(judge(days, 3 * BASELINE_DAYS_MAX).state, BASELINE_STEADY);
	CHECK(fabs(judge(days, 3 * BASELINE_DAYS_MAX).usual - 100) < 1e-6);
}
