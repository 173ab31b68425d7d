/*
 * What can happen to a job, from its submission until it is forgotten. Everything that may fail
 * comes before anything is changed.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* ---- submission ---- */

/* Numbers for names, so that predictions need not know texts. 0: no name. */
int life_name(struct strata_cluster *cluster, const char *name, uint64_t *ret_number,
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

/* Everything a new job is bound to. */
static int bind_job(struct strata_cluster *cluster, struct job *job,
		    const struct strata_job_request *request, struct strata_error *err)
{
	int rc = array_join(cluster, job, request, err);

	if (rc == 0)
		rc = gang_join(cluster, job, request, err);
	if (rc == 0)
		rc = depend_init(cluster, job, request, err);
	if (rc == 0)
		rc = map_u64_put(&cluster->jobs, job->id, job, NULL) ? strata_fail_memory(err) : 0;
	if (rc == 0 && enqueue_job(cluster, job)) {
		map_u64_remove(&cluster->jobs, job->id);
		rc = strata_fail_memory(err);
	}
	if (rc) {
		depend_fini(cluster, job);
		gang_leave(cluster, job);
		array_leave(cluster, job);
	}
	return rc;
}

static int make_job(struct strata_cluster *cluster, const struct strata_job_request *request,
		    uint32_t elements, struct resource_request *resources, struct strata_error *err)
{
	struct association *association;
	uint64_t name, handle;
	int rc = entity_association(cluster, request, &association, err);

	if (rc == 0)
		rc = entity_admits(association, elements, err);
	if (rc == 0)
		rc = life_name(cluster, request->name, &name, err);
	if (rc)
		return rc;
	struct job *job = slab_get(&cluster->job_slab, &handle);

	if (!job)
		return strata_fail_memory(err);
	job->id = request->id;
	job->handle = handle;
	job->sequence = cluster->sequence + 1;
	job->elements = elements;
	job->index_step = request->array_step ? request->array_step : 1;
	job->resources = resources;
	job->association = association;
	job->name = name;
	job->band = request->band;
	job->priority = request->priority;
	job->held = request->held;
	job->requeue = request->requeue;
	job->preemptible = request->preemptible;
	job->any_dependency = request->any_dependency;
	job->cancel_if_never = request->cancel_if_never;
	job->checkpoint_every_ns = request->checkpoint_ns;
	job->submit_ns = cluster->now_ns;
	job->begin_ns = request->begin_ns;
	job->limit_ns = request->time_limit_ns;
	rc = bind_job(cluster, job, request, err);
	if (rc) {
		cluster->apart_count -= job->stood_apart;
		slab_put(&cluster->job_slab, handle);
		return rc;
	}
	if (job->cancel_if_never)
		enqueue_later(cluster, job); /* its dependencies may be past hope already */
	range_enter(cluster, job);
	entity_count_waiting(association, elements);
	return 0;
}

/* One job, or several elements as one. */
static int submit(struct strata_cluster *cluster, const struct strata_job_request *request,
		  uint32_t elements, struct strata_error *err)
{
	struct resource_request *resources;
	uint64_t end = request->id + elements;

	for (uint64_t id = request->id; id < end && id < cluster->id_end; id++)
		if (range_get(cluster, id))
			return strata_fail_at(err, -EEXIST, "id", "there is a job %llu already",
					      (unsigned long long)id);
	int rc = resources_get(cluster, request, &resources, err);

	if (rc)
		return rc;
	rc = make_job(cluster, request, elements, resources, err);
	if (rc) {
		resources_put(cluster, resources);
		return rc;
	}
	cluster->id_end = end > cluster->id_end ? end : cluster->id_end;
	cluster->sequence += elements;
	cluster->metrics.jobs[STRATA_JOB_QUEUED] += elements;
	return 0;
}

static void withdraw(struct strata_cluster *cluster, struct job *job);

/* Elements that are told apart from the beginning, all of them or none. */
static int submit_singly(struct strata_cluster *cluster, const struct strata_job_request *request,
			 struct strata_error *err)
{
	struct strata_job_request one = *request;
	int rc = 0;

	one.array_count = 0;
	for (uint32_t i = 0; rc == 0 && i < request->array_count; i++) {
		rc = submit(cluster, &one, 1, err);
		if (rc)
			break;
		one.id++;
		one.array_index += request->array_step;
	}
	while (rc && one.id > request->id)
		withdraw(cluster, map_u64_get(&cluster->jobs, --one.id));
	return rc;
}

static int check_elements(const struct strata_job_request *request, struct strata_error *err)
{
	uint64_t last = request->array_index +
			(uint64_t)(request->array_count - 1) * request->array_step;

	if (request->array_count > STRATA_ARRAY_INDEX_MAX + 1)
		return strata_fail_at(err, -ERANGE, "array_count",
				      "array_count is %u; expected at most %d",
				      request->array_count, STRATA_ARRAY_INDEX_MAX + 1);
	if (!request->array || !request->array_step || last > UINT32_MAX ||
	    request->id > UINT64_MAX - request->array_count)
		return strata_fail_at(err, -EINVAL, "array_count",
				      "array_count is %u; expected an array and a step from "
				      "index to index with it",
				      request->array_count);
	return 0;
}

int strata_cluster_submit(struct strata_cluster *cluster, const struct strata_job_request *request,
			  int64_t now_ns, struct strata_error *err)
{
	cluster_tell(cluster, .kind = STRATA_EVENT_SUBMIT, .now_ns = now_ns, .request = request);
	cluster_clock(cluster, now_ns);
	if (request->array_count < 2)
		return submit(cluster, request, 1, err);
	int rc = check_elements(request, err);

	if (rc)
		return rc;
	return range_allows(request) ? submit(cluster, request, request->array_count, err)
				     : submit_singly(cluster, request, err);
}

/* ---- what is reported of it ---- */

int life_wrong_state(const struct job *job, const char *expected, struct strata_error *err)
{
	return strata_fail(err, -ESTALE, "job %llu is %s; expected %s", (unsigned long long)job->id,
			   strata_job_state_name(job->state), expected);
}

void life_note_first_start(struct strata_cluster *cluster, struct job *job)
{
	if (job->started)
		return;
	job->started = true;
	array_started(cluster, job);
	depend_started(cluster, job);
}

void life_note_started(struct strata_cluster *cluster, struct job *job)
{
	job_set_state(cluster, job, STRATA_JOB_RUNNING, STRATA_REASON_NONE);
	life_note_first_start(cluster, job);
}

int strata_cluster_started(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			   struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_STARTED, .now_ns = now_ns, .job = id);
	cluster_clock(cluster, now_ns);
	if (found)
		return found;
	if (job->state != STRATA_JOB_SCHEDULED)
		return life_wrong_state(job, "scheduled", err);
	life_note_started(cluster, job);
	return 0;
}

