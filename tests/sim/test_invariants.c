/*
 * Random clusters, jobs and faults, and what must hold at every tick whatever happens: nothing is overcommitted, every job is in one
 * state and where that state says, counts are right, what has ended stays so, limits and dependencies are kept, a gang starts as one, only
 * checkpoints nobody needs are deleted, and in the end everybody who can run has run. Doing the log over gives the same cluster.
 *
 * A tick is one thing that happens and one pass. Reports come late, twice, or about the wrong job; clocks jump back; nodes die. The seed of
 * a world that fails is printed; STRATA_SEED runs that one alone, STRATA_TICKS more or fewer ticks.
 */
#include "test.h"

#include "cluster/cluster_int.h"

#include <strata/rng.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

enum { WORLD_TICKS = 2000, LIVE_MAX = 48, JOBS_MAX = 2 * WORLD_TICKS, DEPENDENCIES_MAX = 3 };
#ifndef TICKS
#define TICKS 1000000
#endif

struct fate {
	bool known, started, ended, ok; /* what was seen of a job */
	uint64_t array;
	struct strata_job_request request;
	struct strata_dependency dependencies[DEPENDENCIES_MAX];
	/* whose request it has since a change, and whose dependencies; NULL: its own */
	const struct fate *asks, *waits;
};

static const struct fate *asks_of(const struct fate *fate)
{
	return fate->asks ? fate->asks : fate;
}

static const struct fate *waits_of(const struct fate *fate)
{
	return fate->waits ? fate->waits : fate;
}

/* A reservation as it was told. */
struct booked {
	char name[4];
	struct strata_kept kept;
	struct strata_advance advance; /* without a name: there is none */
};
enum { BOOKED_MAX = 4, BOOKED_TOLD_MAX = 2 * WORLD_TICKS };

struct world {
	struct booked booked[BOOKED_MAX]; /* now */
	struct booked *told;              /* ever */
	size_t told_count;
	struct strata_memory memory;
	struct strata_arena confs, scratch;
	struct strata_cluster *cluster;
	struct strata_rng rng;
	int64_t now_ns;
	uint64_t seed, next_id, next_group;
	uint32_t node_count;
	struct fate *fates;
	uint64_t live[JOBS_MAX];
	size_t live_count;
	struct strata_event *log;
	size_t log_count, log_room;
	bool limited;
};

static struct strata_error err;
static uint64_t seen[STRATA_EFFECT_KIND_COUNT]; /* effects of all worlds */
static uint64_t changed[2]; /* requests, dependencies */
static uint64_t kept_free;  /* starts that were held against a reservation of somebody else */
static const char *const users[] = { "ann", "bob", "cleo" };
static const char *const accounts[] = { NULL, "vision", "speech" };
static const char *const names[] = { NULL, "train", "eval" };

static uint64_t below(struct world *world, uint64_t bound)
{
	return strata_rng_below(&world->rng, bound);
}

static bool one_in(struct world *world, uint64_t bound)
{
	return below(world, bound) == 0;
}

/* ---- the log ---- */

static int tell(struct world *world, struct strata_event event,
		const struct strata_effect **effects, size_t *count)
{
	/* now and then the clock that an event carries is behind */
	event.now_ns = one_in(world, 20) ? world->now_ns - (int64_t)below(world, 100) * SECOND
					 : world->now_ns;
	if (world->log_count == world->log_room) {
		world->log_room = world->log_room ? world->log_room * 2 : 1024;
		world->log = realloc(world->log, world->log_room * sizeof(*world->log));
		CHECK(world->log != NULL);
	}
	world->log[world->log_count++] = event;
	return strata_cluster_apply(world->cluster, &event, &world->scratch, effects, count, NULL);
}

static int report(struct world *world, enum strata_event_kind kind, uint64_t job)
{
	return tell(world, (struct strata_event){ .kind = kind, .job = job }, NULL, NULL);
}

static int report_end(struct world *world, uint64_t job, enum strata_outcome outcome)
{
	return tell(
		world,
		(struct strata_event){ .kind = STRATA_EVENT_ENDED, .job = job, .outcome = outcome },
		NULL, NULL);
}

