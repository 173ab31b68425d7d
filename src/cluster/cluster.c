/*
 * The cluster as its owner sees it: creation, and what can happen to a job or a node. Decisions are in pass.c.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HALF_LIFE_NS (24 * INT64_C(3600000000000))

static int compare_ends(const struct tree_node *a, const struct tree_node *b, void *context)
{
	const struct job *left = container_of(a, struct job, by_end),
			 *right = container_of(b, struct job, by_end);

	(void)context;
	if (left->expected_end_ns != right->expected_end_ns)
		return left->expected_end_ns < right->expected_end_ns ? -1 : 1;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

/* The class of a spec, or the kind's default. Specs of the default have no conf: its defaults are made here. */
static int choose(struct strata_cluster *cluster, const struct strata_kind *kind, const char *usual,
		  struct strata_spec *spec, struct strata_error *err)
{
	struct strata_registry *registry;

	if (spec->cls)
		return 0;
	int rc = strata_registry_new(kind, cluster->memory, &registry, err);

	if (rc)
		return rc;
	rc = strata_spec_read(registry, usual, strlen(usual), &cluster->confs, spec, err);
	strata_registry_free(registry);
	return rc;
}

static int choose_all(struct strata_cluster *cluster, struct strata_error *err)
{
	struct strata_cluster_conf *conf = &cluster->conf;
	int rc = choose(cluster, &strata_order_kind, "fifo", &conf->order, err);

	if (rc == 0)
		rc = choose(cluster, &strata_placement_kind, "best_fit", &conf->placement, err);
	if (rc == 0)
		rc = choose(cluster, &strata_backfill_kind, "easy", &conf->backfill, err);
	if (rc == 0)
		rc = choose(cluster, &strata_prediction_kind, "requested", &conf->prediction, err);
	if (rc)
		return rc;
	cluster->order = (const struct strata_order_class *)conf->order.cls;
	cluster->placement = (const struct strata_placement_class *)conf->placement.cls;
	cluster->backfill = (const struct backfill_class *)conf->backfill.cls;
	cluster->prediction = (const struct strata_prediction_class *)conf->prediction.cls;
	if (cluster->backfill->state_size) {
		cluster->backfill_state =
			strata_arena_get(&cluster->confs, cluster->backfill->state_size);
		if (!cluster->backfill_state)
			return strata_fail_memory(err);
	}
	if (cluster->placement->open)
		rc = cluster->placement->open(conf->placement.conf, conf->mix, cluster->memory,
					      &cluster->placement_state, err);
	if (rc == 0 && cluster->prediction->open)
		rc = cluster->prediction->open(conf->prediction.conf, cluster->memory,
					       &cluster->prediction_state, err);
	return rc;
}

int strata_cluster_new(const struct strata_cluster_conf *conf, struct strata_memory *memory,
		       struct strata_cluster **ret_cluster, struct strata_error *err)
{
	struct strata_cluster *cluster = strata_memory_get(memory, sizeof(*cluster));

	if (!cluster)
		return strata_fail_memory(err);
	cluster->memory = memory;
	cluster->conf = *conf;
	cluster->wake_ns = INT64_MAX;
	strata_arena_init(&cluster->confs, memory, 0);
	map_text_init(&cluster->texts, memory);
	map_text_init(&cluster->users, memory);
	map_text_init(&cluster->names, memory);
	map_text_init(&cluster->lots, memory);
	map_text_init(&cluster->asks, memory);
	map_u64_init(&cluster->jobs, memory);
	slab_init(&cluster->job_slab, memory, sizeof(struct job), 0);
	slab_init(&cluster->lot_slab, memory, sizeof(struct lot), 0);
	slab_init(&cluster->ask_slab, memory, sizeof(struct ask), 0);
	slab_init(&cluster->group_slab, memory, sizeof(struct group), 0);
	slab_init(&cluster->shape_slab, memory, sizeof(struct shape), 0);
	slab_init(&cluster->user_slab, memory, sizeof(struct user), 0);
	tree_init(&cluster->queue, queue_compare, NULL);
	tree_init(&cluster->running, compare_ends, NULL);
	heap_init(&cluster->begins, memory, NULL, NULL);
	heap_init(&cluster->picks, memory, placing_compare, NULL);
	int rc = share_new(memory, conf->half_life_ns ? conf->half_life_ns : HALF_LIFE_NS,
			   &cluster->share, err);

