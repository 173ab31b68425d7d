/*
 * foresight: rehearses the future. What a node is worth is how much of its GPUs would come into use
 * if jobs as usual kept coming: it is filled, in the mind, from a few fixed sequences of typical
 * jobs, each taking what still fits, and what they use is added up. A job goes where the node loses
 * the least of that worth, and a share of a GPU to the GPU where it does. So a node's CPU is not
 * spent on jobs that leave its GPUs stranded, shares are paired that fill a GPU, and a scarce type
 * is left to those who need it, all for one reason and in one unit. fgd asks which typical job
 * could come next; this asks how the filling would end.
 *
 * The sequences are not random: job n of sequence k is the typical one at the fraction (n x golden
 * ratio + k / K) of the mix, which is in proportion from the start and different in every sequence.
 * A node's worth depends on nothing else but its type, its free CPU and what is left of its GPUs in
 * any order, so it is remembered: a small table, where the newest wins. CPU is rounded down to what
 * typical jobs can tell apart, their greatest common divisor. Memory is not part of the mix.
 * Without a mix it is best_fit.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { WHOLE_MILLI = 1000, MEMO_COUNT = 1 << 14 };

struct foresight_conf {
	int64_t futures, length;
};

static const struct strata_option foresight_options[] = {
	{ "futures", STRATA_INT, offsetof(struct foresight_conf, futures),
	  .integer = { 24, 1, 256 }, .help = "sequences of typical jobs that are tried" },
	{ "length", STRATA_INT, offsetof(struct foresight_conf, length), .integer = { 32, 1, 1000 },
	  .help = "jobs in each" },
	{ 0 }
};

struct coming {
	int64_t cpu_milli;
	int64_t rest_cpu_milli; /* the least that this job or any after it wants */
	uint16_t gpus;
	uint16_t gpu_milli;  /* of one GPU; 1000 for whole ones */
	uint16_t rest_milli; /* the least, as above */
	uint32_t used_milli;
};

/* A future as nodes of one type see it: the jobs they could take. */
struct future {
	const struct coming *jobs;
	uint32_t count;
};

/* All that the worth depends on. */
struct state_key {
	int64_t cpu; /* in quanta */
	uint32_t type;
	uint16_t whole;                      /* untouched GPUs */
	uint16_t left[STRATA_NODE_GPUS_MAX]; /* of the others, ascending, zeros at the end */
	uint16_t padding;                    /* 0: keys are compared as bytes */
};

struct memo {
	struct state_key key;
	int64_t worth; /* -1: nothing here */
};

struct foresight_state {
	struct strata_arena arena; /* holds all below */
	struct strata_memory *memory;
	struct mix_types types;
	struct future *futures; /* by type, future_count of each */
	size_t future_count;
	int64_t cpu_quantum;
	struct memo *memos;
};

/* ---- the futures ---- */

static int64_t divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The typical job at a fraction of all that want GPUs. */
static size_t job_at(const struct strata_mix *mix, double total, double fraction)
{
	double sum = 0;
	size_t last = 0;

	for (size_t i = 0; i < mix->count; i++) {
		if (!mix_wants_gpu(&mix->needs[i]))
			continue;
		last = i;
		sum += mix->parts[i];
		if (fraction * total < sum)
			break;
	}
	return last;
}

static struct coming make_coming(const struct strata_need *need)
{
	bool shared = need->gpu_milli > 0;
	uint32_t most = STRATA_NODE_GPUS_MAX + 1; /* more than any node has */

	return (struct coming){
		.cpu_milli = need->cpu_milli,
		.gpus = shared ? 0 : (uint16_t)(need->gpus < most ? need->gpus : most),
		.gpu_milli = shared ? (uint16_t)need->gpu_milli : WHOLE_MILLI,
		.used_milli = shared ? need->gpu_milli : need->gpus * WHOLE_MILLI,
	};
}

static void note_rest(struct coming *jobs, size_t count)
{
	int64_t cpu_milli = INT64_MAX;
	uint16_t gpu_milli = UINT16_MAX;

	while (count-- > 0) {
		if (jobs[count].cpu_milli < cpu_milli)
			cpu_milli = jobs[count].cpu_milli;
		if (jobs[count].gpu_milli < gpu_milli)
			gpu_milli = jobs[count].gpu_milli;
		jobs[count].rest_cpu_milli = cpu_milli;
		jobs[count].rest_milli = gpu_milli;
	}
}

