/* Live jobs: each as the store has it or will, and what is known beside it. */
#include "server/live.h"

#include "server/deadlines.h"
#include "server/figures.h"

#include "core/container.h"
#include "server/nodes.h"
#include "server/output.h"
#include "server/remote.h"
#include "server/webhooks.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMEMBERED_NS \
	(INT64_C(300) * 1000000000) /* an ended job can be depended on and asked about */

/* Between a process's end and the moment when that is noted there is less than this, unless
 * somebody set the clock. */
#define CLOCK_OFF_NS (INT64_C(60) * 1000000000)

/* The texts that stay as they are: in the job's own block. */
#define TEXTS(job)                                                                                \
	{                                                                                         \
		&(job)->uuid, &(job)->user, &(job)->account, &(job)->partition, &(job)->qos,      \
			&(job)->name, &(job)->gpu_type, &(job)->command, &(job)->working_dir,     \
			&(job)->script, &(job)->environment, &(job)->request_key, &(job)->comment \
	}

/* Those that are blocks of their own, since they change. */
static bool copy_changing(struct live *live, const struct job *from)
{
	struct job *job = &live->job;

	job->place = from->place ? job_place_new(from->place->pieces, from->place->count) : NULL;
	job->ran_on = from->ran_on ? job_place_new(from->ran_on->pieces, from->ran_on->count)
				   : NULL;
	job->cancelled_by = from->cancelled_by ? strdup(from->cancelled_by) : NULL;
	job->failure = from->failure ? strdup(from->failure) : NULL;
	return !(from->place && !job->place) && !(from->ran_on && !job->ran_on) &&
	       !(from->cancelled_by && !job->cancelled_by) && !(from->failure && !job->failure);
}

static void free_changing(struct live *live)
{
	free((void *)live->job.place);
	free((void *)live->job.ran_on);
	free((char *)live->job.cancelled_by);
	free((char *)live->job.failure);
}

static struct live *copy_job(struct decider *decider, const struct job *job)
{
	struct job source = *job;
	const char **from[] = TEXTS(&source);
	size_t bytes = sizeof(struct live);

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		bytes += *from[i] ? strlen(*from[i]) + 1 : 0;
	struct live *live = strata_memory_get(&decider->memory, bytes);

	if (!live)
		return NULL;
	live->bytes = bytes;
	live->job = *job;
	const char **to[] = TEXTS(&live->job);
	char *at = (char *)(live + 1);

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		if (!*from[i])
			continue;
		size_t length = strlen(*from[i]) + 1;

		*to[i] = memcpy(at, *from[i], length);
		at += length;
	}
	return live;
}

struct live *live_new(struct decider *decider, const struct job *job, struct live_spec *spec)
{
	struct live *live = copy_job(decider, job);

	assert(job->id > 0 && !map_u64_get(&decider->jobs, (uint64_t)job->id));
	if (!live)
		return NULL;
	if (!copy_changing(live, job) ||
	    map_u64_put(&decider->jobs, (uint64_t)job->id, live, NULL)) {
		free_changing(live);
		strata_memory_put(&decider->memory, live, live->bytes);
		return NULL;
	}
	live->spec = live_spec_ref(spec);
	live->held = spec->held;
	live->job.request = spec->text;
	tree_insert(&decider->by_id, &live->by_id);
	if (job->elements > 1)
		tree_insert(&decider->ranges, &live->among);
	else if (live->job.place)
		tree_insert(&decider->placed, &live->among);
	if (map_text_put(&decider->uuids, live->job.uuid, strlen(live->job.uuid), live, NULL) ||
	    deadlines_add(decider, live)) {
		live_free(decider, live);
		return NULL;
	}
	return live;
}