/* ---- the world ---- */

static struct strata_spec pick(struct world *world, const struct strata_kind *kind,
			       const char *options)
{
	struct strata_registry *registry;
	struct strata_spec spec;
	char text[128];
	size_t count = 0;

	while (kind->classes[count])
		count++;
	snprintf(text, sizeof(text), "%s%s", kind->classes[below(world, count)]->name, options);
	CHECK_OK(strata_registry_new(kind, &world->memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, text, strlen(text), &world->confs, &spec, &err));
	strata_registry_free(registry);
	return spec;
}

static struct strata_cluster *make_cluster(struct world *world,
					   const struct strata_cluster_conf *conf)
{
	struct strata_cluster *cluster;
	struct strata_limits some = { .jobs = 4, .gpu_milli = 6000, .gpu_hours = 2 };

	CHECK_OK(strata_cluster_new(conf, &world->memory, &cluster, &err));
	for (uint32_t i = 0; i < world->node_count; i++) {
		char name[16];
		struct strata_node_conf node = { .name = name,
						 .cpu_milli = 8000,
						 .memory_bytes = INT64_C(64) << 30,
						 .gpu_count = i % 3 ? 4 : 8,
						 .gpu_type = i % 2 ? "a100" : "h100",
						 .numa = { 0, 0, 1, 1, 0, 0, 1, 1 } };

		snprintf(name, sizeof(name), "n%u", i);
		CHECK_OK(strata_cluster_add_node(cluster, &node, NULL, &err));
	}
	if (world->limited) {
		CHECK_OK(strata_cluster_set_account(cluster, "vision", NULL, 2, &some, &err));
		CHECK_OK(strata_cluster_set_user(cluster, "ann", "speech", 1, &some, &err));
		some = (struct strata_limits){ .jobs = 2 };
		CHECK_OK(strata_cluster_set_qos(cluster, "low", 0, 0.5, &some, &err));
	}
	return cluster;
}

static void fill_demand(struct world *world, struct strata_job_request *request)
{
	switch (below(world, 8)) {
	case 0:
		request->tasks = request->nodes = 1 + (uint32_t)below(world, world->node_count);
		request->gpus = (uint32_t)below(world, 5);
		break;
	case 1:
		request->tasks = 1 + (uint32_t)below(world, 12);
		request->gpus = 1;
		request->cpu_milli = 500;
		break;
	case 2:
		request->gpu_milli = 1 + (uint32_t)below(world, 999);
		break;
	case 3:
		request->exclusive = true;
		break;
	case 4:
		request->nodes = 1 + (uint32_t)below(world, 2);
		request->tasks = request->nodes * (1 + (uint32_t)below(world, 2));
		request->gpus_per_node = 1 + (uint32_t)below(world, 4);
		request->memory_per_node_bytes = (int64_t)below(world, 40) << 30;
		break;
	default:
		request->gpus = (uint32_t)below(world, 9);
		request->memory_bytes = (int64_t)below(world, 40) << 30;
		break;
	}
}

static void fill_dependencies(struct world *world, struct fate *fate)
{
	struct strata_job_request *request = &fate->request;
	size_t count = 1 + below(world, DEPENDENCIES_MAX);

	for (size_t i = 0; i < count; i++) {
		struct strata_dependency *dependency =
			&fate->dependencies[request->dependency_count];
		uint64_t id = world->live_count ? world->live[below(world, world->live_count)] : 0;

		*dependency = (struct strata_dependency){
			.kind = (enum strata_dependency_kind)below(world, 6),
			.job = id,
		};
		if (dependency->kind == STRATA_SINGLETON)
			dependency->job = 0;
		else if (!id)
			continue;
		else if (world->fates[id].array && one_in(world, 2)) {
			dependency->array = true;
			dependency->job = world->fates[id].array;
		}
		if (dependency->kind == STRATA_AFTER)
			dependency->delay_ns = (int64_t)below(world, 3) * 10 * SECOND;
		request->dependency_count++;
	}
	request->dependencies = fate->dependencies;
	request->any_dependency = one_in(world, 3);
	request->cancel_if_never = one_in(world, 2);
}