static int make_future(struct foresight_state *state, const struct strata_mix *mix, double total,
		       size_t number, size_t length)
{
	size_t *order = strata_arena_array(&state->arena, length, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		double at = (double)(i + 1) * 0.6180339887498949 +
			    ((double)number + 0.5) / (double)state->future_count;

		order[i] = job_at(mix, total, at - floor(at));
	}
	for (size_t type = 0; type < state->types.count; type++) {
		struct coming *jobs = strata_arena_array(&state->arena, length, sizeof(*jobs));
		struct future *future = &state->futures[type * state->future_count + number];

		if (!jobs)
			return -ENOMEM;
		future->jobs = jobs;
		for (size_t i = 0; i < length; i++) {
			const struct strata_need *need = &mix->needs[order[i]];

			if (mix_types_take(&state->types, type, mix_gpu_types(mix, order[i])))
				jobs[future->count++] = make_coming(need);
		}
		note_rest(jobs, future->count);
	}
	return 0;
}

static int compile(struct foresight_state *state, const struct foresight_conf *conf,
		   const struct strata_mix *mix, double total)
{
	state->future_count = (size_t)conf->futures;
	if (mix_types_init(&state->types, mix, &state->arena))
		return -ENOMEM;
	state->futures = strata_arena_array(&state->arena, state->types.count * state->future_count,
					    sizeof(*state->futures));
	state->memos = strata_arena_array(&state->arena, MEMO_COUNT, sizeof(*state->memos));
	if (!state->futures || !state->memos)
		return -ENOMEM;
	for (size_t i = 0; i < MEMO_COUNT; i++)
		state->memos[i].worth = -1;
	for (size_t i = 0; i < state->future_count; i++)
		if (make_future(state, mix, total, i, (size_t)conf->length))
			return -ENOMEM;
	for (size_t i = 0; i < mix->count; i++)
		if (mix_wants_gpu(&mix->needs[i]))
			state->cpu_quantum = divisor(state->cpu_quantum, mix->needs[i].cpu_milli);
	return 0;
}

static void foresight_close(void *state_any)
{
	struct foresight_state *state = state_any;

	if (!state)
		return;
	strata_arena_fini(&state->arena);
	strata_memory_put(state->memory, state, sizeof(*state));
}

static int foresight_open(const void *conf, const struct strata_mix *mix,
			  struct strata_memory *memory, void **ret_state, struct strata_error *err)
{
	struct foresight_state *state;
	double total = 0;

	for (size_t i = 0; mix && i < mix->count; i++)
		if (mix_wants_gpu(&mix->needs[i]))
			total += mix->parts[i];
	if (!(total > 0)) {
		*ret_state = NULL;
		return 0;
	}
	state = strata_memory_get(memory, sizeof(*state));
	if (!state)
		return strata_fail_memory(err);
	state->memory = memory;
	strata_arena_init(&state->arena, memory, 0);
	if (compile(state, conf, mix, total)) {
		foresight_close(state);
		return strata_fail_memory(err);
	}
	*ret_state = state;
	return 0;
}

/* ---- what a node is worth ---- */

/* A node while it is being filled. */
struct filling {
	int64_t cpu_milli;
	uint32_t whole;
	uint32_t count; /* of GPUs that are in use in part */
	uint32_t most;  /* left of any GPU */
	uint16_t left[STRATA_NODE_GPUS_MAX];
};

/* Takes a share from the fullest GPU that has enough, else from an untouched one; there is one. */
static void take_share(struct filling *node, uint32_t gpu_milli)
{
	uint32_t best = node->count;

	for (uint32_t i = 0; i < node->count; i++)
		if (node->left[i] >= gpu_milli &&
		    (best == node->count || node->left[i] < node->left[best]))
			best = i;
	if (best == node->count) {
		node->whole--;
		node->left[node->count++] = WHOLE_MILLI;
	}
	node->left[best] = (uint16_t)(node->left[best] - gpu_milli);
}

static void find_most(struct filling *node)
{
	node->most = node->whole ? WHOLE_MILLI : 0;
	for (uint32_t i = 0; node->whole == 0 && i < node->count; i++)
		if (node->left[i] > node->most)
			node->most = node->left[i];
}

