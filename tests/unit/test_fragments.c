#include "test.h"

#include "sim/fragments.h"

#include "random.h"

#include <math.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void begin(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
}

static struct strata_piece piece(uint32_t node, int64_t cpu_milli, uint16_t mask, uint16_t milli)
{
	return (struct strata_piece){ .node = node,
				      .tasks = 1,
				      .cpu_milli = cpu_milli,
				      .gpu_mask = mask,
				      .gpu_milli = milli };
}

/*
 * One node of two GPUs; half of the jobs want a whole GPU, half want 500 of one. From 0 s on 700 of GPU 0 are in use: 300 of
 * it are left, useless to either kind, and GPU 1 is useful to both. So 300 of 1300 are fragments.
 */
TEST(what_no_typical_job_can_use_is_a_fragment)
{
	static const struct strata_node_conf node = {
		.name = "a", .cpu_milli = 8000, .gpu_count = 2, .gpu_type = "T4"
	};
	static const struct machine machine = { &node, 1, .gpu_count = 2 };
	static const struct strata_need needs[] = { { .cpu_milli = 1000, .gpus = 1 },
						    { .cpu_milli = 1000, .gpu_milli = 500 } };
	static const double parts[] = { 0.5, 0.5 };
	const struct strata_mix mix = { needs, NULL, parts, 2 };
	const struct strata_piece share = piece(0, 1000, 1, 700), last = piece(0, 1000, 2, 1000);
	struct fragments fragments;

	begin();
	CHECK_OK(fragments_init(&fragments, &machine, &mix, 0, &arena, &err));
	CHECK(isnan(fragments_share(&fragments)));
	fragments_start(&fragments, &share, 1, 0);
	fragments_start(&fragments, &last, 1, 100);
	CHECK_NEAR(fragments_share(&fragments), 300.0 / 1300, 1e-9);
	/* from here on only the 300 are free, but nobody starts any more: it does not count */
	fragments_end(&fragments, &share, 1, 200);
	fragments_end(&fragments, &last, 1, 300);
	CHECK_NEAR(fragments_share(&fragments), 300.0 / 1300, 1e-9);
	/* unless somebody does: 100 x 300 of 300, 100 x 1000 of which the whole GPU is of use to both */
	fragments_start(&fragments, &share, 1, 300);
	CHECK_NEAR(fragments_share(&fragments),
		   (300.0 * 100 + 300 * 100 + 0) / (1300 * 100 + 300 * 100 + 1000 * 100), 1e-9);
	strata_arena_fini(&arena);
}

TEST(a_node_without_cpu_or_of_another_type_is_all_fragment)
{
	static const struct strata_node_conf nodes[] = {
		{ .name = "a", .cpu_milli = 8000, .gpu_count = 1, .gpu_type = "T4" },
		{ .name = "b", .cpu_milli = 8000, .gpu_count = 1, .gpu_type = "A10" },
		{ .name = "c", .cpu_milli = 8000 },
	};
	static const struct machine machine = { nodes, 3, .gpu_count = 2 };
	static const struct strata_need needs[] = { { .cpu_milli = 4000, .gpu_milli = 100 },
						    { .cpu_milli = 64000 } };
	static const char *const types[] = { "T40|A1|A10", NULL };
	static const double parts[] = { 0.25, 0.75 };
	const struct strata_mix mix = { needs, types, parts, 2 };
	const struct strata_piece cpus = piece(1, 5000, 0, 0), other = piece(2, 8000, 0, 0);
	struct fragments fragments;

	begin();
	CHECK_OK(fragments_init(&fragments, &machine, &mix, 50, &arena, &err));
	fragments_start(&fragments, &cpus, 1, 60); /* so far a is of no use to anybody */
	CHECK_NEAR(fragments_share(&fragments), 0.5, 1e-9);
	fragments_start(&fragments, &other, 1, 70); /* and then b is not either */
	CHECK_NEAR(fragments_share(&fragments), 0.75, 1e-9);
	strata_arena_fini(&arena);
}

TEST(several_gpus_must_be_untouched_and_on_one_node)
{
	static const struct strata_node_conf nodes[] = {
		{ .name = "a", .cpu_milli = 8000, .gpu_count = 2, .gpu_type = "T4" },
		{ .name = "b", .cpu_milli = 8000, .gpu_count = 2, .gpu_type = "T4" },
	};
	static const struct machine machine = { nodes, 2, .gpu_count = 4 };
	static const struct strata_need needs[] = { { .gpus = 2 } };
	static const double parts[] = { 1 };
	const struct strata_mix mix = { needs, NULL, parts, 1 };
	const struct strata_piece one = piece(0, 0, 1, 1000);
	struct fragments fragments;

	begin();
	CHECK_OK(fragments_init(&fragments, &machine, &mix, 0, &arena, &err));
	fragments_start(&fragments, &one, 1, 0);
	fragments_start(&fragments, &one, 0, 10);
	CHECK_NEAR(fragments_share(&fragments), 1.0 / 3, 1e-9);
	strata_arena_fini(&arena);
}

