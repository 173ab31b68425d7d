#include "small_cluster.h"

#include "cluster/timeline.h"

#include <strata/rng.h>

static const struct strata_room whole = { .cpu_milli = 8000,
					  .memory_bytes = 100,
					  .gpu_milli = { 1000, 1000 } };

static struct strata_piece cpus(int64_t count)
{
	return (struct strata_piece){ .cpu_milli = count * 1000 };
}

static int64_t earliest(const struct timeline *line, int64_t from, int64_t length, int64_t count)
{
	struct strata_need need = { .cpu_milli = count * 1000 };

	return timeline_earliest(line, from, length, &need, 2, NULL);
}

static void take(struct timeline *line, int64_t from, int64_t to, int64_t count)
{
	struct strata_piece piece = cpus(count);

	CHECK_INT(timeline_reserve(line, &small_memory), 0);
	timeline_take(line, from, to, &piece);
}

TEST(the_earliest_place_is_found_between_what_is_taken)
{
	struct timeline line;

	CHECK_INT(timeline_init(&line, &small_memory, &whole), 0);
	CHECK_INT(earliest(&line, 5, 100, 8), 5);
	take(&line, 0, 10, 6);
	take(&line, 20, 30, 8);
	CHECK_INT(earliest(&line, 0, 10, 2), 0);
	CHECK_INT(earliest(&line, 0, 10, 3), 10);
	CHECK_INT(earliest(&line, 0, 11, 3), 30); /* 10 to 20 is too short */
	CHECK_INT(earliest(&line, 0, 20, 2), 0);  /* ends where the next begins */
	CHECK_INT(earliest(&line, 0, 21, 2), 30);
	CHECK_INT(earliest(&line, 25, 1, 1), 30);
	CHECK_INT(earliest(&line, 0, 1, 9), INT64_MAX);
	timeline_fini(&line, &small_memory);
}

TEST(what_is_given_back_is_free_again_and_leaves_no_trace)
{
	struct timeline line;
	struct strata_piece six = cpus(6), eight = cpus(8);

	CHECK_INT(timeline_init(&line, &small_memory, &whole), 0);
	take(&line, 0, 10, 6);
	take(&line, 20, 30, 8);
	timeline_give(&line, 5, 10, &six); /* ended early */
	CHECK_INT(earliest(&line, 0, 3, 8), 5);
	timeline_give(&line, 20, 30, &eight);
	timeline_trim(&line, 7);
	CHECK_INT(line.count, 1);
	CHECK_INT(line.stretches, 0);
	timeline_fini(&line, &small_memory);
	CHECK_INT(small_memory.used_bytes, 0);
}

TEST(gpus_must_be_the_same_ones_all_the_time)
{
	struct timeline line;
	struct strata_piece first = { .gpu_mask = 1, .gpu_milli = 1000 },
			    second = { .gpu_mask = 2, .gpu_milli = 1000 };
	struct strata_need one = { .gpus = 1 };

	CHECK_INT(timeline_init(&line, &small_memory, &whole), 0);
	CHECK_INT(timeline_reserve(&line, &small_memory), 0);
	timeline_take(&line, 0, 10, &first);
	CHECK_INT(timeline_reserve(&line, &small_memory), 0);
	timeline_take(&line, 10, 20, &second);
	CHECK_INT(timeline_earliest(&line, 0, 10, &one, 2, NULL), 0);
	CHECK_INT(timeline_earliest(&line, 0, 11, &one, 2, NULL),
		  10); /* one is free at every moment, but not the same */
	timeline_fini(&line, &small_memory);
}

TEST(an_empty_node_is_waited_for)
{
	struct timeline line;
	struct strata_need none = { 0 };

	CHECK_INT(timeline_init(&line, &small_memory, &whole), 0);
	take(&line, 5, 10, 1);
	CHECK_INT(timeline_earliest(&line, 0, 5, &none, 2, &whole), 0);
	CHECK_INT(timeline_earliest(&line, 0, 6, &none, 2, &whole), 10);
	timeline_fini(&line, &small_memory);
}

/* Against second by second. */
TEST(random_stretches_agree_with_a_table)
{
	enum { END = 200, STRETCHES = 30 };
	struct strata_rng rng;

	strata_rng_init(&rng, 42, 0);
	for (int round = 0; round < 200; round++) {
		struct timeline line;
		int64_t free[2 * END], from[STRETCHES], to[STRETCHES], count[STRETCHES];
		int made = 0;

		for (int t = 0; t < 2 * END; t++)
			free[t] = 8;
		CHECK_INT(timeline_init(&line, &small_memory, &whole), 0);
		for (int i = 0; i < STRETCHES; i++) {
			int64_t length = 1 + (int64_t)strata_rng_below(&rng, 40),
				want = 1 + (int64_t)strata_rng_below(&rng, 8);
			int64_t start = (int64_t)strata_rng_below(&rng, END), expected = start;

			for (int64_t t = expected; t < expected + length; t++)
				if (t < 2 * END && free[t] < want)
					expected = t + 1, t = expected - 1;
			CHECK_INT(earliest(&line, start, length, want), expected);
			if (expected + length >= 2 * END)
				continue;
			take(&line, expected, expected + length, want);
			for (int64_t t = expected; t < expected + length; t++)
				free[t] -= want;
			from[made] = expected, to[made] = expected + length, count[made++] = want;
			if (made > 3 && strata_rng_below(&rng, 3) == 0) {
				int gone = (int)strata_rng_below(&rng, (uint64_t)made);
				struct strata_piece piece = cpus(count[gone]);

				timeline_give(&line, from[gone], to[gone], &piece);
				for (int64_t t = from[gone]; t < to[gone]; t++)
					free[t] += count[gone];
				made--;
				from[gone] = from[made], to[gone] = to[made],
				count[gone] = count[made];
			}
		}
		timeline_fini(&line, &small_memory);
	}
	CHECK_INT(small_memory.used_bytes, 0);
}