/* How much of the node's GPUs the jobs of one future would use. */
static int64_t rehearse(const struct future *future, struct filling node)
{
	const struct coming *end = future->jobs + future->count;
	int64_t used = 0;

	for (const struct coming *job = future->jobs; job < end; job++) {
		if (node.cpu_milli < job->rest_cpu_milli || node.most < job->rest_milli)
			break; /* nor will any that comes after */
		if (node.cpu_milli < job->cpu_milli || node.most < job->gpu_milli ||
		    node.whole < job->gpus)
			continue;
		if (job->gpus)
			node.whole -= job->gpus;
		else
			take_share(&node, job->gpu_milli);
		find_most(&node);
		node.cpu_milli -= job->cpu_milli;
		used += job->used_milli;
	}
	return used;
}

static uint64_t hash_key(const struct state_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)], hash = 0;

	memcpy(words, key, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15u;
		hash ^= hash >> 29;
	}
	return hash;
}

static int64_t worth(struct foresight_state *state, size_t type, int64_t cpu_milli,
		     const uint16_t *left, uint32_t gpu_count)
{
	struct state_key key;
	uint32_t count = 0;
	int64_t sum = 0;

	memset(&key, 0, sizeof(key));
	key.type = (uint32_t)type;
	key.cpu = state->cpu_quantum ? cpu_milli / state->cpu_quantum : 0;
	for (uint32_t i = 0; i < gpu_count; i++) {
		uint32_t at = count;

		if (left[i] == WHOLE_MILLI)
			key.whole++;
		if (left[i] == WHOLE_MILLI || left[i] == 0)
			continue;
		for (; at > 0 && key.left[at - 1] > left[i]; at--)
			key.left[at] = key.left[at - 1];
		key.left[at] = left[i];
		count++;
	}
	struct memo *memo = &state->memos[hash_key(&key) % MEMO_COUNT];

	if (memo->worth >= 0 && memcmp(&memo->key, &key, sizeof(key)) == 0)
		return memo->worth;
	struct filling node = { .cpu_milli = cpu_milli, .whole = key.whole, .count = count };

	memcpy(node.left, key.left, sizeof(node.left));
	find_most(&node);
	for (size_t i = 0; i < state->future_count; i++)
		sum += rehearse(&state->futures[type * state->future_count + i], node);
	memo->key = key;
	memo->worth = sum;
	return sum;
}

static double foresight_score(const void *conf, void *state_any,
			      const struct strata_candidate *node, const struct strata_need *need,
			      uint32_t *ret_gpu)
{
	struct foresight_state *state = state_any;
	int64_t cpu_milli = node->room->cpu_milli - need->cpu_milli, best = -1;
	uint16_t left[STRATA_NODE_GPUS_MAX];
	uint32_t wanted = need->gpus;

	(void)conf;
	if (!state)
		return strata_placement_best_fit.score(NULL, NULL, node, need, ret_gpu);
	size_t type = mix_types_find(&state->types, node->gpu_type);
	int64_t before =
		worth(state, type, node->room->cpu_milli, node->room->gpu_milli, node->gpu_count);

	memcpy(left, node->room->gpu_milli, sizeof(left));
	for (uint32_t i = 0; i < node->gpu_count; i++) {
		if (need->gpu_milli == 0 && wanted && left[i] == WHOLE_MILLI) {
			left[i] = 0;
			wanted--;
		}
		if (need->gpu_milli == 0 || left[i] < need->gpu_milli)
			continue;
		left[i] = (uint16_t)(left[i] - need->gpu_milli);
		int64_t after = worth(state, type, cpu_milli, left, node->gpu_count);

		left[i] = node->room->gpu_milli[i];
		if (after > best) {
			best = after;
			*ret_gpu = i;
		}
	}
	if (need->gpu_milli == 0)
		best = worth(state, type, cpu_milli, left, node->gpu_count);
	return (double)(before - best);
}

const struct strata_placement_class strata_placement_foresight = {
	.base = {
		.name = "foresight",
		.aliases = "rehearsal",
		.summary = "the node that loses the least of what typical jobs could still use",
		.conf_size = sizeof(struct foresight_conf),
		.options = foresight_options,
	},
	.keeps_together = true,
	.open = foresight_open,
	.close = foresight_close,
	.score = foresight_score,
};