/* Back to where it was in the queue, which the next pass sees to. */
static void send_back(struct strata_cluster *cluster, struct job *job, enum strata_job_state state,
		      enum strata_reason reason)
{
	claim_release(cluster, job);
	job_set_state(cluster, job, state, reason);
	enqueue_back(cluster, job);
}

/* One could not start, so none of its gang may: those that did are stopped and come back as
 * well. */
static void fail_start(struct strata_cluster *cluster, struct job *job)
{
	struct gang *gang = job->gang;

	send_back(cluster, job, STRATA_JOB_QUEUED, STRATA_REASON_PRIORITY);
	for (struct job *other = gang ? gang->first : NULL; other; other = other->gang_next)
		if (other->claims)
			cluster_lose(cluster, other, other->requeue, STRATA_REASON_GANG);
}

static void note_stopped(struct strata_cluster *cluster, struct job *job)
{
	enum strata_stop mode = job->stop_mode;
	bool for_other = job->preemptor != 0;

	if (mode == STRATA_STOP_SUSPEND) {
		if (job->state == STRATA_JOB_SCHEDULED)
			life_note_started(cluster, job); /* or there would be nothing to freeze */
		claim_freeze(cluster, job);
		job->held |= !for_other; /* who froze it lets it go */
		job_set_state(cluster, job, STRATA_JOB_PREEMPTED, STRATA_REASON_SUSPENDED);
		enqueue_back(cluster, job);
		return;
	}
	if (mode == STRATA_STOP_REQUEUE && !for_other) {
		send_back(cluster, job, STRATA_JOB_QUEUED, STRATA_REASON_REQUEUED);
		return;
	}
	if (mode == STRATA_STOP_REQUEUE) {
		send_back(cluster, job, STRATA_JOB_PREEMPTED, STRATA_REASON_PREEMPTED);
		return;
	}
	claim_release(cluster, job);
	job->end_ns = cluster->now_ns;
	job_set_state(cluster, job, STRATA_JOB_CANCELLED,
		      for_other ? STRATA_REASON_PREEMPTED : STRATA_REASON_NONE);
}

