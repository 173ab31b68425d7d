/*
 * What every placement must keep, on random clusters with random jobs, ends and failures: a model that knows every node by itself
 * checks that what is started has room there and may be there, that what is not started fits nowhere, and that the nodes
 * are the ones the class itself likes best, which is asked node by node.
 */
#include "test.h"

#include "core/class.h"
#include "random.h"

#include <strata/cluster.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 40, JOBS_MAX = 400, PIECES_MAX = NODES_MAX };

static struct strata_memory memory;
static struct strata_error err;

struct model_node {
	char name[8];
	struct strata_node_conf conf;
	struct strata_room room;
	enum strata_node_state state;
	uint32_t jobs;
	bool taken_whole; /* by an exclusive job */
};

struct model_job {
	struct strata_job_request request;
	struct strata_piece pieces[PIECES_MAX];
	uint32_t piece_count; /* 0: not running */
};

static struct world {
	uint64_t seed;
	const struct strata_placement_class *cls;
	void *conf, *state; /* of the model's own copy of the class */
	struct strata_arena arena, scratch;
	struct strata_cluster *cluster;
	struct strata_registry *registry;
	struct strata_mix mix;
	struct model_node nodes[NODES_MAX];
	uint32_t node_count;
	struct model_job jobs[JOBS_MAX];
	uint32_t job_count;
	uint64_t decisions; /* a hash of all */
} world;

static uint64_t below(uint64_t count)
{
	return random_below(&world.seed, count);
}

static const char *one_of(const char *const *texts, size_t count)
{
	return texts[below(count)];
}
#define ONE_OF(...)                                  \
	one_of((const char *const[]){ __VA_ARGS__ }, \
	       sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* ---- the model ---- */

static bool in_list(const char *list, const char *word, char separator)
{
	size_t length = strlen(word);

	for (const char *at = list; at && *at;) {
		const char *end = strchr(at, separator);
		size_t span = end ? (size_t)(end - at) : strlen(at);

		if (span == length && memcmp(at, word, span) == 0)
			return true;
		at += span + (end != NULL);
	}
	return false;
}

/* May the job be there, however full it is? */
static bool allowed(const struct model_node *node, const struct strata_job_request *request)
{
	if (node->state != STRATA_NODE_UP)
		return false;
	if (request->gpu_type &&
	    (!node->conf.gpu_type || !in_list(request->gpu_type, node->conf.gpu_type, '|')))
		return false;
	if (request->partition && node->conf.partitions &&
	    !in_list(node->conf.partitions, request->partition, ','))
		return false;
	if (request->features && !in_list(node->conf.features, request->features, ','))
		return false;
	if (request->node_list && !in_list(request->node_list, node->name, ','))
		return false;
	return !request->node_exclude || !in_list(request->node_exclude, node->name, ',');
}

static bool fits(const struct model_node *node, const struct strata_job_request *request,
		 uint32_t tasks)
{
	uint32_t whole = 0, most = 0;

	for (uint32_t i = 0; i < node->conf.gpu_count; i++) {
		whole += node->room.gpu_milli[i] == 1000;
		most = node->room.gpu_milli[i] > most ? node->room.gpu_milli[i] : most;
	}
	if (request->exclusive && node->jobs)
		return false;
	return allowed(node, request) && tasks * request->cpu_milli <= node->room.cpu_milli &&
	       tasks * request->memory_bytes <= node->room.memory_bytes &&
	       tasks * request->gpus <= whole && request->gpu_milli <= most;
}

static uint32_t tasks_in(const struct model_node *node, const struct strata_job_request *request)
{
	uint32_t tasks = 0;

	while (tasks < request->tasks && fits(node, request, tasks + 1))
		tasks++;
	return tasks;
}

static struct strata_need need_of(const struct model_node *node,
				  const struct strata_job_request *request, uint32_t tasks)
{
	if (request->exclusive)
		return (struct strata_need){ node->conf.cpu_milli, node->conf.memory_bytes,
					     node->conf.gpu_count, 0 };
	return (struct strata_need){ tasks * request->cpu_milli, tasks * request->memory_bytes,
				     tasks * request->gpus, request->gpu_milli };
}

/* What the class says of a node; also that it says the same twice and points at a GPU that will do. */
static double score_of(const struct model_node *node, const struct strata_need *need,
		       uint32_t *ret_gpu)
{
	struct strata_room whole = { .cpu_milli = node->conf.cpu_milli,
				     .memory_bytes = node->conf.memory_bytes };
	struct strata_candidate candidate = {
		.room = &node->room,
		.whole = &whole,
		.gpu_count = node->conf.gpu_count,
		.gpu_type = node->conf.gpu_type,
		.numa = node->conf.numa,
	};
	struct strata_need seen = world.cls->ignores_need ? (struct strata_need){ 0 } : *need;
	uint32_t usual = 0, gpu[2];
	double score[2];

	for (uint32_t i = 0; i < node->conf.gpu_count; i++) {
		whole.gpu_milli[i] = 1000;
		if (need->gpu_milli && node->room.gpu_milli[i] >= need->gpu_milli &&
		    (node->room.gpu_milli[usual] < need->gpu_milli ||
		     node->room.gpu_milli[i] < node->room.gpu_milli[usual]))
			usual = i;
	}
	for (int i = 0; i < 2; i++) {
		gpu[i] = usual;
		score[i] = world.cls->score(world.conf, world.state, &candidate, &seen, &gpu[i]);
		CHECK(isfinite(score[i]));
	}
	CHECK(score[0] == score[1] && gpu[0] == gpu[1]);
	if (need->gpu_milli)
		CHECK(gpu[0] < node->conf.gpu_count &&
		      node->room.gpu_milli[gpu[0]] >= need->gpu_milli);
	*ret_gpu = gpu[0];
	return score[0];
}

static bool apart(const struct model_node *node, uint32_t gpus)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < node->conf.gpu_count; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < node->conf.gpu_count; k++)
			same += node->conf.numa[k] == node->conf.numa[i] &&
				node->room.gpu_milli[k] == 1000;
		most = same > most ? same : most;
	}
	return world.cls->keeps_together && gpus > 1 && most < gpus;
}

