#include "test.h"

#include "random.h"

#include <strata/cluster.h>

#include <math.h>
#include <string.h>

enum { NEEDS = 24 };

extern const struct strata_placement_class strata_placement_fgd;

static struct strata_memory memory;
static struct strata_error err;
static uint64_t seed;

static struct strata_need needs[NEEDS];
static const char *types[NEEDS];
static double parts[NEEDS]; /* whole 64ths, so that sums are exact in any order */
static struct strata_mix mix = { needs, types, parts, NEEDS };

struct node {
	struct strata_room room;
	uint32_t gpu_count;
	const char *gpu_type;
};

static void make_mix(void)
{
	static const char *const lists[] = { NULL, NULL, "a100", "h100|a100", "l4" };

	for (int i = 0; i < NEEDS; i++) {
		needs[i] =
			(struct strata_need){ .cpu_milli = 500 * (int64_t)random_below(&seed, 12) };
		switch (random_below(&seed, 3)) {
		case 0:
			break;
		case 1:
			needs[i].gpu_milli = 1 + (uint32_t)random_below(&seed, 999);
			break;
		default:
			needs[i].gpus = 1u << random_below(&seed, 4);
		}
		types[i] = lists[random_below(&seed, 5)];
		parts[i] = (double)(1 + random_below(&seed, 4)) / 64;
	}
}

static struct node make_node(void)
{
	static const char *const names[] = { "a100", "h100", "l4", "t4" };
	struct node node = { .room.cpu_milli = 500 * (int64_t)random_below(&seed, 14),
			     .gpu_count = 1u << random_below(&seed, 4),
			     .gpu_type = names[random_below(&seed, 4)] };

	for (uint32_t i = 0; i < node.gpu_count; i++)
		node.room.gpu_milli[i] =
			random_below(&seed, 2) ? 1000 : (uint16_t)random_below(&seed, 1000);
	return node;
}

static uint32_t count_gpus(const struct node *node, uint32_t at_least)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->gpu_count; i++)
		count += node->room.gpu_milli[i] >= at_least;
	return count;
}

static bool fits(const struct node *node, const struct strata_need *need)
{
	return need->cpu_milli <= node->room.cpu_milli &&
	       (need->gpu_milli ? count_gpus(node, need->gpu_milli) > 0
				: count_gpus(node, 1000) >= need->gpus);
}

/* The published definition, typical job by typical job. */
static double fragmentation(const struct node *node)
{
	double sum = 0;

	for (int i = 0; i < NEEDS; i++) {
		uint32_t milli = needs[i].gpu_milli ? needs[i].gpu_milli : 1000;
		bool usable = (needs[i].gpus || needs[i].gpu_milli) && fits(node, &needs[i]) &&
			      (!types[i] || strstr(types[i], node->gpu_type));

		for (uint32_t k = 0; k < node->gpu_count; k++)
			if (!usable || node->room.gpu_milli[k] < milli)
				sum += parts[i] * node->room.gpu_milli[k];
	}
	return sum;
}

static double mark(double rise)
{
	return floor(100 / (1 + exp(rise / 1000)));
}

static struct node after(struct node node, const struct strata_need *need, uint32_t gpu)
{
	node.room.cpu_milli -= need->cpu_milli;
	if (need->gpu_milli)
		node.room.gpu_milli[gpu] = (uint16_t)(node.room.gpu_milli[gpu] - need->gpu_milli);
	for (uint32_t i = 0, left = need->gpus; left; i++)
		if (node.room.gpu_milli[i] == 1000) {
			node.room.gpu_milli[i] = 0;
			left--;
		}
	return node;
}

/* The best mark and the first GPU that has it. */
static double want_mark(const struct node *node, const struct strata_need *need, uint32_t *ret_gpu)
{
	double best = -1, before = fragmentation(node), known = 0;

	for (int i = 0; i < NEEDS; i++)
		known += parts[i];
	for (uint32_t gpu = 0; gpu < (need->gpu_milli ? node->gpu_count : 1); gpu++) {
		if (need->gpu_milli && node->room.gpu_milli[gpu] < need->gpu_milli)
			continue;
		struct node later = after(*node, need, gpu);
		double rise = fragmentation(&later) - before;

		/* what the parts lack to 1 counts as jobs that can use nothing */
		rise += (known - 1) * (need->gpu_milli + 1000.0 * need->gpus);
		if (mark(rise) > best) {
			best = mark(rise);
			*ret_gpu = gpu;
		}
	}
	return best;
}

TEST(marks_are_those_of_the_published_formula)
{
	void *state;
	int checked = 0;

	seed = 1;
	for (int round = 0; round < 20; round++) {
		make_mix();
		CHECK_OK(strata_placement_fgd.open(NULL, &mix, &memory, &state, &err));
		for (int i = 0; i < 500; i++) {
			struct node node = make_node();
			const struct strata_need *need = &needs[random_below(&seed, NEEDS)];
			struct strata_candidate candidate = {
				.room = &node.room,
				.gpu_count = node.gpu_count,
				.gpu_type = node.gpu_type,
			};
			uint32_t gpu = 0, want_gpu = 0;

			if (!fits(&node, need))
				continue;
			double score =
				strata_placement_fgd.score(NULL, state, &candidate, need, &gpu);

			CHECK_NEAR(-score, want_mark(&node, need, &want_gpu), 0);
			CHECK_INT(gpu, want_gpu);
			checked++;
		}
		strata_placement_fgd.close(state);
		CHECK_INT(memory.used_bytes, 0);
	}
	CHECK(checked > 1000);
}

TEST(without_a_mix_it_is_best_fit)
{
	struct strata_room room = { .cpu_milli = 3000, .gpu_milli = { 1000, 500 } };
	struct strata_candidate node = { .room = &room, .gpu_count = 2 };
	struct strata_need need = { 0 };
	void *state = &room;
	uint32_t gpu;

	CHECK_OK(strata_placement_fgd.open(NULL, NULL, &memory, &state, &err));
	CHECK(!state);
	CHECK_NEAR(strata_placement_fgd.score(NULL, state, &node, &need, &gpu), 3000 + 16 * 1500,
		   0);
	strata_placement_fgd.close(state);
}