/* It goes back to the queue, unless it must not run a second time, or was to end anyway. */
static void note_lost(struct strata_cluster *cluster, struct job *job)
{
	if (job->stopping && job->stop_mode != STRATA_STOP_SUSPEND) {
		note_stopped(cluster, job);
		return;
	}
	if (job->requeue) {
		send_back(cluster, job, STRATA_JOB_QUEUED, STRATA_REASON_NODE_FAILURE);
		return;
	}
	claim_release(cluster, job);
	job->end_ns = cluster->now_ns;
	job_set_state(cluster, job, STRATA_JOB_FAILED, STRATA_REASON_NODE_FAILURE);
}

static enum strata_reason reason_of_end(enum strata_outcome outcome)
{
	switch (outcome) {
	case STRATA_OUTCOME_COMPLETED:
		return STRATA_REASON_NONE;
	case STRATA_OUTCOME_TIME_LIMIT:
		return STRATA_REASON_TIME_LIMIT;
	case STRATA_OUTCOME_NOT_STARTED:
		return STRATA_REASON_START_FAILED;
	case STRATA_OUTCOME_OUT_OF_MEMORY:
		return STRATA_REASON_OUT_OF_MEMORY;
	default:
		return STRATA_REASON_EXIT_CODE;
	}
}

static void note_ended(struct strata_cluster *cluster, struct job *job, enum strata_outcome outcome)
{
	bool completed = outcome == STRATA_OUTCOME_COMPLETED;

	claim_release(cluster, job);
	job->end_ns = cluster->now_ns;
	if (completed && cluster->prediction->learn) {
		struct strata_run run = job_run(job);

		cluster->prediction->learn(cluster->conf.prediction.conf, cluster->prediction_state,
					   &run, job->end_ns - job->start_ns);
	}
	job_set_state(cluster, job, completed ? STRATA_JOB_COMPLETED : STRATA_JOB_FAILED,
		      reason_of_end(outcome));
}

int strata_cluster_ended(struct strata_cluster *cluster, uint64_t id, enum strata_outcome outcome,
			 int64_t now_ns, struct strata_error *err)
{
	return strata_cluster_ended_after(cluster, id, outcome, 0, now_ns, err);
}

int strata_cluster_ended_after(struct strata_cluster *cluster, uint64_t id,
			       enum strata_outcome outcome, int64_t ran_ns, int64_t now_ns,
			       struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_ENDED, .now_ns = now_ns, .job = id,
		     .outcome = outcome, .ran_ns = ran_ns);
	cluster_clock(cluster, now_ns);
	if (found)
		return found;
	if ((unsigned)outcome >= STRATA_OUTCOME_COUNT)
		return strata_fail(err, -EINVAL, "there is no such outcome");
	if (!job_placed(job) && !job->suspended)
		return life_wrong_state(job, "scheduled or running", err);
	if (outcome == STRATA_OUTCOME_STOPPED && !job->stopping)
		return strata_fail(err, -ESTALE, "job %llu was not asked to stop",
				   (unsigned long long)id);
	if (job->suspended)
		enqueue_undo(cluster, job);
	if (ran_ns > 0)
		claim_charge_measured(cluster, job, ran_ns);
	if (outcome == STRATA_OUTCOME_START_FAILED)
		fail_start(cluster, job);
	else if (outcome == STRATA_OUTCOME_STOPPED)
		note_stopped(cluster, job);
	else if (outcome == STRATA_OUTCOME_LOST)
		note_lost(cluster, job);
	else
		note_ended(cluster, job, outcome);
	return 0;
}

