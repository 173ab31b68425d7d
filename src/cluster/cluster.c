/*
 * The cluster as its owner sees it: creation, and what can happen to a node. What can happen to a
 * job is in life.c, decisions in pass.c.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HALF_LIFE_NS (24 * INT64_C(3600000000000))

/* Jobs of one begin time, by order of submission. */
static int compare_begins(const struct heap_node *a, const struct heap_node *b, void *context)
{
	uint64_t left = container_of(a, struct job, by_begin)->sequence,
		 right = container_of(b, struct job, by_begin)->sequence;

	(void)context;
	return left < right ? -1 : left > right;
}

static int compare_ends(const struct tree_node *a, const struct tree_node *b, void *context)
{
	const struct job *left = container_of(a, struct job, by_end),
			 *right = container_of(b, struct job, by_end);

	(void)context;
	if (left->expected_end_ns != right->expected_end_ns)
		return left->expected_end_ns < right->expected_end_ns ? -1 : 1;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

/* The class of a spec, or the kind's default. Specs of the default have no conf: its defaults are
 * made here. */
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
	cluster->victims = (const struct strata_victims_class *)conf->victims.cls;
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

static void set_weights(struct strata_cluster *cluster)
{
	static const double usual[STRATA_BAND_COUNT] = { 0.5, 1, 2 };
	double *boosts = cluster->conf.boosts;

	if (boosts[STRATA_BAND_LOW] == 0 && boosts[STRATA_BAND_NORMAL] == 0 &&
	    boosts[STRATA_BAND_HIGH] == 0)
		memcpy(boosts, usual, sizeof(usual));
	cluster->billing = cluster->conf.billing;
	cluster->usual_billing = cluster->billing.gpu == 0 && cluster->billing.cpu == 0 &&
				 cluster->billing.memory_gib == 0;
	if (cluster->usual_billing)
		cluster->billing = (struct strata_billing){ .gpu = 1, .cpu = 1 };
}

static void open_tables(struct strata_cluster *cluster)
{
	struct strata_memory *memory = cluster->memory;

	map_text_init(&cluster->texts, memory);
	map_text_init(&cluster->users, memory);
	map_text_init(&cluster->accounts, memory);
	map_text_init(&cluster->qos, memory);
	map_text_init(&cluster->partitions, memory);
	map_text_init(&cluster->associations, memory);
	map_text_init(&cluster->names, memory);
	map_text_init(&cluster->job_groups, memory);
	map_text_init(&cluster->resource_requests, memory);
	map_u64_init(&cluster->jobs, memory);
	map_u64_init(&cluster->arrays, memory);
	map_u64_init(&cluster->gangs, memory);
	map_u64_init(&cluster->series, memory);
	slab_init(&cluster->job_slab, memory, sizeof(struct job), 0);
	slab_init(&cluster->job_group_slab, memory, sizeof(struct job_group), 0);
	slab_init(&cluster->resources_slab, memory, sizeof(struct resource_request), 0);
	slab_init(&cluster->group_slab, memory, sizeof(struct node_group), 0);
	slab_init(&cluster->node_type_slab, memory, sizeof(struct node_type), 0);
	slab_init(&cluster->entity_slab, memory, sizeof(struct entity), 0);
	slab_init(&cluster->association_slab, memory, sizeof(struct association), 0);
	slab_init(&cluster->array_slab, memory, sizeof(struct array), 0);
	slab_init(&cluster->gang_slab, memory, sizeof(struct gang), 0);
	slab_init(&cluster->series_slab, memory, sizeof(struct series), 0);
	tree_init(&cluster->ranges, range_compare, NULL);
	tree_init(&cluster->queue, queue_compare, &cluster->conf.mixed_bands);
	tree_init(&cluster->running, compare_ends, NULL);
	heap_init(&cluster->begins, memory, compare_begins, NULL);
	heap_init(&cluster->checkpoints, memory, NULL, NULL);
	heap_init(&cluster->picks, memory, placing_compare, NULL);
}

static void close_tables(struct strata_cluster *cluster)
{
	heap_fini(&cluster->begins);
	heap_fini(&cluster->checkpoints);
	heap_fini(&cluster->picks);
	group_index_fini(&cluster->group_index, cluster->memory);
	slab_fini(&cluster->job_slab);
	slab_fini(&cluster->job_group_slab);
	slab_fini(&cluster->resources_slab);
	slab_fini(&cluster->group_slab);
	slab_fini(&cluster->node_type_slab);
	slab_fini(&cluster->entity_slab);
	slab_fini(&cluster->association_slab);
	slab_fini(&cluster->array_slab);
	slab_fini(&cluster->gang_slab);
	slab_fini(&cluster->series_slab);
	map_u64_fini(&cluster->jobs);
	map_u64_fini(&cluster->arrays);
	map_u64_fini(&cluster->gangs);
	map_u64_fini(&cluster->series);
	map_text_fini(&cluster->resource_requests);
	map_text_fini(&cluster->job_groups);
	map_text_fini(&cluster->names);
	map_text_fini(&cluster->associations);
	map_text_fini(&cluster->partitions);
	map_text_fini(&cluster->qos);
	map_text_fini(&cluster->accounts);
	map_text_fini(&cluster->users);
	map_text_fini(&cluster->texts);
}

int strata_cluster_new(const struct strata_cluster_conf *conf, struct strata_memory *memory,
		       struct strata_cluster **ret_cluster, struct strata_error *err)
{
	struct strata_cluster *cluster = strata_memory_get(memory, sizeof(*cluster));

	if (!cluster)
		return strata_fail_memory(err);
	cluster->memory = memory;
	cluster->conf = *conf;
	cluster->wake_ns = cluster->limit_wake_ns = cluster->protect_wake_ns = INT64_MAX;
	cluster->advance_wake_ns = INT64_MAX;
	cluster->half_life_ns = conf->half_life_ns ? conf->half_life_ns : HALF_LIFE_NS;
	strata_arena_init(&cluster->confs, memory, 0);
	set_weights(cluster);
	open_tables(cluster);
	int rc = share_new(memory, cluster->half_life_ns, &cluster->share, err);

	if (rc == 0)
		rc = choose_all(cluster, err);
	if (rc) {
		strata_cluster_free(cluster);
		return rc;
	}
	*ret_cluster = cluster;
	return 0;
}

void cluster_free_job(struct strata_cluster *cluster, struct job *job)
{
	strata_memory_put(cluster->memory, job->claims, claim_bytes(job->claim_count));
	strata_memory_put(cluster->memory, job->links, job->link_count * sizeof(*job->links));
	checkpoint_free(cluster, job);
	resources_put(cluster, job->resources);
}

void strata_cluster_free(struct strata_cluster *cluster)
{
	const struct map_u64_entry *entry = NULL;

	if (!cluster)
		return;
	advances_free(cluster);
	if (cluster->backfill && cluster->backfill->close && cluster->backfill_state)
		cluster->backfill->close(cluster, cluster->backfill_state);
	while ((entry = map_u64_next(&cluster->jobs, entry)))
		cluster_free_job(cluster, entry->value);
	while ((entry = map_u64_next(&cluster->arrays, entry)))
		map_u64_fini(&((struct array *)entry->value)->by_index);
	while (cluster->condemned) {
		struct condemned *condemned = cluster->condemned;

		cluster->condemned = condemned->next;
		strata_memory_put(cluster->memory, condemned, condemned->bytes);
	}
	if (cluster->placement && cluster->placement->close)
		cluster->placement->close(cluster->placement_state);
	if (cluster->prediction && cluster->prediction->close)
		cluster->prediction->close(cluster->prediction_state);
	share_free(cluster->share);
	close_tables(cluster);
	strata_memory_put(cluster->memory, cluster->nodes,
			  cluster->node_room * sizeof(*cluster->nodes));
	strata_memory_put(cluster->memory, cluster->group_table,
			  cluster->group_buckets * sizeof(*cluster->group_table));
	strata_memory_put(cluster->memory, cluster->node_types,
			  cluster->node_type_room * sizeof(*cluster->node_types));
	strata_arena_fini(&cluster->confs);
	strata_memory_put(cluster->memory, cluster, sizeof(*cluster));
}

void cluster_clock(struct strata_cluster *cluster, int64_t now_ns)
{
	if (now_ns > cluster->now_ns)
		cluster->now_ns = now_ns;
}

void cluster_gone(struct strata_cluster *cluster, struct job *job)
{
	if (cluster->backfill->gone)
		cluster->backfill->gone(cluster, cluster->backfill_state, job);
}

void cluster_count_room(struct strata_cluster *cluster, const struct strata_piece *piece, int sign)
{
	cluster->metrics.cpu_milli_free += sign * piece->cpu_milli;
	cluster->metrics.gpu_milli_free += sign * __builtin_popcount(piece->gpu_mask) *
					   (int64_t)piece->gpu_milli;
}

/* ---- nodes ---- */

static bool is_on(const struct job *job, const struct node *node)
{
	for (uint32_t i = 0; i < job->claim_count; i++)
		if (job->claims[i].node == node)
			return true;
	return false;
}

void cluster_lose(struct strata_cluster *cluster, struct job *job, bool again,
		  enum strata_reason reason)
{
	if (job->suspended)
		enqueue_undo(cluster, job);
	claim_release(cluster, job);
	if (!again)
		job->end_ns = cluster->now_ns;
	job_set_state(cluster, job, again ? STRATA_JOB_QUEUED : STRATA_JOB_FAILED, reason);
	if (again)
		enqueue_back(cluster, job);
	if (!job->is_lost) {
		job->is_lost = true;
		job->next_lost = cluster->lost;
		cluster->lost = job;
	}
}

/* A gang that loses one loses all: they go back together if all of them may. */
static void lose_gang(struct strata_cluster *cluster, struct gang *gang)
{
	struct job *job, *next;
	bool again = true;

	for (job = gang->first; job; job = job->gang_next)
		again &= job->requeue || !job->claims;
	for (job = gang->first; job; job = next) {
		next = job->gang_next; /* the last that leaves a gang takes it along */
		if (job->claims)
			cluster_lose(cluster, job, again, STRATA_REASON_NODE_FAILURE);
	}
}

/* Who is on the node, the newest first. They are found nearly in their order. */
static struct job *list_on(const struct strata_cluster *cluster, const struct node *node)
{
	const struct map_u64_entry *entry = NULL;
	struct job *newest = NULL, **at;

	while ((entry = map_u64_next(&cluster->jobs, entry))) {
		struct job *job = entry->value;

		if (!job->claim_count || !is_on(job, node))
			continue;
		for (at = &newest; *at && (*at)->sequence > job->sequence;)
			at = &(*at)->next_on;
		job->next_on = *at;
		*at = job;
	}
	return newest;
}

/* In the order of submission. */
static void lose_all(struct strata_cluster *cluster, const struct node *node)
{
	struct job *newest = list_on(cluster, node), *oldest = NULL, *job;

	while ((job = newest)) {
		newest = job->next_on;
		job->next_on = oldest;
		oldest = job;
	}
	for (job = oldest; job; job = job->next_on) {
		if (!job->claim_count) /* it went with its gang */
			continue;
		if (job->gang)
			lose_gang(cluster, job->gang);
		else
			cluster_lose(cluster, job, job->requeue, STRATA_REASON_NODE_FAILURE);
	}
}

int strata_cluster_set_node(struct strata_cluster *cluster, uint32_t row,
			    enum strata_node_state state, int64_t now_ns, struct strata_error *err)
{
	struct node *node = row < cluster->node_count ? &cluster->nodes[row] : NULL;

	cluster_tell(cluster, .kind = STRATA_EVENT_NODE, .now_ns = now_ns, .node = row,
		     .state = state);
	cluster_clock(cluster, now_ns);
	if (!node)
		return strata_fail(err, -ENOENT, "there is no node %u", row);
	if (node->state == state)
		return 0;
	if (state == STRATA_NODE_DOWN)
		lose_all(cluster, node);
	bool was_up = node->state == STRATA_NODE_UP, is_up = state == STRATA_NODE_UP;

	node->state = state;
	if (was_up != is_up) {
		int sign = is_up ? 1 : -1;

		if (is_up)
			node_attach(cluster, node);
		else
			node_detach(cluster, node);
		cluster->metrics.nodes_up += (size_t)sign;
	}
	cluster->changed = cluster->disturbed = true;
	return 0;
}

void strata_cluster_metrics(const struct strata_cluster *cluster,
			    struct strata_cluster_metrics *ret_metrics)
{
	*ret_metrics = cluster->metrics;
}

int strata_cluster_room(const struct strata_cluster *cluster, uint32_t row,
			struct strata_room *ret_room)
{
	if (row >= cluster->node_count)
		return -ENOENT;
	*ret_room = cluster->nodes[row].room;
	return 0;
}
