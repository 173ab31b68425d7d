/*
 * What every backfill must keep, in random clusters with random jobs and random events: nothing is overcommitted, every job is in one
 * state and its state's count is right, nobody waits for ever, and the head of the queue starts no later than it was first promised
 * unless something but time took its place.
 */
#include "../unit/small_cluster.h"

#include <strata/rng.h>

#include <errno.h>
#include <stdlib.h>

enum { JOBS_MAX = 400 };

struct world {
	struct strata_rng rng;
	int64_t now_s;
	uint64_t next_id;
	int64_t ends_s[JOBS_MAX + 1]; /* when a running job will end; 0: it is not running */
	bool exact;                   /* nothing but ends happens: promises must hold */
	uint32_t node_count;
};

static uint64_t below(struct world *world, uint64_t bound)
{
	return strata_rng_below(&world->rng, bound);
}

/* Adds up what is held on every node, from the jobs alone. */
static void check_rooms(void)
{
	const struct map_u64_entry *entry = NULL;
	struct strata_room *used =
		strata_arena_array(&small_arena, small->node_count, sizeof(*used));
	size_t counts[STRATA_JOB_STATE_COUNT] = { 0 };

	while ((entry = map_u64_next(&small->jobs, entry))) {
		const struct job *job = entry->value;
		bool placed = job->state == STRATA_JOB_SCHEDULED ||
			      job->state == STRATA_JOB_RUNNING;

		counts[job->state]++;
		CHECK(placed == (job->claim_count > 0));
		CHECK(placed == tree_node_in(&job->by_end));
		CHECK(!job->job_group || job->state == STRATA_JOB_QUEUED);
		for (uint32_t i = 0; i < job->claim_count; i++)
			room_give(&used[job->claims[i].node->row], &job->claims[i].piece);
	}
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		CHECK_INT(small->metrics.jobs[i], counts[i]);
	for (uint32_t row = 0; row < small->node_count; row++) {
		const struct node *node = &small->nodes[row];

		CHECK_INT(node->room.cpu_milli + used[row].cpu_milli,
			  node->node_type->whole.cpu_milli);
		CHECK_INT(node->room.memory_bytes + used[row].memory_bytes,
			  node->node_type->whole.memory_bytes);
		for (uint32_t k = 0; k < node->node_type->gpu_count; k++)
			CHECK_INT(node->room.gpu_milli[k] + used[row].gpu_milli[k], 1000);
		CHECK((node->group != NULL) == (node->state == STRATA_NODE_UP));
		if (node->group)
			CHECK(memcmp(&node->group->room, &node->room, sizeof(node->room)) == 0);
	}
}

static void submit(struct world *world)
{
	struct strata_job_request request =
		small_request(world->next_id, 0, 1 + (int64_t)below(world, 300));
	static const char *const users[] = { "ann", "bob", "cleo" };

	if (world->next_id > JOBS_MAX)
		return;
	request.user = users[below(world, 3)];
	request.band = world->exact ? STRATA_BAND_NORMAL : (enum strata_band)below(world, 3);
	request.cpu_milli = (int64_t)below(world, 5) * 1000;
	request.requeue = below(world, 2);
	switch (below(world, 6)) {
	case 0:
		request.tasks = request.nodes = 1 + (uint32_t)below(world, world->node_count);
		request.gpus = (uint32_t)below(world, 5);
		break;
	case 1:
		request.tasks = 1 + (uint32_t)below(world, 12);
		request.gpus = 1;
		request.cpu_milli = 500;
		break;
	case 2:
		request.gpu_milli = 1 + (uint32_t)below(world, 999);
		break;
	case 3:
		request.exclusive = true;
		break;
	default:
		request.gpus = (uint32_t)below(world, 9);
		break;
	}
	if (!world->exact && below(world, 8) == 0)
		request.begin_ns = (world->now_s + (int64_t)below(world, 100)) * SECOND;
	if (!world->exact && below(world, 8) == 0)
		request.features = "ib";
	small_submit(request, world->now_s);
	world->next_id++;
}

static void disturb(struct world *world)
{
	uint64_t id = 1 + below(world, world->next_id);
	struct strata_job_view view;

	if (strata_cluster_job(small, id, &view, NULL))
		return;
	switch (below(world, 4)) {
	case 0:
		if (strata_cluster_cancel(small, id, world->now_s * SECOND, NULL) == 0)
			world->ends_s[id] = 0;
		break;
	case 1:
		strata_cluster_hold(small, id, below(world, 2), world->now_s * SECOND, NULL);
		break;
	case 2:
		strata_cluster_ended(small, id, STRATA_OUTCOME_FAILED, world->now_s * SECOND, NULL);
		if (view.state == STRATA_JOB_RUNNING)
			world->ends_s[id] = 0;
		break;
	default:
		CHECK_OK(strata_cluster_set_node(small, (uint32_t)below(world, world->node_count),
						 (enum strata_node_state)below(world, 3),
						 world->now_s * SECOND, &err));
	}
}

