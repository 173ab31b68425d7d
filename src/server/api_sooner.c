/*
 * GET /api/v1/jobs/…/sooner: what a waiting job could ask for to start earlier. A few variations
 * (fewer GPUs, any type, more nodes, less time) are taken in as its owner could have them, tried in
 * its place of the queue, and taken back in the same round; those that would help are told. The
 * decider plans once what is before the job, and looks for a place once for each.
 */
#include "server/api_jobs.h"
#include "server/decider.h"
#include "server/job_update.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>

enum { VARIATIONS_MAX = 6 };
#define WORTH_NS STRATA_MINUTE_NS /* what starts less than this earlier is not told */
#define TIME_LEAST_NS (10 * STRATA_MINUTE_NS)

struct variation {
	json_t *fields; /* what would be asked for */
	int64_t time_limit_ns;
	char text[160];
};

struct sooner {
	struct decider *decider;
	struct request *request;
	const struct live *live;
	struct variation list[VARIATIONS_MAX];
	size_t count;
};

/* ---- what could be asked for ---- */

static struct variation *add(struct sooner *sooner, json_t *fields)
{
	struct variation *variation = &sooner->list[sooner->count];

	if (!fields || sooner->count == VARIATIONS_MAX) {
		json_decref(fields);
		return NULL;
	}
	*variation = (struct variation){ .fields = fields };
	sooner->count++;
	return variation;
}

static void add_gpus(struct sooner *sooner, long long asked, long long gpus)
{
	struct variation *one = add(sooner, json_pack("{s:I}", "gpus", (json_int_t)gpus));

	if (one)
		snprintf(one->text, sizeof(one->text), "%lld GPU%s instead of %lld", gpus,
			 gpus == 1 ? "" : "s", asked);
}

static void add_nodes(struct sooner *sooner, long long gpus)
{
	struct variation *one =
		add(sooner, json_pack("{s:i,s:i,s:I}", "nodes", 2, "tasks", 2, "gpus",
				      (json_int_t)gpus));

	if (one)
		snprintf(one->text, sizeof(one->text), "%lld GPUs on each of two nodes", gpus / 2);
}

static void add_time(struct sooner *sooner, int64_t limit_ns, int parts)
{
	int64_t shorter_ns = limit_ns / parts / STRATA_MINUTE_NS * STRATA_MINUTE_NS;
	char text[STRATA_FORM_BYTES], before[STRATA_FORM_BYTES];

	if (shorter_ns < TIME_LEAST_NS)
		return;
	struct variation *one =
		add(sooner, json_pack("{s:I}", "time_limit",
				      (json_int_t)(shorter_ns / STRATA_SECOND_NS)));

	if (!one)
		return;
	one->time_limit_ns = shorter_ns;
	snprintf(one->text, sizeof(one->text), "a time limit of %s instead of %s",
		 strata_duration_print(shorter_ns, text), strata_duration_print(limit_ns, before));
}

static void add_all(struct sooner *sooner)
{
	const struct job_spec *spec = &sooner->live->spec->spec;
	const struct job *job = &sooner->live->job;
	struct variation *one;

	if (spec->gpus > 1) {
		add_gpus(sooner, spec->gpus, spec->gpus / 2);
		if (spec->gpus / 2 > 1)
			add_gpus(sooner, spec->gpus, 1);
		if (spec->nodes <= 1 && spec->tasks <= 1 && spec->gpus % 2 == 0)
			add_nodes(sooner, spec->gpus);
	}
	if (spec->gpu_type && *spec->gpu_type) {
		one = add(sooner, json_pack("{s:n}", "gpu_type"));
		if (one)
			snprintf(one->text, sizeof(one->text), "any type of GPU instead of %.60s",
				 spec->gpu_type);
	}
	if (job->time_limit_ns > 0 && job->time_limit_ns <= STRATA_DURATION_NS_MAX) {
		add_time(sooner, job->time_limit_ns, 2);
		add_time(sooner, job->time_limit_ns, 4);
	}
}

/* ---- trying ---- */

