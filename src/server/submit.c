/*
 * Taking submissions in: the door (admit.c), the request to the cluster, a row for each job. All of
 * it is in this round's batch or nothing; see submit_undo.
 */
#include "server/submit.h"

#include "server/admit.h"
#include "server/job_dependencies.h"
#include "server/gangs.h"
#include "server/job_make.h"
#include "server/live.h"
#include "server/entities.h"
#include "store/uuid.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A submission on its way in. */
struct intake {
	struct decider *decider;
	const struct submission *submission;
	const struct identity *who;
	struct strata_arena *arena;
	struct job_spec spec; /* as this caller may have it */
	struct strata_job_request request;
	struct strata_array array;
	struct job job;         /* what all its jobs have in common */
	struct live_spec *kept; /* of all its jobs */
	char script[STORE_HASH_BYTES], environment[STORE_HASH_BYTES];
};

/* ---- what is asked for ---- */

static int read_array(struct intake *intake, struct strata_error *err)
{
	if (!intake->spec.array || !*intake->spec.array)
		return 0;
	int rc = strata_array_parse(intake->spec.array, STRATA_TEXT_NUL, intake->arena,
				    &intake->array, err);

	return rc ? strata_fail_under(err, rc, "array") : 0;
}

static int read_gang(struct intake *intake, struct strata_error *err)
{
	if (!intake->spec.gang)
		return 0;
	intake->request.gang_size = (uint32_t)intake->spec.gang_size;
	return gangs_find(intake->decider, intake->who->user, intake->spec.gang,
			  intake->decider->next_id, &intake->request.gang, err);
}

/* The request to the cluster, but for what each job has of its own. */
static int make_request(struct intake *intake, struct strata_error *err)
{
	struct decider *decider = intake->decider;
	struct spec_rules rules = decider->rules;
	int rc = admit_submission(decider, intake->who, &intake->spec, intake->arena, err);

	if (rc)
		return rc;
	entities_partition_rules(decider, intake->spec.partition, &rules);
	rc = spec_request(&intake->spec, &rules, decider_now_ns(decider), &intake->request, err);
	intake->request.uncharged = intake->submission->uncharged;
	if (rc == 0)
		rc = spec_check_memory(&intake->request, err);
	if (rc == 0)
		rc = read_array(intake, err);
	if (rc == 0)
		rc = depend_fill(decider, &intake->spec, false, intake->arena, &intake->request,
				 err);
	return rc ? rc : read_gang(intake, err);
}

/* ---- what is kept of it ---- */

/* The texts that are made for it: command and spec. */
static int make_texts(struct intake *intake, struct strata_error *err)
{
	json_t *json = intake->submission->json;

	if (intake->spec.node_exclude != intake->submission->spec.node_exclude)
		json_object_set_new(json, "node_exclude", /* those that are closed to it */
				    json_string(intake->spec.node_exclude));
	intake->job.command = job_make_command(&intake->spec);
	intake->kept = live_spec_new(&intake->spec, json);
	if (!intake->job.command || !intake->kept)
		return strata_fail_memory(err);
	intake->kept = live_spec_merge(intake->decider->last_spec, intake->kept);
	size_t length = strlen(intake->kept->text);

	if (strlen(intake->job.command) > STRATA_STORE_TEXT_BYTES_MAX ||
	    length > STRATA_STORE_TEXT_BYTES_MAX)
		return strata_fail_at(
			err, -E2BIG, "command",
			"the job has %zu bytes without script and environment; expected up to %d",
			length, STRATA_STORE_TEXT_BYTES_MAX);
	return 0;
}

/* Contents that are stored by their hash. */
static const char *put_blob(struct decider *decider, const void *bytes, size_t length,
			    char hash[STORE_HASH_BYTES])
{
	struct store_blob blob = { .hash = hash, .bytes = bytes, .size_bytes = length };

	if (!bytes)
		return NULL;
	store_blob_hash(bytes, length, hash);
	if (strcmp(decider->batch.last_blob, hash) == 0)
		return hash; /* many jobs of one script come together */
	memcpy(decider->batch.last_blob, hash, STORE_HASH_BYTES);
	batch_put(decider, STORE_PUT(&blob));
	return hash;
}

static void put_blobs(struct intake *intake)
{
	const struct submission *submission = intake->submission;

	intake->job.script = put_blob(intake->decider, submission->script,
				      submission->script_length, intake->script);
	intake->job.environment = put_blob(intake->decider, submission->environment,
					   submission->environment_length, intake->environment);
}

/* ---- jobs ---- */

/* The last first: an earlier one may be what a later one waits for. Elements that are one to the
 * cluster go at once. */