/* The nodes that a job should get, best first: by score, or the emptiest when it may have any number. */
static uint32_t expect(const struct strata_job_request *request, uint32_t *rows, uint32_t *gpu)
{
	uint32_t wanted = request->nodes ? request->nodes : 1, found = 0, left = request->tasks;
	uint32_t per_node = (request->tasks + wanted - 1) / wanted;
	bool used[NODES_MAX] = { 0 };

	for (; found < wanted; found++) {
		struct {
			double score;
			bool apart;
			uint32_t row, gpu;
		} best = { .row = NODES_MAX };

		for (uint32_t row = 0; row < world.node_count; row++) {
			const struct model_node *node = &world.nodes[row];
			struct strata_need need = need_of(node, request, per_node);
			uint32_t chosen;

			if (used[row] || !fits(node, request, per_node))
				continue;
			double score = score_of(node, &need, &chosen);
			bool split = apart(node, need.gpus);

			if (best.row == NODES_MAX || score < best.score ||
			    (score == best.score && split < best.apart)) {
				best.score = score;
				best.apart = split;
				best.row = row;
				best.gpu = chosen;
			}
		}
		if (best.row == NODES_MAX)
			break;
		used[best.row] = true;
		rows[found] = best.row;
		*gpu = best.gpu;
	}
	if (found == wanted || request->nodes || request->tasks == 1)
		return found == wanted ? found : 0;
	for (found = 0; left; found++) {
		uint32_t most = 0;

		for (uint32_t row = 0; row < world.node_count; row++)
			if (!used[row] && tasks_in(&world.nodes[row], request) > most) {
				most = tasks_in(&world.nodes[row], request);
				rows[found] = row;
			}
		if (most == 0)
			return 0;
		used[rows[found]] = true;
		left -= most < left ? most : left;
	}
	return found;
}

static void take(struct model_node *node, const struct strata_piece *piece, int sign)
{
	node->room.cpu_milli -= sign * piece->cpu_milli;
	node->room.memory_bytes -= sign * piece->memory_bytes;
	CHECK(node->room.cpu_milli >= 0 && node->room.memory_bytes >= 0);
	for (uint32_t i = 0; i < STRATA_NODE_GPUS_MAX; i++)
		if (piece->gpu_mask >> i & 1) {
			int left = node->room.gpu_milli[i] - sign * piece->gpu_milli;

			CHECK(i < node->conf.gpu_count && left >= 0 && left <= 1000);
			node->room.gpu_milli[i] = (uint16_t)left;
		}
	node->jobs += (uint32_t)sign;
}

/* ---- what a start must keep ---- */