/* A job, all of an array or all of a gang. */
static void submit_some(struct world *world)
{
	uint64_t group = one_in(world, 6) ? ++world->next_group : 0;
	bool gang = one_in(world, 2);
	uint32_t count = group ? 1 + (uint32_t)below(world, gang ? 3 : 5) : 1;
	uint32_t limit = (uint32_t)below(world, 3);
	struct fate model = { .request = { .user = users[below(world, 3)],
					   .account = accounts[below(world, 3)],
					   .qos = one_in(world, 4) ? "low" : NULL,
					   .name = names[below(world, 3)],
					   .band = (enum strata_band)below(world, 3),
					   .priority = (int64_t)below(world, 3),
					   .tasks = 1,
					   .cpu_milli = (int64_t)below(world, 5) * 1000,
					   .time_limit_ns = (1 + (int64_t)below(world, 300)) *
							    SECOND,
					   .requeue = one_in(world, 2),
					   .preemptible = one_in(world, 2),
					   .held = one_in(world, 30),
					   .checkpoint_ns = one_in(world, 3) ? 40 * SECOND : 0 } };

	for (uint32_t i = 0; i < count && world->next_id < JOBS_MAX; i++) {
		struct fate *fate = &world->fates[world->next_id];

		*fate = model;
		fate->request.id = world->next_id;
		fill_demand(world, &fate->request);
		if (one_in(world, 8))
			fate->request.begin_ns = world->now_ns + (int64_t)below(world, 90) * SECOND;
		if (group && gang) {
			fate->request.gang = group;
			fate->request.gang_size = count;
		} else if (group) {
			fate->request.array = fate->array = group;
			fate->request.array_index = i;
			fate->request.array_limit = limit;
		}
		if (one_in(world, 4))
			fill_dependencies(world, fate);
		int rc = tell(world,
			      (struct strata_event){ .kind = STRATA_EVENT_SUBMIT,
						     .request = &fate->request },
			      NULL, NULL);

		CHECK(rc == 0 || rc == -ESRCH); /* it may depend on what is forgotten */
		if (rc)
			return;
		fate->known = true;
		world->live[world->live_count++] = world->next_id++;
	}
}

/* Something true is reported of a job: what a service would say next. */
static void go_on(struct world *world, uint64_t id)
{
	struct strata_job_view view;
	enum strata_outcome outcome = (enum strata_outcome)below(world, 3);

	CHECK_OK(strata_cluster_job(world->cluster, id, &view, &err));
	if (view.stopping) {
		report_end(world, id, one_in(world, 4) ? outcome : STRATA_OUTCOME_STOPPED);
	} else if (view.state == STRATA_JOB_SCHEDULED) {
		if (one_in(world, 12))
			report_end(world, id, STRATA_OUTCOME_START_FAILED);
		else
			report(world, STRATA_EVENT_STARTED, id);
	} else if (view.state == STRATA_JOB_RUNNING && one_in(world, 3)) {
		report_end(world, id, one_in(world, 2) ? STRATA_OUTCOME_COMPLETED : outcome);
	} else if (strata_job_ended(view.state) && one_in(world, 3)) {
		report(world, STRATA_EVENT_FORGET, id);
	}
}

static void write_checkpoint(struct world *world, uint64_t id)
{
	static const char *const paths[] = { "a", "b", "c", "d", "e" };

	tell(world,
	     (struct strata_event){
		     .kind = STRATA_EVENT_CHECKPOINT,
		     .job = id,
		     .checkpoint = { paths[below(world, 5)], 1 << 20, world->now_ns, -1 } },
	     NULL, NULL);
}