static void withdraw(struct decider *decider, int64_t first, int64_t last)
{
	struct strata_job_view view;

	for (int64_t id = last; id >= first; id--) {
		if (id < last && strata_cluster_job(decider->cluster, (uint64_t)id, &view, NULL))
			return;
		int rc = strata_cluster_withdraw(decider->cluster, (uint64_t)id, NULL);

		assert(rc == 0); /* it was taken in this round, and nothing was decided since */
	}
}

/* One job, or a range of elements that is one until something tells them apart: to the cluster,
 * then into the batch. */
static int take_one(struct intake *intake, int64_t elements, struct strata_error *err)
{
	struct decider *decider = intake->decider;
	char first[UUID_TEXT_BYTES], uuid[UUID_TEXT_BYTES];
	int rc = uuid_make(decider->env, first, err);

	if (rc)
		return rc;
	uuid_move(first, elements - 1, uuid);
	intake->request.id = (uint64_t)decider->next_id;
	intake->request.user = intake->job.user;
	decider->next_id += elements;
	intake->job.id = decider->next_id - 1;
	rc = strata_cluster_submit(decider->cluster, &intake->request, intake->job.created_ns, err);
	if (rc)
		return rc;
	intake->job.uuid = uuid;
	struct live *live = live_new(decider, &intake->job, intake->kept);

	intake->job.uuid = NULL; /* each job has its own */
	if (!live) {
		withdraw(decider, (int64_t)intake->request.id, intake->job.id);
		return strata_fail_memory(err);
	}
	live_update(decider, live);
	return 0;
}

static int take_range(struct intake *intake, const struct strata_array_range *range,
		      struct strata_error *err)
{
	int64_t elements = (range->last - range->first) / range->step + 1;
	int64_t last = range->first + (elements - 1) * range->step;
	bool several = elements > 1;

	intake->request.array_index = (uint32_t)range->first;
	intake->request.array_count = (uint32_t)elements;
	intake->request.array_step = several ? (uint32_t)range->step : 0;
	intake->job.array_index = last;
	intake->job.elements = several ? elements : 0;
	intake->job.index_step = several ? range->step : 0;
	return take_one(intake, elements, err);
}

static int take_all(struct intake *intake, struct strata_error *err)
{
	int64_t first = intake->decider->next_id;
	int rc = 0;

	if (!intake->array.task_count)
		return take_one(intake, 1, err);
	intake->request.array = (uint64_t)first;
	intake->request.array_limit = (uint32_t)intake->array.limit;
	intake->job.array_id = first;
	for (size_t i = 0; rc == 0 && i < intake->array.range_count; i++)
		rc = take_range(intake, &intake->array.ranges[i], err);
	return rc;
}

int submit_take(struct decider *decider, const struct submission *submission,
		const struct identity *who, struct strata_arena *arena, struct strata_error *err)
{
	struct intake intake = { .decider = decider,
				 .submission = submission,
				 .who = who,
				 .arena = arena,
				 .spec = submission->spec };
	int rc = make_request(&intake, err);

	if (rc == 0) {
		job_make(&intake.spec, &intake.request, &intake.job);
		intake.job.user = who->user;
		intake.job.uid = who->uid;
		intake.job.gid = who->gid;
		intake.job.created_ns = decider_now_ns(decider);
		rc = make_texts(&intake, err);
	}
	if (rc == 0) {
		put_blobs(&intake);
		rc = take_all(&intake, err);
	}
	free((char *)intake.job.command);
	if (rc == 0 && intake.kept != decider->last_spec) {
		live_spec_unref(decider->last_spec);
		decider->last_spec = live_spec_ref(intake.kept);
	}
	live_spec_unref(intake.kept);
	return rc;
}

/* ---- all or nothing ---- */

struct submit_mark submit_begin(const struct decider *decider)
{
	return (struct submit_mark){ .batch = batch_mark(decider),
				     .first_id = decider->next_id,
				     .gangs = decider->gangs.count };
}

size_t submit_count(const struct decider *decider, const struct submit_mark *mark)
{
	return (size_t)(decider->next_id - mark->first_id);
}

void submit_undo(struct decider *decider, const struct submit_mark *mark)
{
	int64_t id = decider->next_id - 1;

	while (id >= mark->first_id) {
		struct live *live = live_get(decider, id);

		if (!live) { /* of those that could not be taken */
			id--;
			continue;
		}
		id = job_first_id(&live->job) - 1;
		withdraw(decider, id + 1, live->job.id);
		batch_leave(decider, live);
		live_free(decider, live);
	}
	batch_undo(decider, &mark->batch);
	if (decider->gangs.count == mark->gangs) /* one has the number of its first job for good */
		decider->next_id = mark->first_id;
}