void live_free(struct decider *decider, struct live *live)
{
	assert(!live->dirty); /* its row would be written from what is no more */
	tree_remove(&decider->by_id, &live->by_id);
	deadlines_remove(decider, live);
	if (tree_node_in(&live->among))
		tree_remove(live->job.place ? &decider->placed : &decider->ranges, &live->among);
	map_u64_remove(&decider->jobs, (uint64_t)live->job.id);
	map_text_remove(&decider->uuids, live->job.uuid, strlen(live->job.uuid));
	free_changing(live);
	free(live->request);
	live_spec_unref(live->spec);
	free(live->output);
	free(live->error);
	free(live->checkpoint);
	strata_memory_put(&decider->memory, live, live->bytes);
}

/* ---- by number ---- */

static int compare_ids(const struct tree_node *a, const struct tree_node *b, void *context)
{
	int64_t left = container_of(a, const struct live, by_id)->job.id,
		right = container_of(b, const struct live, by_id)->job.id;

	(void)context;
	return left < right ? -1 : left > right;
}

static int compare_among(const struct tree_node *a, const struct tree_node *b, void *context)
{
	return compare_ids(&container_of(a, const struct live, among)->by_id,
			   &container_of(b, const struct live, among)->by_id, context);
}

void live_init(struct decider *decider)
{
	tree_init(&decider->by_id, compare_ids, NULL);
	tree_init(&decider->ranges, compare_among, NULL);
	tree_init(&decider->placed, compare_among, NULL);
}

static struct live *live_at(struct tree_node *node)
{
	return node ? container_of(node, struct live, by_id) : NULL;
}

static struct live *among_at(struct tree_node *node)
{
	return node ? container_of(node, struct live, among) : NULL;
}

struct live *live_first(const struct decider *decider)
{
	return live_at(tree_first(&decider->by_id));
}

struct live *live_next(const struct live *live)
{
	return live_at(tree_next(&live->by_id));
}

struct live *live_previous(const struct live *live)
{
	return live_at(tree_prev(&live->by_id));
}

struct live *live_first_placed(const struct decider *decider)
{
	return among_at(tree_first(&decider->placed));
}

struct live *live_next_placed(const struct live *live)
{
	return among_at(tree_next(&live->among));
}

size_t live_count(const struct decider *decider)
{
	size_t count = decider->jobs.count;

	for (struct live *at = among_at(tree_first(&decider->ranges)); at;
	     at = among_at(tree_next(&at->among)))
		count += (size_t)at->job.elements - 1;
	return count;
}

static bool ends_before(const struct tree_node *node, const void *id)
{
	return container_of(node, const struct live, by_id)->job.id < *(const int64_t *)id;
}

struct live *live_from(const struct decider *decider, int64_t id)
{
	return live_at(tree_search(&decider->by_id, ends_before, &id));
}

static bool is_before(const struct tree_node *node, const void *id)
{
	return container_of(node, const struct live, among)->job.id < *(const int64_t *)id;
}

struct live *live_get(const struct decider *decider, int64_t id)
{
	struct live *live = map_u64_get(&decider->jobs, (uint64_t)id);

	if (live)
		return live;
	live = among_at(tree_search(&decider->ranges, is_before, &id));
	return live && job_first_id(&live->job) <= id ? live : NULL;
}

/* Ranges are few: an array, and what is left of it between elements that were taken out. */
static const struct live *find_uuid(struct decider *decider, const char *uuid)
{
	const struct live *live = map_text_get(&decider->uuids, uuid, strlen(uuid));
	int64_t before;

	if (live)
		return live;
	for (live = among_at(tree_first(&decider->ranges)); live;
	     live = among_at(tree_next(&live->among)))
		if (uuid_distance(uuid, live->job.uuid, &before) && before >= 0 &&
		    before < live->job.elements)
			return live_element(decider, live, live->job.id - before);
	return NULL;
}

const struct live *live_find(struct decider *decider, const char *id)
{
	int64_t number;

	if (strata_int_parse(id, STRATA_TEXT_NUL, 1, INT64_MAX, &number, NULL))
		return find_uuid(decider, id);
	const struct live *live = live_get(decider, number);

	return live ? live_element(decider, live, number) : NULL;
}