/* What another job asks for and waits for is as good as any. */
static void change(struct world *world, uint64_t id)
{
	const struct fate *other =
		&world->fates[world->live_count ? world->live[below(world, world->live_count)] : id];
	struct strata_job_change change = {
		.what = (unsigned)below(world, 64),
		.request = &other->request,
		.band = (enum strata_band)below(world, 3),
		.priority = (int64_t)below(world, 5),
		.time_limit_ns = (1 + (int64_t)below(world, 200)) * SECOND,
		.begin_ns = world->now_ns + (int64_t)below(world, 50) * SECOND,
	};

	if (tell(world,
		 (struct strata_event){ .kind = STRATA_EVENT_CHANGE, .job = id, .change = change },
		 NULL, NULL))
		return;
	if (change.what & STRATA_CHANGE_REQUEST)
		world->fates[id].asks = other;
	if (change.what & STRATA_CHANGE_DEPENDENCIES)
		world->fates[id].waits = other;
	changed[0] += (change.what & STRATA_CHANGE_REQUEST) != 0;
	changed[1] += (change.what & STRATA_CHANGE_DEPENDENCIES) != 0;
}

/* Parts of a node are reserved, for one user or nobody, or are not any more. */
static void reserve(struct world *world)
{
	struct booked *booked = &world->booked[below(world, BOOKED_MAX)];
	uint32_t row = (uint32_t)below(world, world->node_count);
	uint32_t gpus = row % 3 ? 4 : 8;

	if (booked->advance.name && one_in(world, 2)) {
		tell(world,
		     (struct strata_event){ .kind = STRATA_EVENT_UNRESERVE,
					    .name = booked->advance.name },
		     NULL, NULL);
		booked->advance.name = NULL;
		return;
	}
	/* the log keeps what it was told: a new place for each */
	booked = &world->told[world->told_count++ % BOOKED_TOLD_MAX];
	snprintf(booked->name, sizeof(booked->name), "r%u", (unsigned)below(world, BOOKED_MAX));
	booked->kept = (struct strata_kept){ row, (uint16_t)below(world, 1u << gpus) };
	if (one_in(world, 3))
		booked->kept.gpu_mask = 0;
	booked->advance = (struct strata_advance){
		.name = booked->name,
		.begin_ns = world->now_ns + (int64_t)below(world, 200) * SECOND,
		.users = one_in(world, 2) ? users[below(world, 3)] : NULL,
		.accounts = one_in(world, 4) ? accounts[1] : NULL,
		.kept = &booked->kept,
		.kept_count = 1
	};
	booked->advance.end_ns = booked->advance.begin_ns +
				 (1 + (int64_t)below(world, 100)) * SECOND;
	if (one_in(world, 3))
		booked->advance.every_ns = 150 * SECOND;
	CHECK_INT(tell(world,
		       (struct strata_event){ .kind = STRATA_EVENT_RESERVE,
					      .advance = &booked->advance },
		       NULL, NULL),
		  0);
	world->booked[booked->name[1] - '0'] = *booked;
}

/* Anything at all, also about jobs that are not in a state for it. */
static void disturb(struct world *world, uint64_t id)
{
	switch (below(world, 10)) {
	case 9:
		reserve(world);
		break;
	case 0:
		report(world, STRATA_EVENT_CANCEL, id);
		break;
	case 1:
		report(world, one_in(world, 3) ? STRATA_EVENT_HOLD : STRATA_EVENT_RELEASE, id);
		break;
	case 2:
		report_end(world, id, (enum strata_outcome)below(world, STRATA_OUTCOME_COUNT));
		break;
	case 3:
		report(world, STRATA_EVENT_STARTED, id);
		break;
	case 4:
		tell(world,
		     (struct strata_event){ .kind = STRATA_EVENT_STOP,
					    .job = id,
					    .mode = (enum strata_stop)below(world, 3) },
		     NULL, NULL);
		break;
	case 5:
		change(world, id);
		break;
	case 6:
		write_checkpoint(world, id);
		break;
	case 7:
		report(world, STRATA_EVENT_DROP_CHECKPOINTS, id);
		break;
	default:
		tell(world,
		     (struct strata_event){
			     .kind = STRATA_EVENT_NODE,
			     .node = (uint32_t)below(world, world->node_count),
			     .state = one_in(world, 2) ? STRATA_NODE_UP
						       : (enum strata_node_state)below(world, 3) },
		     NULL, NULL);
	}
}

/* ---- what must hold ---- */