/* The definition, word for word. */
static double naive(const struct strata_node_conf *nodes, struct strata_room *rooms, size_t count,
		    const struct strata_mix *mix, int64_t *ret_free)
{
	double stuck = 0;

	*ret_free = 0;
	for (size_t n = 0; n < count; n++) {
		int64_t all = 0, untouched = 0;

		for (uint32_t g = 0; g < nodes[n].gpu_count; g++) {
			all += rooms[n].gpu_milli[g];
			untouched += rooms[n].gpu_milli[g] == 1000;
		}
		*ret_free += all;
		for (size_t j = 0; j < mix->count; j++) {
			const struct strata_need *need = &mix->needs[j];
			uint32_t least = need->gpus ? 1000 : need->gpu_milli;
			int64_t useless = 0;
			bool fits = need->cpu_milli <= rooms[n].cpu_milli &&
				    untouched >= need->gpus;

			for (uint32_t g = 0; g < nodes[n].gpu_count; g++)
				useless += !fits || rooms[n].gpu_milli[g] < least
						   ? rooms[n].gpu_milli[g]
						   : 0;
			stuck += mix->parts[j] * (double)useless;
		}
	}
	return stuck;
}

TEST(it_is_what_the_definition_says)
{
	enum { NODES = 5, EVENTS = 400, KINDS = 4 };
	static const struct strata_need needs[KINDS] = { { .cpu_milli = 2000, .gpu_milli = 300 },
							 { .cpu_milli = 500, .gpu_milli = 810 },
							 { .cpu_milli = 4000, .gpus = 1 },
							 { .cpu_milli = 8000, .gpus = 4 } };
	static const double parts[KINDS] = { 0.4, 0.3, 0.2, 0.1 };
	const struct strata_mix mix = { needs, NULL, parts, KINDS };
	struct strata_node_conf nodes[NODES];
	struct strata_room rooms[NODES] = { 0 };
	struct strata_piece running[EVENTS];
	size_t running_count = 0;
	double stuck = 0, free_time = 0;
	struct fragments fragments;
	uint64_t state = 7;

	begin();
	for (size_t i = 0; i < NODES; i++) {
		nodes[i] = (struct strata_node_conf){
			.name = "n", .cpu_milli = 16000, .gpu_count = 4, .gpu_type = "T4"
		};
		rooms[i].cpu_milli = 16000;
		for (size_t g = 0; g < 4; g++)
			rooms[i].gpu_milli[g] = 1000;
	}
	const struct machine machine = { nodes, NODES, .gpu_count = 4 * NODES };

	CHECK_OK(fragments_init(&fragments, &machine, &mix, 0, &arena, &err));
	for (int64_t now = 1; now <= EVENTS; now++) {
		int64_t free_milli;
		uint32_t node = (uint32_t)random_below(&state, NODES);
		uint32_t gpu = (uint32_t)random_below(&state, 4);
		uint16_t milli = (uint16_t)(100 + random_below(&state, 900));

		stuck += naive(nodes, rooms, NODES, &mix, &free_milli);
		free_time += (double)free_milli;
		if (rooms[node].gpu_milli[gpu] >= milli && rooms[node].cpu_milli >= 1000) {
			struct strata_piece *one = &running[running_count++];

			*one = piece(node, 1000, (uint16_t)(1u << gpu), milli);
			rooms[node].gpu_milli[gpu] = (uint16_t)(rooms[node].gpu_milli[gpu] - milli);
			rooms[node].cpu_milli -= 1000;
			fragments_start(&fragments, one, 1, now);
			CHECK_NEAR(fragments_share(&fragments), stuck / free_time, 1e-6);
		} else if (running_count) {
			size_t at = random_below(&state, running_count);
			struct strata_piece one = running[at];
			uint16_t *left = &rooms[one.node].gpu_milli[__builtin_ctz(one.gpu_mask)];

			running[at] = running[--running_count];
			*left = (uint16_t)(*left + one.gpu_milli);
			rooms[one.node].cpu_milli += 1000;
			fragments_end(&fragments, &one, 1, now);
		}
	}
	strata_arena_fini(&arena);
}

static int make(struct strata_memory *own, void *context, struct strata_error *ret_err)
{
	static const struct strata_node_conf node = { .name = "a",
						      .gpu_count = 2,
						      .gpu_type = "T4" };
	static const struct machine machine = { &node, 1, .gpu_count = 2 };
	static const struct strata_need need = { .gpus = 1 };
	static const double part = 1;
	const struct strata_mix mix = { &need, NULL, &part, 1 };
	struct fragments fragments;
	struct strata_arena scratch;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = fragments_init(&fragments, &machine, &mix, 0, &scratch, ret_err);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	test_every_allocation(make, NULL);
}
