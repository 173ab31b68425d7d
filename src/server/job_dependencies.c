/* Dependencies of job_dependencies.h. */
#include "server/job_dependencies.h"

#include "server/live.h"

#include <strata/slurm.h>

#include <errno.h>
#include <string.h>

static enum strata_dependency_kind kind_of(enum strata_slurm_dependency_kind kind)
{
	switch (kind) {
	case STRATA_SLURM_AFTER:
		return STRATA_AFTER;
	case STRATA_SLURM_AFTERANY:
		return STRATA_AFTER_ANY;
	case STRATA_SLURM_AFTERCORR:
		return STRATA_AFTER_CORR;
	case STRATA_SLURM_AFTERNOTOK:
		return STRATA_AFTER_NOT_OK;
	case STRATA_SLURM_AFTEROK:
		return STRATA_AFTER_OK;
	default:
		return STRATA_SINGLETON;
	}
}

struct look {
	struct decider *decider;
	struct strata_arena *arena;
	bool taken;    /* see depend_fill */
	int64_t index; /* of the element that waits, in an array of its own; -1: none */
};

/* -ESRCH: there is no such job. */
static int find_job(const struct look *look, int64_t id, struct job *ret_job,
		    struct strata_error *err)
{
	const struct live *live = live_get(look->decider, id);

	if (live) {
		*ret_job = live->job;
		ret_job->id = id; /* of an array all elements say the same otherwise */
		return 0;
	}
	struct store_job row;
	int rc = store_job_get(look->decider->store, id, look->arena, &row, err);

	if (rc == -ENOENT)
		return strata_fail_at(err, -ESRCH, "dependencies",
				      "dependencies name job %lld, which does not exist",
				      (long long)id);
	if (rc == 0 && job_from_row(&row, look->arena, ret_job))
		rc = strata_fail_memory(err);
	return rc;
}

/* The number of an array's element: they were numbered in the order of their indexes. */
static int find_element(const struct look *look, const struct job *first, int64_t index,
			int64_t *ret_id, struct strata_error *err)
{
	const struct live *live = live_get(look->decider, first->id);
	struct strata_array array = { 0 };
	struct job_spec spec;
	int64_t id = first->id;
	int rc = live ? 0 : job_spec_restore(first->request, look->arena, &spec, err);
	const char *text = live ? live->spec->spec.array : rc ? NULL : spec.array;

	if (rc == 0 && text)
		rc = strata_array_parse(text, STRATA_TEXT_NUL, look->arena, &array, err);
	if (rc)
		return rc;
	for (int64_t at = strata_array_next(&array, -1); at >= 0;
	     at = strata_array_next(&array, at), id++)
		if (at == index) {
			*ret_id = id;
			return 0;
		}
	return strata_fail_at(err, -ESRCH, "dependencies",
			      "dependencies name job %lld_%lld, which does not exist: array %lld "
			      "has no such element",
			      (long long)first->id, (long long)index, (long long)first->id);
}

/* What the end of a job, or of a whole array, means to who waits for it. */
static enum strata_known known_of(enum strata_dependency_kind kind, bool ok)
{
	bool met = kind == STRATA_AFTER_OK || kind == STRATA_AFTER_CORR ? ok
		   : kind == STRATA_AFTER_NOT_OK                        ? !ok
									: true;

	return met ? STRATA_KNOWN_MET : STRATA_KNOWN_NEVER;
}

static int note_row(void *context, const void *row, struct strata_error *err)
{
	(void)row, (void)err;
	*(bool *)context = true;
	return 0;
}

/* Has the store an element of the array in one of these states? Those of the last few minutes may
 * not be there yet. */
static int has_element(const struct look *look, int64_t array, const enum strata_job_state *states,
		       size_t count, bool *ret_found, struct strata_error *err)
{
	const char *names[STRATA_JOB_STATE_COUNT];
	struct store_query query = {
		.states = names, .state_count = count, .array_id = array, .limit = 1
	};

	for (size_t i = 0; i < count; i++)
		names[i] = strata_job_state_name(states[i]);
	*ret_found = false;
	return store_jobs_page(look->decider->store, &query, note_row, ret_found, err);
}