static bool met(const struct world *world, const struct fate *fate, size_t index)
{
	const struct strata_dependency *dependency = &waits_of(fate)->dependencies[index];
	bool started = true, ended = true, ok = true, any = false;
	bool whole = dependency->array || dependency->kind == STRATA_AFTER_CORR;

	if (dependency->kind == STRATA_SINGLETON) {
		for (uint64_t id = 1; id < fate->request.id; id++) {
			const struct strata_job_request *other = &world->fates[id].request;

			if (world->fates[id].asks || fate->asks)
				continue; /* under a new name it comes after those that have it */
			if (world->fates[id].known && !world->fates[id].ended &&
			    other->user == fate->request.user && other->name &&
			    other->name == fate->request.name)
				return false;
		}
		return true;
	}
	if (dependency->kind == STRATA_AFTER_CORR)
		return true; /* which element counts is checked by test_depend */
	for (uint64_t id = 1; id < world->next_id; id++) {
		const struct fate *other = &world->fates[id];

		if (!other->known ||
		    (whole ? other->array != dependency->job : id != dependency->job))
			continue;
		any = true;
		started &= other->started || other->ended;
		ended &= other->ended;
		ok &= other->ended && other->ok;
	}
	CHECK(any);
	switch (dependency->kind) {
	case STRATA_AFTER:
		return started;
	case STRATA_AFTER_ANY:
		return ended;
	case STRATA_AFTER_OK:
		return ok;
	default:
		return ended && !ok;
	}
}

/* A singleton counts beside the others even when one of them is enough. */
static void check_dependencies(const struct world *world, const struct fate *fate)
{
	const struct strata_job_request *request = &waits_of(fate)->request;
	size_t count = request->dependency_count, satisfied = 0, singles = 0;

	for (size_t i = 0; i < count; i++) {
		bool single = request->dependencies[i].kind == STRATA_SINGLETON,
		     is = met(world, fate, i);

		CHECK(!single || is);
		singles += single;
		satisfied += !single && is;
	}
	if (count > singles)
		CHECK(request->any_dependency ? satisfied > 0 : satisfied == count - singles);
}

static bool is_for(const struct strata_advance *advance, const struct job *job)
{
	const struct association *of = job->association;

	return (advance->users && strcmp(advance->users, of->user->name) == 0) ||
	       (advance->accounts && of->account &&
		strcmp(advance->accounts, of->account->name) == 0);
}

/* A job that starts has no GPU that is reserved for others at any time before its limit. */
static void check_reserved(const struct world *world, const struct strata_effect *effect,
			   const struct job *job)
{
	int64_t now_ns = world->cluster->now_ns, limit_ns = now_ns + job->limit_ns;

	for (int i = 0; i < BOOKED_MAX; i++) {
		const struct strata_advance *advance = &world->booked[i].advance;

		if (!advance->name || is_for(advance, job))
			continue;
		for (int64_t turn_ns = 0; advance->begin_ns + turn_ns < limit_ns;
		     turn_ns += advance->every_ns) {
			bool over = advance->end_ns + turn_ns <= now_ns;

			for (uint32_t k = 0; !over && k < effect->piece_count; k++) {
				CHECK(effect->pieces[k].node != advance->kept->node ||
				      (advance->kept->gpu_mask &&
				       !(effect->pieces[k].gpu_mask & advance->kept->gpu_mask)));
				kept_free++;
			}
			if (!advance->every_ns)
				break;
		}
	}
}

static void check_effect(struct world *world, const struct strata_effect *effect)
{
	struct strata_checkpoint kept[2];
	struct fate *fate = &world->fates[effect->job];
	const struct job *job = map_u64_get(&world->cluster->jobs, effect->job);

	seen[effect->kind]++;
	switch (effect->kind) {
	case STRATA_EFFECT_START:
		if (!fate->started)
			check_dependencies(world, fate);
		CHECK(job && job->state == STRATA_JOB_SCHEDULED && effect->piece_count > 0);
		CHECK(fate->request.begin_ns <= world->cluster->now_ns || job->attempt > 1 ||
		      job->begin_ns <= world->cluster->now_ns);
		for (const struct job *at = job->gang ? job->gang->first : NULL; at;
		     at = at->gang_next)
			CHECK(at->state == STRATA_JOB_SCHEDULED && at->start_ns == job->start_ns);
		check_reserved(world, effect, job);
		break;
	case STRATA_EFFECT_RESUME:
		CHECK(job && job->state == STRATA_JOB_SCHEDULED && fate->started);
		break;
	case STRATA_EFFECT_STOP:
		CHECK(job && job->stopping);
		CHECK(!effect->preemptor || asks_of(fate)->request.preemptible);
		break;
	case STRATA_EFFECT_DELETE:
		for (size_t i = strata_cluster_checkpoints(world->cluster, effect->job, kept); i;
		     i--)
			CHECK(strcmp(kept[i - 1].path, effect->path) != 0);
		break;
	case STRATA_EFFECT_ENDED:
		CHECK(job && job->state == STRATA_JOB_CANCELLED);
		break;
	default:
		break;
	}
}