const struct live *live_element(struct decider *decider, const struct live *live, int64_t id)
{
	if (live->job.elements < 2)
		return live;
	struct live *copy = batch_need(strata_arena_get(&decider->scratch, sizeof(*copy)));
	char *uuid = batch_need(strata_arena_get(&decider->scratch, UUID_TEXT_BYTES));

	*copy = *live;
	copy->job = job_element(&live->job, id, uuid);
	copy->dirty = false;
	return copy;
}

/* ---- out of a range ---- */

/* It is known until its time, which comes after those of all that ended before it. */
static void remember(struct decider *decider, struct live *live, int64_t forget_ns)
{
	live->forget_ns = forget_ns;
	live->next_ended = NULL;
	*(decider->ended_last ? &decider->ended_last->next_ended : &decider->ended_first) = live;
	decider->ended_last = live;
}

/* A part of the range as a live job: the elements up to this one. */
static struct live *make_part(struct decider *decider, const struct live *range, int64_t last,
			      int64_t elements)
{
	char uuid[UUID_TEXT_BYTES];
	struct job job = job_element(&range->job, last, uuid);

	if (elements > 1) {
		job.elements = elements;
		job.index_step = range->job.index_step;
	}
	struct live *live = batch_need(live_new(decider, &job, range->spec));

	live->held = range->held;
	if (range->request) {
		live->request = batch_need(strdup(range->request));
		live->job.request = live->request;
	}
	if (live->job.completed_ns)
		remember(decider, live, range->forget_ns);
	batch_job(decider, live);
	return live;
}

void live_shrink(struct decider *decider, struct live *range, int64_t elements)
{
	range->job.elements = elements > 1 ? elements : 0;
	if (elements < 2) {
		range->job.index_step = 0;
		tree_remove(&decider->ranges, &range->among);
	}
	batch_job(decider, range);
}

struct live *live_take(struct decider *decider, int64_t first, int64_t last)
{
	struct live *range = live_get(decider, first);

	if (!range || (first == job_first_id(&range->job) && last == range->job.id))
		return range;
	int64_t range_first = job_first_id(&range->job), range_last = range->job.id;

	assert(first <= last && last <= range_last);
	if (first > range_first)
		make_part(decider, range, first - 1, first - range_first);
	struct live *own = last < range_last ? make_part(decider, range, last, last - first + 1)
					     : range;

	live_shrink(decider, range, last < range_last ? range_last - last : last - first + 1);
	return own;
}

struct live *live_own(struct decider *decider, int64_t id)
{
	return live_take(decider, id, id);
}

void live_set_place(struct decider *decider, struct live *live, const struct strata_piece *pieces,
		    uint32_t count)
{
	struct job_place *place = count ? nodes_place(decider, pieces, count) : NULL;

	if (decider->remote && live->job.place && !place)
		remote_give_back(decider, live->job.id);
	live->job.stopping = JOB_NOT_STOPPING; /* whatever was to be stopped was where it was */
	if (live->job.place) {
		free((void *)live->job.ran_on);
		live->job.ran_on = live->job.place;
	}
	assert(live->job.elements < 2 || !place); /* a range waits */
	if (!live->job.place && place)
		tree_insert(&decider->placed, &live->among);
	else if (live->job.place && !place)
		tree_remove(&decider->placed, &live->among);
	live->job.place = place;
	batch_job(decider, live);
}

json_t *live_gpu_ids(const struct decider *decider, const struct strata_piece *pieces,
		     uint32_t count)
{
	json_t *map = json_object();

	for (uint32_t i = 0; i < count; i++) {
		json_t *ids = json_array();

		for (int gpu = 0; gpu < STRATA_NODE_GPUS_MAX; gpu++)
			if (pieces[i].gpu_mask >> gpu & 1)
				json_array_append_new(ids, json_integer(gpu));
		json_object_set_new(map, decider->nodes[pieces[i].node].name, ids);
	}
	return map;
}