	if (rc == 0)
		rc = choose_all(cluster, err);
	if (rc) {
		strata_cluster_free(cluster);
		return rc;
	}
	*ret_cluster = cluster;
	return 0;
}

static void put_claims(struct strata_cluster *cluster, struct job *job)
{
	strata_memory_put(cluster->memory, job->claims, job->claim_count * sizeof(*job->claims));
	job->claims = NULL;
	job->claim_count = 0;
}

void strata_cluster_free(struct strata_cluster *cluster)
{
	const struct map_u64_entry *entry = NULL;

	if (!cluster)
		return;
	if (cluster->backfill && cluster->backfill->close && cluster->backfill_state)
		cluster->backfill->close(cluster, cluster->backfill_state);
	while ((entry = map_u64_next(&cluster->jobs, entry))) {
		struct job *job = entry->value;

		put_claims(cluster, job);
		ask_put(cluster, job->ask);
	}
	if (cluster->placement && cluster->placement->close)
		cluster->placement->close(cluster->placement_state);
	if (cluster->prediction && cluster->prediction->close)
		cluster->prediction->close(cluster->prediction_state);
	share_free(cluster->share);
	heap_fini(&cluster->begins);
	heap_fini(&cluster->picks);
	roster_fini(&cluster->roster, cluster->memory);
	slab_fini(&cluster->job_slab);
	slab_fini(&cluster->lot_slab);
	slab_fini(&cluster->ask_slab);
	slab_fini(&cluster->group_slab);
	slab_fini(&cluster->shape_slab);
	slab_fini(&cluster->user_slab);
	map_u64_fini(&cluster->jobs);
	map_text_fini(&cluster->asks);
	map_text_fini(&cluster->lots);
	map_text_fini(&cluster->names);
	map_text_fini(&cluster->users);
	map_text_fini(&cluster->texts);
	strata_memory_put(cluster->memory, cluster->nodes,
			  cluster->node_room * sizeof(*cluster->nodes));
	strata_memory_put(cluster->memory, cluster->group_table,
			  cluster->group_buckets * sizeof(*cluster->group_table));
	strata_memory_put(cluster->memory, cluster->shapes,
			  cluster->shape_room * sizeof(*cluster->shapes));
	strata_arena_fini(&cluster->confs);
	strata_memory_put(cluster->memory, cluster, sizeof(*cluster));
}

void cluster_clock(struct strata_cluster *cluster, int64_t now_ns)
{
	if (now_ns > cluster->now_ns)
		cluster->now_ns = now_ns;
}

void cluster_count_room(struct strata_cluster *cluster, const struct strata_piece *piece, int sign)
{
	cluster->stats.cpu_milli_free += sign * piece->cpu_milli;
	cluster->stats.gpu_milli_free += sign * __builtin_popcount(piece->gpu_mask) *
					 (int64_t)piece->gpu_milli;
}

/* ---- users ---- */

/* Usage is charged as it accrues: whenever somebody asks, and whenever what a user runs changes. In GPU-hours. */
void user_accrue(struct strata_cluster *cluster, struct user *user, int64_t now_ns)
{
	if (user->rate > 0 && now_ns > user->charged_ns) {
		double hours = (double)(now_ns - user->charged_ns) / 3.6e12;
		int rc =
			share_charge(cluster->share, user->share, user->rate * hours, now_ns, NULL);

		assert(rc == 0);
	}
	user->charged_ns = now_ns;
}

static int get_user(struct strata_cluster *cluster, const char *name, struct user **ret_user,
		    struct strata_error *err)
{
	size_t length = strlen(name);
	struct user *user = map_text_get(&cluster->users, name, length);
	uint64_t handle;

	if (user) {
		*ret_user = user;
		return 0;
	}
	user = slab_get(&cluster->user_slab, &handle);
	if (!user)
		return strata_fail_memory(err);
	int rc = share_add(cluster->share, share_root(cluster->share), name, 1, &user->share, err);