/* Where a job is, by its state; what it holds is added to `used`. */
static void check_job(const struct job *job, struct strata_room *used)
{
	bool placed = job->state == STRATA_JOB_SCHEDULED || job->state == STRATA_JOB_RUNNING;
	bool ended = strata_job_ended(job->state);

	CHECK((placed || job->suspended) == (job->claim_count > 0));
	CHECK(placed == tree_node_in(&job->by_end));
	CHECK(!job->job_group || job_waits(job));
	CHECK(!job->suspended || job->state == STRATA_JOB_PREEMPTED);
	CHECK(!ended || (!job->job_group && !job->claims && !job->gang));
	CHECK(!job->gang || !job->job_group || job->suspended || job->gang->first == job);
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct strata_piece piece = job->claims[i].piece;

		if (job->suspended) {
			piece.cpu_milli = 0;
			piece.gpu_mask = 0;
		}
		room_give(&used[job->claims[i].node->row], &piece);
		CHECK(job->claims[i].node->state != STRATA_NODE_DOWN);
	}
}

static void check_entities(const struct world *world)
{
	const struct map_text *maps[] = { &world->cluster->users, &world->cluster->accounts,
					  &world->cluster->qos };

	for (int i = 0; i < 3; i++)
		for (const struct map_text_entry *at = map_text_next(maps[i], NULL); at;
		     at = map_text_next(maps[i], at)) {
			const struct entity *entity = at->value;

			CHECK(!entity->limits.jobs || entity->placed <= entity->limits.jobs);
		}
	for (const struct map_u64_entry *at = map_u64_next(&world->cluster->arrays, NULL); at;
	     at = map_u64_next(&world->cluster->arrays, at)) {
		const struct array *array = at->value;

		CHECK(!array->limit || array->placed <= array->limit);
	}
}

static void check_world(struct world *world)
{
	struct strata_cluster *cluster = world->cluster;
	struct strata_room used[16] = { 0 };
	size_t counts[STRATA_JOB_STATE_COUNT] = { 0 }, live = 0;

	for (const struct map_u64_entry *at = map_u64_next(&cluster->jobs, NULL); at;
	     at = map_u64_next(&cluster->jobs, at)) {
		const struct job *job = at->value;

		counts[job->state]++;
		live++;
		check_job(job, used);
	}
	CHECK_INT(live, world->live_count);
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		CHECK_INT(cluster->metrics.jobs[i], counts[i]);
	for (uint32_t row = 0; row < cluster->node_count; row++) {
		const struct node *node = &cluster->nodes[row];

		CHECK_INT(node->room.cpu_milli + used[row].cpu_milli,
			  node->node_type->whole.cpu_milli);
		CHECK(node->room.cpu_milli >= 0 && node->room.memory_bytes >= 0);
		CHECK_INT(node->room.memory_bytes + used[row].memory_bytes,
			  node->node_type->whole.memory_bytes);
		for (uint32_t k = 0; k < node->node_type->gpu_count; k++)
			CHECK_INT(node->room.gpu_milli[k] + used[row].gpu_milli[k], 1000);
		CHECK((node->group != NULL) == (node->state == STRATA_NODE_UP));
	}
	check_entities(world);
}

/* ---- time ---- */