static void check_piece(const struct strata_job_request *request, const struct strata_piece *piece,
			uint32_t gpu)
{
	struct model_node *node = &world.nodes[piece->node];
	struct strata_need need = need_of(node, request, piece->tasks);
	uint32_t gpus = (uint32_t)__builtin_popcount(piece->gpu_mask);

	CHECK(fits(node, request, piece->tasks) && !node->taken_whole);
	CHECK_INT(piece->cpu_milli, need.cpu_milli);
	CHECK_INT(piece->memory_bytes, need.memory_bytes);
	if (need.gpu_milli) {
		CHECK_INT(piece->gpu_mask, 1 << gpu);
		CHECK_INT(piece->gpu_milli, need.gpu_milli);
	} else {
		CHECK_INT(gpus, need.gpus);
		CHECK(gpus == 0 || piece->gpu_milli == 1000);
	}
}

static void check_start(struct model_job *job, const struct strata_effect *effect)
{
	uint32_t rows[NODES_MAX], gpu = 0, count = expect(&job->request, rows, &gpu), tasks = 0;

	CHECK_INT(effect->kind, STRATA_EFFECT_START);
	CHECK_INT(effect->piece_count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct strata_piece *piece = &effect->pieces[i];

		CHECK_INT(piece->node, rows[i]);
		check_piece(&job->request, piece, gpu);
		tasks += piece->tasks;
		job->pieces[i] = *piece;
	}
	CHECK_INT(tasks, job->request.tasks);
	for (uint32_t i = 0; i < count; i++) {
		take(&world.nodes[rows[i]], &job->pieces[i], 1);
		world.nodes[rows[i]].taken_whole = job->request.exclusive;
	}
	job->piece_count = count;
	int quality = strata_placement_quality(world.cluster, job->pieces, count);

	CHECK(count > 1 ? quality == 50 : quality >= 100 && quality <= 150);
}

/* ---- what happens ---- */

static void note(uint64_t word)
{
	world.decisions = (world.decisions ^ word) * 0x9E3779B97F4A7C15u;
	world.decisions ^= world.decisions >> 29;
}

static void make_request(struct strata_job_request *request, uint64_t id)
{
	static const uint32_t gpus[] = { 0, 0, 1, 1, 1, 2, 2, 3, 4, 8 };

	*request = (struct strata_job_request){
		.id = id,
		.user = "somebody",
		.band = STRATA_BAND_NORMAL,
		.tasks = below(4) ? 1 : 1 + (uint32_t)below(6),
		.cpu_milli = 1000 * (int64_t)below(12),
		.memory_bytes = (int64_t)below(8) << 30,
		.gpus = gpus[below(10)],
		.time_limit_ns = 1,
		.gpu_type = ONE_OF(NULL, NULL, NULL, "a100", "a100|h100", "l4|h100"),
		.features = ONE_OF(NULL, NULL, NULL, "ib", "big"),
		.partition = ONE_OF(NULL, NULL, "gpu", "debug"),
		.node_list = ONE_OF(NULL, NULL, NULL, NULL, "n0,n1,n2,n3,n5,n7"),
		.node_exclude = ONE_OF(NULL, NULL, NULL, NULL, "n1,n4,n6"),
		.exclusive = below(12) == 0,
	};
	if (request->tasks == 1 && request->gpus == 0 && below(3))
		request->gpu_milli = 100 * (uint32_t)(1 + below(9));
	if (request->tasks > 1 && below(2))
		request->nodes = 1 + (uint32_t)below(request->tasks);
}

static void submit(void)
{
	struct model_job *job = &world.jobs[world.job_count];
	const struct strata_effect *effects;
	size_t count;
	uint32_t rows[NODES_MAX], gpu;

	make_request(&job->request, world.job_count + 1);
	if (world.job_count && below(4)) { /* most ask for what somebody asked for before */
		job->request = world.jobs[below(world.job_count)].request;
		job->request.id = world.job_count + 1;
	}
	CHECK_OK(strata_cluster_submit(world.cluster, &job->request, 0, &err));
	CHECK_OK(strata_cluster_pass(world.cluster, 0, &world.scratch, &effects, &count, &err));
	world.job_count++;
	CHECK(count <= 1);
	if (count) {
		check_start(job, effects);
		for (uint32_t i = 0; i < job->piece_count; i++)
			note((uint64_t)job->pieces[i].node << 16 | job->pieces[i].gpu_mask);
	} else { /* all or nothing: it would not have fitted */
		CHECK_INT(expect(&job->request, rows, &gpu), 0);
		CHECK_OK(strata_cluster_cancel(world.cluster, job->request.id, 0, &err));
		CHECK_OK(strata_cluster_forget(world.cluster, job->request.id, &err));
	}
	strata_arena_reset(&world.scratch);
}

static void give_back(struct model_job *job)
{
	for (uint32_t i = 0; i < job->piece_count; i++) {
		take(&world.nodes[job->pieces[i].node], &job->pieces[i], -1);
		world.nodes[job->pieces[i].node].taken_whole = false;
	}
	job->piece_count = 0;
}

