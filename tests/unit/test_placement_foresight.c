#include "test.h"

#include "random.h"

#include <strata/cluster.h>

#include <math.h>
#include <string.h>

enum { FUTURES = 24, LENGTH = 32 };

extern const struct strata_placement_class strata_placement_foresight;

static struct strata_memory memory;
static struct strata_error err;
static struct {
	int64_t futures, length;
} conf = { FUTURES, LENGTH };

struct node {
	int64_t cpu_milli;
	uint32_t gpu_count;
	int left[STRATA_NODE_GPUS_MAX];
	const char *gpu_type;
};

/* ---- the idea, written down plainly ---- */

static size_t typical_at(const struct strata_mix *mix, double fraction)
{
	double total = 0, sum = 0;
	size_t last = 0;

	for (size_t i = 0; i < mix->count; i++)
		if (mix->needs[i].gpus || mix->needs[i].gpu_milli)
			total += mix->parts[i];
	for (size_t i = 0; i < mix->count; i++) {
		if (!mix->needs[i].gpus && !mix->needs[i].gpu_milli)
			continue;
		last = i;
		sum += mix->parts[i];
		if (fraction * total < sum)
			break;
	}
	return last;
}

/* Puts a job on a node if it fits: a share on the fullest GPU. Returns what it uses. */
static int put(struct node *node, const struct strata_need *need)
{
	int best = -1, whole = 0;

	if (need->cpu_milli > node->cpu_milli)
		return 0;
	for (uint32_t i = 0; i < node->gpu_count; i++) {
		whole += node->left[i] == 1000;
		if (need->gpu_milli && node->left[i] >= (int)need->gpu_milli &&
		    (best < 0 || node->left[i] < node->left[best]))
			best = (int)i;
	}
	if (need->gpu_milli ? best < 0 : whole < (int)need->gpus)
		return 0;
	node->cpu_milli -= need->cpu_milli;
	if (need->gpu_milli)
		node->left[best] -= (int)need->gpu_milli;
	for (uint32_t i = 0, left = need->gpus; left; i++)
		if (node->left[i] == 1000) {
			node->left[i] = 0;
			left--;
		}
	return (int)(need->gpu_milli + 1000 * need->gpus);
}

static int64_t worth(const struct strata_mix *mix, const struct node *node)
{
	int64_t sum = 0;

	for (int k = 0; k < FUTURES; k++) {
		struct node filled = *node;

		for (int n = 1; n <= LENGTH; n++) {
			double at = n * 0.6180339887498949 + (k + 0.5) / FUTURES;
			size_t i = typical_at(mix, at - floor(at));

			if (!mix->gpu_types[i] || strstr(mix->gpu_types[i], node->gpu_type))
				sum += put(&filled, &mix->needs[i]);
		}
	}
	return sum;
}

static double score(void *state, const struct node *node, const struct strata_need *need,
		    uint32_t *ret_gpu)
{
	struct strata_room room = { .cpu_milli = node->cpu_milli };
	struct strata_candidate candidate = { .room = &room,
					      .gpu_count = node->gpu_count,
					      .gpu_type = node->gpu_type };

	for (uint32_t i = 0; i < node->gpu_count; i++)
		room.gpu_milli[i] = (uint16_t)node->left[i];
	return strata_placement_foresight.score(&conf, state, &candidate, need, ret_gpu);
}

/* ---- tests ---- */

static struct node random_node(uint64_t *seed)
{
	static const char *const names[] = { "a100", "h100", "t4" };
	struct node node = { .cpu_milli = 700 * (int64_t)random_below(seed, 60),
			     .gpu_count = 1u << random_below(seed, 4),
			     .gpu_type = names[random_below(seed, 3)] };

	for (uint32_t i = 0; i < node.gpu_count; i++)
		node.left[i] = random_below(seed, 2) ? 1000 : (int)random_below(seed, 1000);
	return node;
}