static void drop_forgotten(struct world *world)
{
	size_t kept = 0;

	for (size_t i = 0; i < world->live_count; i++)
		if (map_u64_get(&world->cluster->jobs, world->live[i]))
			world->live[kept++] = world->live[i];
	world->live_count = kept;
}

/* What is to be seen of the jobs now. */
static void watch(struct world *world)
{
	for (const struct map_u64_entry *at = map_u64_next(&world->cluster->jobs, NULL); at;
	     at = map_u64_next(&world->cluster->jobs, at)) {
		const struct job *job = at->value;
		struct fate *fate = &world->fates[job->id];

		CHECK(!fate->ended || strata_job_ended(job->state)); /* what has ended stays so */
		fate->started |= job->started;
		fate->ended |= strata_job_ended(job->state);
		fate->ok |= job->state == STRATA_JOB_COMPLETED;
	}
}

static void pass(struct world *world)
{
	const struct strata_effect *effects;
	size_t count;

	watch(world);

	CHECK_INT(tell(world, (struct strata_event){ .kind = STRATA_EVENT_PASS }, &effects, &count),
		  0);
	watch(world);
	for (size_t i = 0; i < count; i++)
		check_effect(world, &effects[i]);
	if (one_in(world, 50)) {
		const struct strata_forecast *forecasts;
		uint64_t digest = strata_cluster_digest(world->cluster);

		CHECK_OK(strata_cluster_forecast(world->cluster, 100, &world->scratch, &forecasts,
						 &count, &err));
		for (size_t i = 0; i < count; i++)
			CHECK(forecasts[i].start_ns >= world->cluster->now_ns &&
			      forecasts[i].node < world->node_count);
		CHECK(strata_cluster_digest(world->cluster) == digest);
	}
	drop_forgotten(world);
	check_world(world);
	strata_arena_reset(&world->scratch);
}

static void tick(struct world *world)
{
	uint64_t id = world->live_count ? world->live[below(world, world->live_count)] : 1;

	world->now_ns += (int64_t)below(world, 8) * SECOND;
	if (world->live_count < LIVE_MAX && one_in(world, 3))
		submit_some(world);
	else if (one_in(world, 6))
		disturb(world, one_in(world, 4) ? 1 + below(world, world->next_id) : id);
	else if (world->live_count)
		go_on(world, id);
	pass(world);
}

/* May this job wait for ever, and those with it in a gang or behind it? */
static bool may_wait(const struct job *job, enum strata_reason reason)
{
	switch (reason) {
	case STRATA_REASON_IMPOSSIBLE:
	case STRATA_REASON_DEPENDENCY:
	case STRATA_REASON_DEPENDENCY_NEVER:
	case STRATA_REASON_GANG:
		return true;
	case STRATA_REASON_USER_LIMIT:
	case STRATA_REASON_ACCOUNT_LIMIT:
	case STRATA_REASON_QOS_LIMIT:
		return job->gang ||
		       job->resources->gpu_milli > 6000; /* it asks for more than it may have */
	default:
		return false;
	}
}

/* With all nodes up and nobody held, what can run does. */
static void drain(struct world *world)
{
	for (int i = 0; i < BOOKED_MAX; i++)
		if (world->booked[i].advance.name)
			tell(world,
			     (struct strata_event){ .kind = STRATA_EVENT_UNRESERVE,
						    .name = world->booked[i].advance.name },
			     NULL, NULL);
	memset(world->booked, 0, sizeof(world->booked));
	for (uint32_t row = 0; row < world->node_count; row++)
		tell(world,
		     (struct strata_event){
			     .kind = STRATA_EVENT_NODE, .node = row, .state = STRATA_NODE_UP },
		     NULL, NULL);
	for (int round = 0; round < 4000 && world->live_count; round++) {
		world->now_ns += 60 * SECOND * (1 + round / 16);
		for (size_t i = 0; i < world->live_count; i++) {
			report(world, STRATA_EVENT_RELEASE, world->live[i]);
			go_on(world, world->live[i]);
		}
		pass(world);
	}
	for (size_t i = 0; i < world->live_count; i++) {
		const struct job *job = map_u64_get(&world->cluster->jobs, world->live[i]);

		struct strata_job_view view;

		CHECK_OK(strata_cluster_job(world->cluster, job->id, &view, &err));
		if (!may_wait(job, view.reason))
			test_fail(__FILE__, __LINE__, "job %llu waits for ever: %s, %s",
				  (unsigned long long)job->id, strata_job_state_name(job->state),
				  strata_reason_name(job->reason));
	}
}