	if (rc == 0 && map_text_put(&cluster->users, name, length, user, NULL)) {
		share_remove(cluster->share, user->share, NULL);
		rc = strata_fail_memory(err);
	}
	if (rc) {
		slab_put(&cluster->user_slab, handle);
		return rc;
	}
	user->name = map_text_find(&cluster->users, name, length)->key;
	user->number = cluster->users.count;
	user->charged_ns = cluster->now_ns;
	*ret_user = user;
	return 0;
}

int strata_cluster_set_user(struct strata_cluster *cluster, const char *name, double weight,
			    struct strata_error *err)
{
	struct user *user;
	int rc = get_user(cluster, name, &user, err);

	return rc ? rc : share_set_weight(cluster->share, user->share, weight, err);
}

/* ---- jobs ---- */

/* Numbers for names, so that predictions need not know texts. 0: no name. */
static int get_name(struct strata_cluster *cluster, const char *name, uint64_t *ret_number,
		    struct strata_error *err)
{
	size_t length = name ? strlen(name) : 0;
	uintptr_t number = length ? (uintptr_t)map_text_get(&cluster->names, name, length) : 0;

	if (length && !number) {
		number = cluster->names.count + 1;
		if (map_text_put(&cluster->names, name, length, (void *)number, NULL))
			return strata_fail_memory(err);
	}
	*ret_number = number;
	return 0;
}

/* Into the queue, or where a job waits that may not be in it yet. */
static int enqueue(struct strata_cluster *cluster, struct job *job)
{
	if (job->held) {
		job->reason = STRATA_REASON_HELD;
		return 0;
	}
	if (job->begin_ns > cluster->now_ns) {
		job->reason = STRATA_REASON_BEGIN_TIME;
		return heap_push(&cluster->begins, &job->by_begin, heap_key_time(job->begin_ns));
	}
	job->reason = job->ask->possible ? STRATA_REASON_PRIORITY : STRATA_REASON_IMPOSSIBLE;
	return queue_add(cluster, job);
}

/* Tells the backfill that a job holds nothing any more, now or later. */
static void gone(struct strata_cluster *cluster, struct job *job)
{
	if (cluster->backfill->gone)
		cluster->backfill->gone(cluster, cluster->backfill_state, job);
}

static void dequeue(struct strata_cluster *cluster, struct job *job)
{
	gone(cluster, job);
	if (job->lot)
		queue_remove(cluster, job);
	if (heap_node_in(&job->by_begin))
		heap_remove(&cluster->begins, &job->by_begin);
}

int strata_cluster_submit(struct strata_cluster *cluster, const struct strata_job_request *request,
			  int64_t now_ns, struct strata_error *err)
{
	struct ask *ask;
	struct user *user;
	uint64_t name, handle;

	cluster_clock(cluster, now_ns);
	if (map_u64_get(&cluster->jobs, request->id))
		return strata_fail_at(err, -EEXIST, "id", "there is a job %llu already",
				      (unsigned long long)request->id);
	int rc = ask_get(cluster, request, &ask, err);

	if (rc)
		return rc;
	rc = get_user(cluster, request->user, &user, err);
	if (rc == 0)
		rc = get_name(cluster, request->name, &name, err);
	struct job *job = rc == 0 ? slab_get(&cluster->job_slab, &handle) : NULL;

	if (!job) {
		ask_put(cluster, ask);
		return rc ? rc : strata_fail_memory(err);
	}
	*job = (struct job){
		.id = request->id,
		.handle = handle,
		.sequence = cluster->sequence + 1,
		.ask = ask,
		.user = user,
		.name = name,
		.band = request->band,
		.priority = request->priority,
		.held = request->held,
		.requeue = request->requeue,
		.submit_ns = cluster->now_ns,
		.begin_ns = request->begin_ns,
		.limit_ns = request->time_limit_ns,
	};
	rc = map_u64_put(&cluster->jobs, job->id, job, NULL);
	if (rc == 0) {
		rc = enqueue(cluster, job);
		if (rc)
			map_u64_remove(&cluster->jobs, job->id);
	}
	if (rc) {
		ask_put(cluster, ask);
		slab_put(&cluster->job_slab, handle);
		return strata_fail_memory(err);
	}
	cluster->sequence++;
	cluster->stats.jobs[STRATA_JOB_QUEUED]++;
	return 0;
}