/* As the owner could change it; false: he could not. */
static bool take(struct sooner *sooner, const struct variation *variation, uint64_t id)
{
	struct decider *decider = sooner->decider;
	struct job_update update;
	const struct job_update_ask ask = { .fields = variation->fields,
					    .time_limit_ns = variation->time_limit_ns,
					    .role = sooner->request->who.role };

	struct strata_error ignored;

	if (job_update_plan(decider, sooner->live, &ask, &sooner->request->arena, &update,
			    &ignored))
		return false;
	job_update_drop(&update);
	update.request.id = id;
	return strata_cluster_submit(decider->cluster, &update.request, decider_now_ns(decider),
				     &ignored) == 0;
}

static json_t *view_variation(const struct sooner *sooner, const struct variation *variation,
			      const struct strata_forecast *forecast, int64_t before_ns)
{
	return json_pack("{s:O,s:s,s:o,s:s,s:o}", "change", variation->fields, "text",
			 variation->text, "start_at", view_time(forecast->start_ns), "node",
			 sooner->decider->nodes[forecast->node].name, "sooner_s",
			 before_ns ? json_integer((before_ns - forecast->start_ns) /
						  STRATA_SECOND_NS)
				   : json_null());
}

/* The job as it is comes first, so that all starts are found in the same way. */
static json_t *try_all(struct sooner *sooner, int64_t *ret_start_ns)
{
	struct decider *decider = sooner->decider;
	struct strata_forecast forecasts[VARIATIONS_MAX + 1];
	uint64_t ids[VARIATIONS_MAX + 1] = { (uint64_t)sooner->live->job.id };
	const struct variation *tried[VARIATIONS_MAX + 1] = { NULL };
	json_t *list = json_array();
	size_t count = 1;

	*ret_start_ns = 0;
	for (size_t i = 0; i < sooner->count; i++)
		if (take(sooner, &sooner->list[i], (uint64_t)decider->next_id + count - 1)) {
			ids[count] = (uint64_t)decider->next_id + count - 1;
			tried[count++] = &sooner->list[i];
		}
	int rc = strata_cluster_foresee(decider->cluster, ids[0], ids, count, DECIDER_FORESEEN_MAX,
					&decider->scratch, forecasts, NULL);

	for (size_t i = count; i-- > 1;) {
		int undone = strata_cluster_withdraw(decider->cluster, ids[i], NULL);

		assert(undone == 0); /* it was taken in just now */
	}
	if (rc)
		return list;
	*ret_start_ns = forecasts[0].start_ns;
	for (size_t i = 1; i < count; i++)
		if (forecasts[i].start_ns &&
		    (!*ret_start_ns || *ret_start_ns - forecasts[i].start_ns >= WORTH_NS))
			json_array_append_new(list, view_variation(sooner, tried[i], &forecasts[i],
								   *ret_start_ns));
	return list;
}

/* Does it wait for a place? What waits for somebody or something else would not start sooner. */
static bool waits_for_room(const struct decider *decider, const struct live *live)
{
	struct strata_job_view view;

	if (live->job.completed_ns || live->job.array_id || live->job.gang_id ||
	    strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL))
		return false;
	return !view.piece_count &&
	       (view.state == STRATA_JOB_QUEUED || view.state == STRATA_JOB_PREEMPTED) &&
	       view.reason != STRATA_REASON_HELD && view.reason != STRATA_REASON_SUSPENDED &&
	       view.reason != STRATA_REASON_BEGIN_TIME && view.reason != STRATA_REASON_DEPENDENCY &&
	       view.reason != STRATA_REASON_DEPENDENCY_NEVER;
}

static void get_sooner(struct decider *decider, struct request *request)
{
	struct sooner sooner = { .decider = decider, .request = request };
	int64_t start_ns = 0;

	sooner.live = api_job_look_live(decider, request, true);
	if (!sooner.live)
		return;
	if (waits_for_room(decider, sooner.live))
		add_all(&sooner);
	json_t *list = sooner.count ? try_all(&sooner, &start_ns) : json_array();

	for (size_t i = 0; i < sooner.count; i++)
		json_decref(sooner.list[i].fields);
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:I,s:o,s:o}", "id", (json_int_t)sooner.live->job.id, "start_at",
				 view_time(start_ns), "sooner", list));
}

/* ---- routes ---- */

const struct route api_sooner_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/sooner",
	  .summary = "what it could ask for to start earlier",
	  .role = ROLE_USER,
	  .decide = get_sooner,
	  .answer = "id start_at sooner" },
	{ 0 },
};