static void replay_log(struct world *world, const struct strata_cluster_conf *conf)
{
	uint64_t digest = strata_cluster_digest(world->cluster);
	struct strata_cluster *again = make_cluster(world, conf);

	for (size_t i = 0; i < world->log_count; i++) {
		strata_cluster_apply(again, &world->log[i], &world->scratch, NULL, NULL, NULL);
		strata_arena_reset(&world->scratch);
	}
	CHECK(strata_cluster_digest(again) == digest);
	strata_cluster_free(again);
}

static void live(uint64_t seed, int ticks)
{
	static struct fate fates[JOBS_MAX + 1];
	static struct world world;
	static struct booked told[BOOKED_TOLD_MAX];

	free(world.log);
	memset(fates, 0, sizeof(fates));
	memset(&world, 0, sizeof(world));
	world.told = told;
	world.fates = fates;
	world.seed = seed;
	world.next_id = 1;
	strata_rng_init(&world.rng, seed, 0);
	strata_arena_init(&world.confs, &world.memory, 0);
	strata_arena_init(&world.scratch, &world.memory, 0);
	world.node_count = 1 + (uint32_t)below(&world, 6);
	world.limited = one_in(&world, 2);
	struct strata_cluster_conf conf = {
		.order = pick(&world, &strata_order_kind, ""),
		.placement = pick(&world, &strata_placement_kind, ""),
		.backfill = pick(&world, &strata_backfill_kind, ""),
		.prediction = pick(&world, &strata_prediction_kind, ""),
		.half_life_ns = 600 * SECOND,
		.mixed_bands = one_in(&world, 4),
	};
	static const char *const modes[] = { ":mode=requeue:grace=20:protect=10",
					     ":mode=suspend:grace=0:protect=0:times=100",
					     ":mode=cancel:grace=5:protect=30" };

	if (!one_in(&world, 4))
		conf.victims = pick(&world, &strata_victims_kind, modes[below(&world, 3)]);
	printf("# world %llu: %s, %s, %s, %s, %s\n", (unsigned long long)seed, conf.order.cls->name,
	       conf.placement.cls->name, conf.backfill.cls->name, conf.prediction.cls->name,
	       conf.victims.cls ? conf.victims.cls->name : "no victims");
	world.cluster = make_cluster(&world, &conf);
	for (int i = 0; i < ticks; i++)
		tick(&world);
	drain(&world);
	replay_log(&world, &conf);
	strata_cluster_free(world.cluster);
	strata_arena_fini(&world.scratch);
	strata_arena_fini(&world.confs);
	CHECK_INT(world.memory.used_bytes, 0);
}

TEST(whatever_happens_the_rules_are_kept)
{
	const char *seed = getenv("STRATA_SEED"), *ticks = getenv("STRATA_TICKS");
	long total = ticks ? strtol(ticks, NULL, 10) : TICKS;

	if (seed) {
		live(strtoull(seed, NULL, 10), WORLD_TICKS);
		return;
	}
	for (long done = 0; done < total; done += WORLD_TICKS)
		live(1 + (uint64_t)(done / WORLD_TICKS), WORLD_TICKS);
	for (int i = 0; i < STRATA_EFFECT_KIND_COUNT; i++)
		CHECK(seen[i] > 0); /* or these worlds would show little */
	CHECK(changed[0] > 100 && changed[1] > 100 && kept_free > 100);
	printf("# %llu starts, %llu resumptions, %llu lost, %llu stops, %llu deletions\n",
	       (unsigned long long)seen[STRATA_EFFECT_START],
	       (unsigned long long)seen[STRATA_EFFECT_RESUME],
	       (unsigned long long)seen[STRATA_EFFECT_LOST],
	       (unsigned long long)seen[STRATA_EFFECT_STOP],
	       (unsigned long long)seen[STRATA_EFFECT_DELETE]);
}