static void end_one(void)
{
	struct model_job *job = world.job_count ? &world.jobs[below(world.job_count)] : NULL;

	if (!job || !job->piece_count)
		return;
	CHECK_OK(strata_cluster_ended(world.cluster, job->request.id, STRATA_OUTCOME_COMPLETED, 0,
				      &err));
	CHECK_OK(strata_cluster_forget(world.cluster, job->request.id, &err));
	give_back(job);
}

static void change_node(void)
{
	uint32_t row = (uint32_t)below(world.node_count);
	struct model_node *node = &world.nodes[row];
	enum strata_node_state state = (enum strata_node_state)below(3);
	const struct strata_effect *effects;
	size_t count;

	if (state != STRATA_NODE_UP && below(2))
		state = STRATA_NODE_UP;
	if (state == STRATA_NODE_DOWN && node->state != STRATA_NODE_DOWN)
		for (uint32_t i = 0; i < world.job_count; i++)
			for (uint32_t k = 0; k < world.jobs[i].piece_count; k++)
				if (world.jobs[i].pieces[k].node == row)
					give_back(&world.jobs[i]);
	CHECK_OK(strata_cluster_set_node(world.cluster, row, state, 0, &err));
	node->state = state;
	CHECK_OK(strata_cluster_pass(world.cluster, 0, &world.scratch, &effects, &count, &err));
	for (size_t i = 0; i < count; i++)
		CHECK_INT(effects[i].kind, STRATA_EFFECT_LOST);
	strata_arena_reset(&world.scratch);
}

/* ---- random worlds ---- */

static void make_node(uint32_t row)
{
	struct model_node *node = &world.nodes[row];

	snprintf(node->name, sizeof(node->name), "n%u", row);
	node->conf = (struct strata_node_conf){
		.name = node->name,
		.cpu_milli = 16000 * (int64_t)(1 + below(4)),
		.memory_bytes = INT64_C(32) << 30,
		.gpu_count = below(8) ? 1u << below(4) : 0,
		.gpu_type = ONE_OF("a100", "h100", "l4"),
		.features = ONE_OF(NULL, "ib", "big,ib"),
		.partitions = ONE_OF(NULL, "gpu", "gpu,debug"),
	};
	if (node->conf.gpu_count == 0)
		node->conf.gpu_type = NULL;
	for (uint32_t i = 0; i < node->conf.gpu_count; i++)
		node->conf.numa[i] = (uint8_t)(below(2) ? i / 2 : i % 2);
	node->room = (struct strata_room){ .cpu_milli = node->conf.cpu_milli,
					   .memory_bytes = node->conf.memory_bytes };
	for (uint32_t i = 0; i < node->conf.gpu_count; i++)
		node->room.gpu_milli[i] = 1000;
	CHECK_OK(strata_cluster_add_node(world.cluster, &node->conf, NULL, &err));
}

static void make_mix(void)
{
	struct strata_need needs[64];
	const char *types[64];

	for (int i = 0; i < 64; i++) {
		struct strata_job_request request;

		make_request(&request, 1);
		needs[i] = (struct strata_need){ request.cpu_milli, request.memory_bytes,
						 request.gpus, request.gpu_milli };
		types[i] = request.gpu_type;
	}
	CHECK_OK(strata_mix_make(needs, types, 64, 0.9, &world.arena, &world.mix, &err));
}

static void open_world(const struct strata_class *cls, uint64_t seed, bool with_mix)
{
	struct strata_schema schema = class_schema(cls);
	struct strata_cluster_conf conf = { 0 };

	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.cls = (const struct strata_placement_class *)cls;
	strata_arena_init(&world.arena, &memory, 0);
	strata_arena_init(&world.scratch, &memory, 0);
	world.conf = strata_arena_get(&world.arena, cls->conf_size);
	CHECK_OK(strata_schema_defaults(&schema, &world.arena, world.conf, &err));
	make_mix();
	conf.mix = with_mix ? &world.mix : NULL;
	if (world.cls->open)
		CHECK_OK(world.cls->open(world.conf, conf.mix, &memory, &world.state, &err));
	CHECK_OK(strata_registry_new(&strata_backfill_kind, &memory, &world.registry, &err));
	CHECK_OK(strata_spec_read(world.registry, "none", 4, &world.arena, &conf.backfill, &err));
	conf.placement = (struct strata_spec){ cls, world.conf };
	CHECK_OK(strata_cluster_new(&conf, &memory, &world.cluster, &err));
	world.node_count = 1 + (uint32_t)below(NODES_MAX);
	for (uint32_t row = 0; row < world.node_count; row++) {
		if (row && below(2)) { /* some are like the one before */
			uint64_t now = world.seed;

			world.seed = seed;
			make_node(row);
			world.seed = now;
			continue;
		}
		make_node(row);
	}
}