/* NULL with -ESRCH in err when there is none. */
static struct job *find_job(const struct strata_cluster *cluster, uint64_t id,
			    struct strata_error *err)
{
	struct job *job = map_u64_get(&cluster->jobs, id);

	if (!job)
		strata_fail_at(err, -ESRCH, "id", "there is no job %llu", (unsigned long long)id);
	return job;
}

static int wrong_state(const struct job *job, const char *expected, struct strata_error *err)
{
	return strata_fail(err, -ESTALE, "job %llu is %s; expected %s", (unsigned long long)job->id,
			   strata_job_state_name(job->state), expected);
}

static bool is_placed(const struct job *job)
{
	return job->state == STRATA_JOB_SCHEDULED || job->state == STRATA_JOB_RUNNING;
}

int strata_cluster_started(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			   struct strata_error *err)
{
	struct job *job = find_job(cluster, id, err);

	cluster_clock(cluster, now_ns);
	if (!job)
		return -ESRCH;
	if (job->state != STRATA_JOB_SCHEDULED)
		return wrong_state(job, "scheduled", err);
	job_set_state(cluster, job, STRATA_JOB_RUNNING, STRATA_REASON_NONE);
	return 0;
}

void cluster_release(struct strata_cluster *cluster, struct job *job)
{
	gone(cluster, job);
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct node *node = job->claims[i].node;

		node_detach(cluster, node);
		room_give(&node->room, &job->claims[i].piece);
		cluster_count_room(cluster, &job->claims[i].piece, 1);
		if (node->state == STRATA_NODE_UP)
			node_attach(cluster, node);
	}
	tree_remove(&cluster->running, &job->by_end);
	user_accrue(cluster, job->user, cluster->now_ns);
	job->user->rate -= job_size(job->ask);
	put_claims(cluster, job);
	cluster->changed = true;
}

int strata_cluster_ended(struct strata_cluster *cluster, uint64_t id, enum strata_outcome outcome,
			 int64_t now_ns, struct strata_error *err)
{
	struct job *job = find_job(cluster, id, err);

	cluster_clock(cluster, now_ns);
	if (!job)
		return -ESRCH;
	if (!is_placed(job))
		return wrong_state(job, "scheduled or running", err);
	if (outcome == STRATA_OUTCOME_START_FAILED) {
		if (queue_add(cluster, job)) /* first what may fail */
			return strata_fail_memory(err);
		cluster_release(cluster, job);
		job_set_state(cluster, job, STRATA_JOB_QUEUED, STRATA_REASON_PRIORITY);
		return 0;
	}
	cluster_release(cluster, job);
	job->end_ns = cluster->now_ns;
	if (outcome == STRATA_OUTCOME_COMPLETED && cluster->prediction->learn) {
		struct strata_run run = { job->user->number, job->name, job_size(job->ask),
					  job->submit_ns, job->limit_ns };

		cluster->prediction->learn(cluster->conf.prediction.conf, cluster->prediction_state,
					   &run, job->end_ns - job->start_ns);
	}
	job_set_state(cluster, job,
		      outcome == STRATA_OUTCOME_COMPLETED ? STRATA_JOB_COMPLETED
							  : STRATA_JOB_FAILED,
		      outcome == STRATA_OUTCOME_COMPLETED    ? STRATA_REASON_NONE
		      : outcome == STRATA_OUTCOME_TIME_LIMIT ? STRATA_REASON_TIME_LIMIT
							     : STRATA_REASON_EXIT_CODE);
	return 0;
}

int strata_cluster_cancel(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			  struct strata_error *err)
{
	struct job *job = find_job(cluster, id, err);

	cluster_clock(cluster, now_ns);
	if (!job)
		return -ESRCH;
	if (strata_job_ended(job->state))
		return wrong_state(job, "a job that has not ended", err);
	if (is_placed(job))
		cluster_release(cluster, job);
	else
		dequeue(cluster, job);
	job->end_ns = cluster->now_ns;
	job_set_state(cluster, job, STRATA_JOB_CANCELLED, STRATA_REASON_NONE);
	cluster->changed = true;
	return 0;
}

int strata_cluster_hold(struct strata_cluster *cluster, uint64_t id, bool held, int64_t now_ns,
			struct strata_error *err)
{
	struct job *job = find_job(cluster, id, err);