/* ---- what is wanted of it ---- */

/* Is each of them in a state for it? */
typedef int check_job(const struct job *job, const void *context, struct strata_error *err);

/* So many jobs from this id on, cut out of their ranges and checked: after that nothing can
 * fail. */
static int take_all(struct strata_cluster *cluster, uint64_t id, uint32_t count, check_job *check,
		    const void *context, struct strata_error *err)
{
	int rc = range_take_all(cluster, id, count, err);
	const struct job *job;

	for (uint64_t at = id; rc == 0 && (job = range_next(cluster, &at, id + count));)
		rc = check(job, context, err);
	return rc;
}

/* The others of a gang that has not started cannot start without one of these. */
static void cancel_gang(struct strata_cluster *cluster, struct gang *gang, uint64_t first,
			uint64_t end)
{
	struct job *job, *next;

	for (job = gang->first; job; job = job->gang_next)
		if (job->started)
			return;
	for (job = gang->first; job; job = next) {
		next = job->gang_next;
		if ((job->id >= first && job->id < end) || !job_waits(job))
			continue; /* each of these in its turn */
		enqueue_undo(cluster, job);
		job->end_ns = cluster->now_ns;
		job_set_state(cluster, job, STRATA_JOB_CANCELLED, STRATA_REASON_GANG);
		job->is_lost = true;
		job->next_lost = cluster->lost;
		cluster->lost = job;
	}
}

static int check_not_ended(const struct job *job, const void *context, struct strata_error *err)
{
	(void)context;
	return strata_job_ended(job->state) ? life_wrong_state(job, "a job that has not ended", err)
					    : 0;
}

int strata_cluster_cancel_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				int64_t now_ns, struct strata_error *err)
{
	int rc = take_all(cluster, id, count, check_not_ended, NULL, err);
	struct job *job;

	cluster_tell(cluster, .kind = STRATA_EVENT_CANCEL, .now_ns = now_ns, .job = id,
		     .count = count > 1 ? count : 0);
	cluster_clock(cluster, now_ns);
	for (uint64_t at = id; rc == 0 && (job = range_next(cluster, &at, id + count));) {
		if (job_waits(job))
			enqueue_undo(cluster, job);
		if (job->gang && job_waits(job))
			cancel_gang(cluster, job->gang, id, id + count);
		if (job->claims)
			claim_release(cluster, job);
		job->end_ns = cluster->now_ns;
		job_set_state(cluster, job, STRATA_JOB_CANCELLED, STRATA_REASON_NONE);
		cluster->changed = true;
	}
	return rc;
}

int strata_cluster_cancel(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			  struct strata_error *err)
{
	return strata_cluster_cancel_range(cluster, id, 1, now_ns, err);
}

static int check_waits(const struct job *job, const void *context, struct strata_error *err)
{
	(void)context;
	return job_waits(job) ? 0 : life_wrong_state(job, "queued", err);
}

static void set_held(struct strata_cluster *cluster, struct job *job, bool held)
{
	if (job->held == held)
		return;
	job->held = held;
	if (held) {
		enqueue_undo(cluster, job);
		job->reason = job->suspended ? STRATA_REASON_SUSPENDED : STRATA_REASON_HELD;
	} else {
		job->reason = STRATA_REASON_PRIORITY;
		enqueue_back(cluster, job);
	}
	cluster->changed = true;
}

int strata_cluster_hold_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
			      bool held, int64_t now_ns, struct strata_error *err)
{
	int rc = take_all(cluster, id, count, check_waits, NULL, err);
	struct job *job;

	cluster_tell(cluster, .kind = held ? STRATA_EVENT_HOLD : STRATA_EVENT_RELEASE,
		     .now_ns = now_ns, .job = id, .count = count > 1 ? count : 0);
	cluster_clock(cluster, now_ns);
	for (uint64_t at = id; rc == 0 && (job = range_next(cluster, &at, id + count));)
		set_held(cluster, job, held);
	return rc;
}

int strata_cluster_hold(struct strata_cluster *cluster, uint64_t id, bool held, int64_t now_ns,
			struct strata_error *err)
{
	return strata_cluster_hold_range(cluster, id, 1, held, now_ns, err);
}