static void close_world(void)
{
	strata_cluster_free(world.cluster);
	strata_registry_free(world.registry);
	if (world.cls->close)
		world.cls->close(world.state);
	strata_arena_fini(&world.scratch);
	strata_arena_fini(&world.arena);
	CHECK_INT(memory.used_bytes, 0);
}

static uint64_t live(const struct strata_class *cls, uint64_t seed, bool with_mix)
{
	open_world(cls, seed, with_mix);
	while (world.job_count < JOBS_MAX) {
		uint64_t what = below(20);

		if (what < 12)
			submit();
		else if (what < 19)
			end_one();
		else
			change_node();
	}
	close_world();
	return world.decisions;
}

static void each_placement(void (*check)(const struct strata_class *cls))
{
	for (const struct strata_class *const *at = strata_placement_kind.classes; *at; at++)
		check(*at);
}

static void keeps_its_word(const struct strata_class *cls)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		live(cls, seed, seed % 4 != 0);
}

TEST(what_starts_has_room_and_is_best_and_what_waits_fits_nowhere)
{
	each_placement(keeps_its_word);
}

static void repeats_itself(const struct strata_class *cls)
{
	CHECK(live(cls, 99, true) == live(cls, 99, true));
}

TEST(the_same_events_give_the_same_decisions)
{
	each_placement(repeats_itself);
}

/* ---- without memory ---- */

static int short_life(struct strata_memory *limited, void *context, struct strata_error *error)
{
	const struct strata_class *cls = context;
	struct strata_schema schema = class_schema(cls);
	struct strata_need needs[2] = { { 4000, 0, 1, 0 }, { 1000, 0, 0, 500 } };
	double parts[2] = { 0.5, 0.5 };
	const char *const types[2] = { NULL, "a100|h100" };
	struct strata_mix mix = { needs, types, parts, 2 };
	struct strata_cluster_conf conf = { .placement = { .cls = cls }, .mix = &mix };
	struct strata_cluster *cluster = NULL;
	struct strata_arena arena;

	strata_arena_init(&arena, limited, 0);
	conf.placement.conf = strata_arena_get(&arena, cls->conf_size);
	int rc = conf.placement.conf
			 ? strata_schema_defaults(&schema, &arena, conf.placement.conf, error)
			 : strata_fail_memory(error);

	if (rc == 0)
		rc = strata_cluster_new(&conf, limited, &cluster, error);
	for (int i = 0; rc == 0 && i < 20; i++) {
		struct strata_node_conf node = { .name = i % 2 ? "odd" : "even",
						 .cpu_milli = 16000,
						 .gpu_count = 2,
						 .gpu_type = "a100" };

		rc = strata_cluster_add_node(cluster, &node, NULL, error);
	}
	for (uint64_t i = 0; rc == 0 && i < 6; i++) {
		struct strata_job_request request = { .id = i + 1,
						      .user = "somebody",
						      .tasks = i == 5 ? 3 : 1,
						      .nodes = i == 5 ? 3 : 0,
						      .gpus = i % 2,
						      .gpu_milli = i % 2 ? 0 : 500,
						      .time_limit_ns = 1 };
		const struct strata_effect *effects;
		size_t count;

		rc = strata_cluster_submit(cluster, &request, 0, error);
		if (rc == 0)
			rc = strata_cluster_pass(cluster, 0, &arena, &effects, &count, error);
	}
	for (uint64_t id = 1; rc == 0 && id <= 6; id++) {
		struct strata_job_view view;

		CHECK_OK(strata_cluster_job(cluster, id, &view, &err));
		test_result_int(view.state);
		for (uint32_t i = 0; i < view.piece_count; i++) {
			const struct strata_piece *piece = &view.pieces[i];

			test_result_int(piece->node);
			test_result_int(piece->tasks);
			test_result_int(piece->cpu_milli);
			test_result_int(piece->memory_bytes);
			test_result_int(piece->gpu_mask);
			test_result_int(piece->gpu_milli);
		}
	}
	strata_cluster_free(cluster);
	strata_arena_fini(&arena);
	return rc;
}

static void survives_without_memory(const struct strata_class *cls)
{
	test_every_allocation(short_life, (void *)(uintptr_t)cls);
}

TEST(every_allocation_may_fail)
{
	each_placement(survives_without_memory);
}