/* A whole array. While an element has not ended the cluster knows the array. */
static int set_array(const struct look *look, const struct job *first, struct strata_dependency *to,
		     struct strata_error *err)
{
	static const enum strata_job_state bad[] = { STRATA_JOB_FAILED, STRATA_JOB_CANCELLED };
	static const enum strata_job_state open[] = { STRATA_JOB_QUEUED, STRATA_JOB_SCHEDULED,
						      STRATA_JOB_RUNNING, STRATA_JOB_PREEMPTED };
	bool is_open = false;
	int rc = has_element(look, first->id, bad, 2, &to->array_bad, err);

	if (rc == 0)
		rc = has_element(look, first->id, open, 4, &is_open, err);
	to->array = true;
	if (rc == 0 && !is_open && !live_get(look->decider, first->id))
		to->known = known_of(to->kind, !to->array_bad);
	return rc;
}

static int64_t delay_left_ns(const struct look *look, const struct job *job,
			     const struct strata_dependency *to)
{
	int64_t due_ns = job->started_ns + to->delay_ns, now_ns = decider_now_ns(look->decider);

	return job->started_ns && due_ns > now_ns ? due_ns - now_ns : 0;
}

static int set_job(const struct look *look, int64_t id, struct strata_dependency *to,
		   struct strata_error *err)
{
	struct job job;
	int rc = find_job(look, id, &job, err);

	to->job = (uint64_t)id;
	if (rc || live_get(look->decider, id))
		return rc;
	to->known = known_of(to->kind, job.state == STRATA_JOB_COMPLETED);
	to->delay_ns = delay_left_ns(look, &job, to);
	return 0;
}

/* aftercorr: the element of the same index in the other array, if the cluster does not know it any
 * more. */
static bool has_partner(const struct look *look, const struct job *first,
			enum strata_dependency_kind kind, int64_t *ret_id)
{
	return kind == STRATA_AFTER_CORR && look->index >= 0 &&
	       find_element(look, first, look->index, ret_id, NULL) == 0 &&
	       !live_get(look->decider, *ret_id);
}

static int fill_one(const struct look *look, const struct strata_slurm_dependency *from,
		    struct strata_dependency *to, struct strata_error *err)
{
	struct job first;
	int64_t id = from->job;

	*to = (struct strata_dependency){ .kind = kind_of(from->kind),
					  .job = (uint64_t)from->job,
					  .delay_ns = from->delay_ns };
	if (to->kind == STRATA_SINGLETON)
		return 0;
	int rc = find_job(look, from->job, &first, err);

	bool whole = rc == 0 && first.array_id == from->job && from->task < 0;

	if (rc == 0 && from->task >= 0)
		rc = find_element(look, &first, from->task, &id, err);
	if (whole && has_partner(look, &first, to->kind, &id))
		rc = set_job(look, id, to, err);
	else if (rc == 0)
		rc = whole ? set_array(look, &first, to, err) : set_job(look, id, to, err);
	if (rc == -ESRCH && look->taken) { /* it has ended, and was forgotten since */
		to->known = STRATA_KNOWN_MET;
		rc = 0;
	}
	return rc;
}

int depend_fill(struct decider *decider, const struct job_spec *spec, bool taken,
		struct strata_arena *arena, struct strata_job_request *request,
		struct strata_error *err)
{
	struct look look = { decider, arena, taken,
			     request->array ? (int64_t)request->array_index : -1 };
	struct strata_slurm_dependencies parsed;
	struct strata_dependency *list;

	if (!spec->dependencies || !*spec->dependencies)
		return 0;
	int rc = strata_slurm_dependencies_parse(spec->dependencies, STRATA_TEXT_NUL, arena,
						 &parsed, err);
	if (rc)
		return strata_fail_under(err, rc, "dependencies");
	list = strata_arena_array(arena, parsed.count, sizeof(*list));
	if (!list)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < parsed.count; i++)
		rc = fill_one(&look, &parsed.items[i], &list[i], err);
	if (rc)
		return rc;
	request->dependencies = list;
	request->dependency_count = parsed.count;
	request->any_dependency = parsed.any;
	return 0;
}