void live_set_stopping(struct decider *decider, struct live *live, enum strata_stop mode)
{
	live->job.stopping = job_stopping_of(mode);
	batch_job(decider, live);
}

void live_set_held(struct decider *decider, struct live *live, enum job_hold held)
{
	char *own = held == live->spec->held ? NULL : live_spec_text(live->spec, held);

	if (held != live->spec->held && !own)
		return; /* no memory: it stays as it was said before */
	free(live->request);
	live->request = own;
	live->job.request = own ? own : live->spec->text;
	live->held = held;
	batch_job(decider, live);
}

void live_set_spec(struct decider *decider, struct live *live, struct live_spec *spec)
{
	enum job_hold held = live->held;

	live_spec_unref(live->spec);
	live->spec = spec;
	free(live->request);
	live->request = NULL;
	live->job.request = spec->text;
	live->held = spec->held;
	live_set_held(decider, live, held);
}

void live_update(struct decider *decider, struct live *live)
{
	struct strata_job_view view;

	if (strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL))
		return;
	assert(job_state_follows(live->job.state, view.state));
	live->job.state = view.state;
	live->job.reason = view.reason;
	live->job.attempt = view.attempt;
	live->job.preempted = view.preempted;
	batch_job(decider, live);
}

void live_set_failure(struct decider *decider, struct live *live, const char *why)
{
	char text[sizeof(((struct strata_error *)NULL)->text) + 32];

	snprintf(text, sizeof(text), "could not start: %s", why ? why : "");
	free((char *)live->job.failure);
	live->job.failure = why ? strdup(text) : NULL;
	batch_job(decider, live);
}

/* When it ended. A clock that was set meanwhile must not make it run backwards, or for a year:
 * then what a clock that cannot be set has counted says how long it ran. */
static int64_t end_of(const struct decider *decider, const struct live *live,
		      const struct exec_status *status)
{
	int64_t now_ns = decider_now_ns(decider), started_ns = live->job.started_ns;
	int64_t ended_ns = status && status->ended_ns && status->ended_ns <= now_ns
				   ? status->ended_ns
				   : now_ns;
	int64_t had_ns = status ? status->ran_ns + status->frozen_ns : 0;
	int64_t off_ns = ended_ns - started_ns - had_ns;

	if (started_ns && had_ns > 0 && (off_ns > CLOCK_OFF_NS || off_ns < -CLOCK_OFF_NS))
		ended_ns = started_ns + had_ns;
	return ended_ns > started_ns ? ended_ns : started_ns;
}

void live_ended(struct decider *decider, struct live *live, const struct exec_status *status)
{
	assert(strata_job_ended(live->job.state) && live->job.completed_ns == 0); /* once */
	live->job.completed_ns = end_of(decider, live, status);
	if (live->job.started_ns) {
		int64_t ran_ns = live->job.completed_ns - live->job.started_ns;

		metrics_time(&decider->common->metrics, METRIC_RUN, ran_ns);
		if (live->predicted_ns && live->job.state == STRATA_JOB_COMPLETED)
			figures_predicted(decider, live->predicted_ns, ran_ns);
	}
	remember(decider, live, env_now_ns(decider->env, ENV_MONOTONIC) + REMEMBERED_NS);
	batch_job(decider, live);
	output_ended(decider, live);
	webhook_job(decider, live, JOB_ENDED);
}

void live_sweep(struct decider *decider)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);

	while (decider->ended_first && decider->ended_first->forget_ns <= now_ns) {
		struct live *live = decider->ended_first;

		if (live->dirty || strata_cluster_forget_range(
					   decider->cluster, (uint64_t)job_first_id(&live->job),
					   (uint32_t)job_elements(&live->job), NULL) == -EBUSY)
			return;
		decider->ended_first = live->next_ended;
		if (!decider->ended_first)
			decider->ended_last = NULL;
		live_free(decider, live);
	}
}