	cluster_clock(cluster, now_ns);
	if (!job)
		return -ESRCH;
	if (job->state != STRATA_JOB_QUEUED)
		return wrong_state(job, "queued", err);
	if (job->held == held)
		return 0;
	job->held = held;
	if (held) {
		dequeue(cluster, job);
		job->reason = STRATA_REASON_HELD;
	} else if (enqueue(cluster, job)) {
		job->held = true;
		job->reason = STRATA_REASON_HELD;
		return strata_fail_memory(err);
	}
	cluster->changed = true;
	return 0;
}

int strata_cluster_forget(struct strata_cluster *cluster, uint64_t id, struct strata_error *err)
{
	struct job *job = find_job(cluster, id, err);

	if (!job)
		return -ESRCH;
	if (!strata_job_ended(job->state))
		return wrong_state(job, "a job that has ended", err);
	if (job->next_lost || cluster->lost == job)
		return strata_fail(err, -EBUSY,
				   "job %llu was lost with its node and not told of yet",
				   (unsigned long long)id);
	if (job->is_new) {
		queue_forget_new(cluster);
		cluster->changed = true;
	}
	cluster->stats.jobs[job->state]--;
	map_u64_remove(&cluster->jobs, id);
	ask_put(cluster, job->ask);
	slab_put(&cluster->job_slab, job->handle);
	return 0;
}

int strata_cluster_job(const struct strata_cluster *cluster, uint64_t id,
		       struct strata_job_view *ret_view, struct strata_error *err)
{
	struct job *job = find_job(cluster, id, err);

	if (!job)
		return -ESRCH;
	*ret_view = (struct strata_job_view){
		.id = id,
		.state = job->state,
		.reason = job->reason,
		.attempt = job->attempt,
		.submit_ns = job->submit_ns,
		.start_ns = job->start_ns,
		.end_ns = job->end_ns,
		.expected_end_ns = is_placed(job) ? job->expected_end_ns : 0,
		.promised_ns = job->promised_ns,
		.piece_count = job->claim_count,
	};
	return 0;
}

/* ---- nodes ---- */

/* A job loses its node: back to its place in the queue, or failed. */
static int lose(struct strata_cluster *cluster, struct job *job)
{
	bool again = job->requeue;

	if (again && queue_add(cluster, job))
		return -ENOMEM;
	cluster_release(cluster, job);
	if (!again)
		job->end_ns = cluster->now_ns;
	job_set_state(cluster, job, again ? STRATA_JOB_QUEUED : STRATA_JOB_FAILED,
		      STRATA_REASON_NODE_FAILURE);
	job->next_lost = cluster->lost;
	cluster->lost = job;
	return 0;
}

static int lose_all(struct strata_cluster *cluster, const struct node *node)
{
	struct tree_node *at, *next;

	for (at = tree_first(&cluster->running); at; at = next) {
		struct job *job = container_of(at, struct job, by_end);

		next = tree_next(at);
		for (uint32_t i = 0; i < job->claim_count; i++)
			if (job->claims[i].node == node) {
				if (lose(cluster, job))
					return -ENOMEM;
				break;
			}
	}
	return 0;
}

int strata_cluster_set_node(struct strata_cluster *cluster, uint32_t row,
			    enum strata_node_state state, int64_t now_ns, struct strata_error *err)
{
	struct node *node = row < cluster->node_count ? &cluster->nodes[row] : NULL;

	cluster_clock(cluster, now_ns);
	if (!node)
		return strata_fail(err, -ENOENT, "there is no node %u", row);
	if (node->state == state)
		return 0;
	if (state == STRATA_NODE_DOWN && lose_all(cluster, node))
		return strata_fail_memory(err);
	bool was_up = node->state == STRATA_NODE_UP, is_up = state == STRATA_NODE_UP;

	node->state = state;
	if (was_up != is_up) {
		int sign = is_up ? 1 : -1;

		if (is_up)
			node_attach(cluster, node);
		else
			node_detach(cluster, node);
		cluster->stats.nodes_up += (size_t)sign;
	}
	cluster->changed = cluster->disturbed = true;
	return 0;
}

void strata_cluster_stats(const struct strata_cluster *cluster,
			  struct strata_cluster_stats *ret_stats)
{
	*ret_stats = cluster->stats;
}