static void end_due(struct world *world)
{
	for (uint64_t id = 1; id < world->next_id; id++) {
		struct strata_job_view view;

		if (world->ends_s[id] == 0 || world->ends_s[id] > world->now_s)
			continue;
		world->ends_s[id] = 0;
		if (strata_cluster_job(small, id, &view, NULL) == 0 &&
		    view.state == STRATA_JOB_RUNNING)
			small_end(id, world->now_s);
	}
}

static void pass(struct world *world)
{
	const struct strata_effect *effects;
	size_t count;

	CHECK_OK(strata_cluster_pass(small, world->now_s * SECOND, &small_arena, &effects, &count,
				     &err));
	for (size_t i = 0; i < count; i++) {
		uint64_t id = effects[i].job;

		if (effects[i].kind != STRATA_EFFECT_START) {
			world->ends_s[id] = 0;
			continue;
		}
		CHECK_OK(strata_cluster_started(small, id, world->now_s * SECOND, &err));
		struct job *job = map_u64_get(&small->jobs, id);
		int64_t limit_s = job->limit_ns / SECOND;

		if (world->exact && job->promised_ns)
			CHECK(job->start_ns <= job->promised_ns);
		world->ends_s[id] = world->now_s + 1 + (int64_t)below(world, (uint64_t)limit_s);
	}
	check_rooms();
}

/* To a later moment, with a pass at every end on the way. */
static void advance(struct world *world, int64_t to_s)
{
	for (;;) {
		int64_t next_s = to_s;

		for (uint64_t id = 1; id < world->next_id; id++)
			if (world->ends_s[id] && world->ends_s[id] < next_s)
				next_s = world->ends_s[id];
		world->now_s = next_s;
		end_due(world);
		if (next_s == to_s)
			return;
		pass(world);
		strata_arena_reset(&small_arena);
	}
}

/* With the nodes back and nothing new, everything that can run does. */
static void drain(struct world *world)
{
	for (uint32_t row = 0; row < world->node_count; row++)
		CHECK_OK(strata_cluster_set_node(small, row, STRATA_NODE_UP, world->now_s * SECOND,
						 &err));
	for (uint64_t id = 1; id < world->next_id; id++)
		strata_cluster_hold(small, id, false, world->now_s * SECOND, NULL);
	for (int round = 0; round < JOBS_MAX && small->metrics.jobs[STRATA_JOB_QUEUED] +
							small->metrics.jobs[STRATA_JOB_RUNNING];
	     round++) {
		advance(world, world->now_s + 600);
		pass(world);
		strata_arena_reset(&small_arena);
	}
	for (uint64_t id = 1; id < world->next_id; id++) {
		struct strata_job_view view = small_job(id);

		CHECK(strata_job_ended(view.state) || view.reason == STRATA_REASON_IMPOSSIBLE);
	}
}

static void live(const char *backfill, const char *order, const char *prediction, uint64_t seed,
		 bool exact)
{
	struct world world = { .next_id = 1, .exact = exact };

	strata_rng_init(&world.rng, seed, exact);
	world.node_count = 1 + (uint32_t)below(&world, 6);
	small_open_predicting(prediction, order, backfill, world.node_count, 8);
	struct strata_arena keep = small_arena; /* the specs stay when the scratch is reset */

	strata_arena_init(&small_arena, &small_memory, 0);
	for (int tick = 0; tick < 400; tick++) {
		advance(&world, world.now_s + (int64_t)below(&world, 20));
		for (uint64_t n = below(&world, 4); n; n--)
			submit(&world);
		if (!exact && below(&world, 3) == 0)
			disturb(&world);
		pass(&world);
		strata_arena_reset(&small_arena);
	}
	drain(&world);
	strata_arena_fini(&small_arena);
	small_arena = keep;
	small_close();
}

TEST(random_worlds_keep_the_rules)
{
	static const char *const orders[] = { "fifo", "sjf", "fair_share", "multifactor" },
				 *const predictions[] = { "requested", "learned", "user_last2" };

	for (const struct strata_class *const *at = strata_backfill_kind.classes; *at; at++)
		for (uint64_t seed = 1; seed <= 40; seed++)
			live((*at)->name, orders[seed % 4], predictions[seed % 3], seed, false);
}

TEST(promises_hold_when_only_jobs_come_and_go)
{
	for (const struct strata_class *const *at = strata_backfill_kind.classes; *at; at++)
		for (uint64_t seed = 1; seed <= 40; seed++)
			live((*at)->name, "fifo", "requested", seed, true);
}