static int check_change(const struct job *job, const void *context, struct strata_error *err)
{
	const struct strata_job_change *change = context;

	if (strata_job_ended(job->state))
		return life_wrong_state(job, "a job that has not ended", err);
	if (!job_waits(job) && (change->what & ~(unsigned)STRATA_CHANGE_TIME_LIMIT))
		return life_wrong_state(
			job, "a waiting one, of which more than the time limit can change", err);
	if ((change->what & STRATA_CHANGE_TIME_LIMIT) && change->time_limit_ns < 1)
		return strata_fail_at(err, -EINVAL, "time_limit", "the time limit is not above 0");
	if ((change->what & STRATA_CHANGE_BAND) && (unsigned)change->band >= STRATA_BAND_COUNT)
		return strata_fail_at(err, -EINVAL, "band", "there is no such band");
	if (!(change->what & (STRATA_CHANGE_REQUEST | STRATA_CHANGE_DEPENDENCIES)))
		return 0;
	return change->request ? respecify_check(job, err)
			       : strata_fail(err, -EINVAL, "the change has no request");
}

static void change_job(struct strata_cluster *cluster, struct job *job, struct renewal *renewal)
{
	const struct strata_job_change *change = renewal->change;

	if (job_waits(job))
		enqueue_undo(cluster, job); /* it is found by what changes */
	if (change->what & STRATA_CHANGE_BAND)
		job->band = change->band;
	if (change->what & STRATA_CHANGE_PRIORITY)
		job->priority = change->priority;
	if (change->what & STRATA_CHANGE_BEGIN)
		job->begin_ns = change->begin_ns;
	if (change->what & STRATA_CHANGE_TIME_LIMIT)
		job->limit_ns = change->time_limit_ns;
	respecify_job(cluster, job, renewal);
	if (job_waits(job)) {
		enqueue_back(cluster, job);
	} else if (!job->stopping) {
		tree_remove(&cluster->running, &job->by_end);
		job->expected_end_ns = job->start_ns + queue_hold_ns(cluster, job);
		if (job->expected_end_ns <= cluster->now_ns)
			job->expected_end_ns = cluster->now_ns + 1;
		tree_insert(&cluster->running, &job->by_end);
	}
	cluster->changed = cluster->disturbed = true;
}

int strata_cluster_change_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				const struct strata_job_change *change, int64_t now_ns,
				struct strata_error *err)
{
	int rc = take_all(cluster, id, count, check_change, change, err);
	struct renewal renewal;
	struct job *job = NULL;

	cluster_tell(cluster, .kind = STRATA_EVENT_CHANGE, .now_ns = now_ns, .job = id,
		     .count = count > 1 ? count : 0, .change = *change);
	cluster_clock(cluster, now_ns);
	if (rc == 0)
		rc = respecify_prepare(cluster, id, count, change, &renewal, err);
	if (rc)
		return rc;
	for (uint64_t at = id; (job = range_next(cluster, &at, id + count));)
		change_job(cluster, job, &renewal);
	respecify_finish(cluster, range_get(cluster, id), &renewal);
	return 0;
}

int strata_cluster_change(struct strata_cluster *cluster, uint64_t id,
			  const struct strata_job_change *change, int64_t now_ns,
			  struct strata_error *err)
{
	return strata_cluster_change_range(cluster, id, 1, change, now_ns, err);
}

/* ---- its end ---- */

static void leave_ready(struct strata_cluster *cluster, struct job *job)
{
	struct job **at = &cluster->ready, *before = NULL;

	if (!job->is_ready)
		return;
	for (; *at != job; at = &(*at)->next_ready)
		before = *at;
	*at = job->next_ready;
	if (cluster->ready_last == job)
		cluster->ready_last = before;
	job->is_ready = false;
}