TEST(scores_are_what_a_plain_rehearsal_says)
{
	static const struct strata_need needs[] = {
		{ 3150, 0, 0, 810 }, { 11300, 0, 1, 0 }, { 8000, 0, 0, 470 }, { 12500, 0, 0, 0 },
		{ 4000, 0, 0, 160 }, { 24000, 0, 4, 0 }, { 32000, 0, 20, 0 }, { 0, 0, 2, 0 },
	};
	static const char *const types[] = {
		NULL, NULL, "a100|h100", NULL, NULL, "h100", NULL, NULL
	};
	static const double parts[] = { .25, .25, .125, .0625, .125, .0625, .0625, .0625 };
	const struct strata_mix mix = { needs, types, parts, 8 };
	uint64_t seed = 4;
	void *state;

	CHECK_OK(strata_placement_foresight.open(&conf, &mix, &memory, &state, &err));
	for (int i = 0; i < 3000; i++) {
		struct node node = random_node(&seed), later = node;
		const struct strata_need *need = &needs[random_below(&seed, 8)];
		uint32_t gpu = 99;
		int64_t best = -1, want_gpu = 99;

		if (need->gpu_milli == 0 && need->gpus + (uint32_t)need->cpu_milli && need->gpus &&
		    !put(&later, need))
			continue;
		if (need->gpus == 0 && need->gpu_milli == 0) {
			if (later.cpu_milli < need->cpu_milli)
				continue;
			later.cpu_milli -= need->cpu_milli;
		}
		if (need->gpu_milli == 0)
			best = worth(&mix, &later);
		for (uint32_t k = 0; need->gpu_milli && k < node.gpu_count; k++) {
			later = node;
			later.cpu_milli -= need->cpu_milli;
			later.left[k] -= (int)need->gpu_milli;
			int64_t rest = later.left[k] < 0 ? -1 : worth(&mix, &later);

			if (rest > best) {
				best = rest;
				want_gpu = k;
			}
		}
		if (best < 0)
			continue;
		CHECK_NEAR(score(state, &node, need, &gpu), (double)(worth(&mix, &node) - best), 0);
		CHECK_INT(gpu, want_gpu);
	}
	strata_placement_foresight.close(state);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(it_keeps_cpu_for_gpus_pairs_shares_and_spares_scarce_types)
{
	static const struct strata_need needs[] = {
		{ 8000, 0, 1, 0 }, { 2000, 0, 0, 600 }, { 2000, 0, 0, 400 }, { 8000, 0, 1, 0 }
	};
	static const char *const types[] = { NULL, NULL, NULL, "h100" };
	static const double parts[] = { 0.25, 0.25, 0.25, 0.25 };
	const struct strata_mix mix = { needs, types, parts, 4 };
	const struct strata_need cpu_only = { 8000, 0, 0, 0 };
	struct node tight = { 16000, 4, { 1000, 1000, 1000, 1000 }, "a100" }, loose = tight;
	struct node gap = { 64000, 2, { 400, 1000 }, "a100" }, scarce;
	uint32_t gpu = 0;
	void *state;

	CHECK_OK(strata_placement_foresight.open(&conf, &mix, &memory, &state, &err));
	loose.cpu_milli = 96000;
	CHECK(score(state, &loose, &cpu_only, &gpu) < score(state, &tight, &cpu_only, &gpu));
	score(state, &gap, &needs[2], &gpu);
	CHECK_INT(gpu, 0);
	score(state, &gap, &needs[1], &gpu);
	CHECK_INT(gpu, 1);
	scarce = tight;
	scarce.gpu_type = "h100";
	CHECK(score(state, &tight, &needs[0], &gpu) <= score(state, &scarce, &needs[0], &gpu));
	strata_placement_foresight.close(state);
}

TEST(without_a_mix_or_gpus_in_it_it_is_best_fit)
{
	const struct strata_need needs[] = { { 8000, 0, 0, 0 } };
	const double parts[] = { 1 };
	const struct strata_mix mix = { needs, NULL, parts, 1 };
	struct node node = { 3000, 2, { 1000, 500 }, "a100" };
	void *state = &node;
	uint32_t gpu;

	CHECK_OK(strata_placement_foresight.open(&conf, NULL, &memory, &state, &err));
	CHECK(!state);
	CHECK_OK(strata_placement_foresight.open(&conf, &mix, &memory, &state, &err));
	CHECK(!state);
	CHECK_NEAR(score(state, &node, &(struct strata_need){ 0 }, &gpu), 3000 + 16 * 1500, 0);
	strata_placement_foresight.close(state);
}