static void forget(struct strata_cluster *cluster, struct job *job)
{
	if (job->is_new) {
		queue_forget_new(cluster);
		cluster->changed = true;
	}
	leave_ready(cluster, job);
	stop_forget(cluster, job);
	range_leave(cluster, job);
	array_leave(cluster, job);
	cluster->metrics.jobs[job->state] -= job->elements;
	map_u64_remove(&cluster->jobs, job->id);
	cluster->apart_count -= job->stood_apart;
	cluster_free_job(cluster, job);
	slab_put(&cluster->job_slab, job->handle);
}

static int check_over(const struct job *job, const void *context, struct strata_error *err)
{
	(void)context;
	if (!strata_job_ended(job->state))
		return life_wrong_state(job, "a job that has ended", err);
	if (job->is_lost)
		return strata_fail(err, -EBUSY, "job %llu cannot be forgotten before the next pass",
				   (unsigned long long)job->id);
	return 0;
}

int strata_cluster_forget_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				struct strata_error *err)
{
	int rc = take_all(cluster, id, count, check_over, NULL, err);
	struct job *job;

	cluster_tell(cluster, .kind = STRATA_EVENT_FORGET, .job = id,
		     .count = count > 1 ? count : 0);
	for (uint64_t at = id; rc == 0 && (job = range_next(cluster, &at, id + count));)
		forget(cluster, job);
	return rc;
}

int strata_cluster_forget(struct strata_cluster *cluster, uint64_t id, struct strata_error *err)
{
	return strata_cluster_forget_range(cluster, id, 1, err);
}

/* As if it had not been. */
static void withdraw(struct strata_cluster *cluster, struct job *job)
{
	enqueue_undo(cluster, job);
	job_set_state(cluster, job, STRATA_JOB_CANCELLED, STRATA_REASON_NONE);
	cluster->changed = true;
	forget(cluster, job);
}

int strata_cluster_withdraw(struct strata_cluster *cluster, uint64_t id, struct strata_error *err)
{
	struct job *job = range_get(cluster, id);

	cluster_tell(cluster, .kind = STRATA_EVENT_WITHDRAW, .job = id);
	if (!job)
		return strata_fail_at(err, -ESRCH, "id", "there is no job %llu",
				      (unsigned long long)id);
	if (!job_waits(job) || job->attempt || job->suspended)
		return life_wrong_state(job, "a job that was never placed", err);
	withdraw(cluster, job);
	return 0;
}

/* ---- what is known of it ---- */

/* A job behind others like it waits for what they wait for; one of a gang for what the first of it
 * does. */
static enum strata_reason reason_of(const struct job *job, bool first)
{
	enum strata_reason reason = first || !job->job_group ? job->reason : job->others;

	if (job->gang && job->gang_ready && job->gang->first != job && job->gang->first->job_group)
		return job->gang->first->reason;
	if (job->job_group && (job->job_group->first != job || !first) &&
	    reason == STRATA_REASON_PRIORITY &&
	    job->job_group->first->reason >= STRATA_REASON_USER_LIMIT &&
	    job->job_group->first->reason <= STRATA_REASON_ARRAY_LIMIT)
		return job->job_group->first->reason;
	return reason;
}

int strata_cluster_job(const struct strata_cluster *cluster, uint64_t id,
		       struct strata_job_view *ret_view, struct strata_error *err)
{
	const struct job *job = range_get(cluster, id);

	if (!job)
		return strata_fail_at(err, -ESRCH, "id", "there is no job %llu",
				      (unsigned long long)id);
	bool first = job->id == id; /* of a range, whose others have been promised nothing */

	*ret_view = (struct strata_job_view){
		.id = id,
		.state = job->state,
		.reason = reason_of(job, first),
		.attempt = job->attempt,
		.preempted = job->preempted,
		.stopping = job->stopping,
		.requeue = job->requeue,
		.submit_ns = job->submit_ns,
		.start_ns = job->attempt ? job->start_ns : STRATA_TIME_NONE,
		.end_ns = strata_job_ended(job->state) ? job->end_ns : STRATA_TIME_NONE,
		.expected_end_ns = job_placed(job) ? job->expected_end_ns : STRATA_TIME_NONE,
		.promised_ns = job_waits(job) && first && job->promised_ns ? job->promised_ns
									   : STRATA_TIME_NONE,
		.pieces = claim_pieces(job),
		.piece_count = job->claim_count,
	};
	return 0;
}
