/*
 * GET /api/v1/queue: live jobs, those that run and then those that wait. The decider copies what is
 * asked for, which takes it a few hundred nanoseconds a job; an HTTP thread writes the JSON.
 */
#include "core/text.h"
#include "server/api_jobs.h"
#include "server/decider.h"
#include "server/live.h"
#include "server/route.h"
#include "server/samples_used.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

enum { VIEWS_AT_FIRST = 256 };

/* What is asked for. */
struct asked {
	const char *user, *name, *fields;
	struct strata_list states; /* of int; none: any */
	int64_t limit;
	bool ended;    /* those too that have just ended */
	bool collapse; /* elements that nothing tells apart are one row */
	bool used;     /* what those that run use now */
};

#define OF(field) offsetof(struct asked, field)
static const struct strata_option state_item = { .type = STRATA_ENUM,
						 .choice = { api_job_states } };
static const struct strata_option query_options[] = {
	{ "user", STRATA_TEXT, OF(user), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this user" },
	{ "state", STRATA_LIST, OF(states), .list = { &state_item, STRATA_STORE_STATES_MAX },
	  .help = "in one of these states" },
	{ "name", STRATA_TEXT, OF(name), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this name; * and ? stand for others" },
	{ "limit", STRATA_INT, OF(limit), .integer = { 1000, 1, 1000000 },
	  .help = "at most so many" },
	{ "fields", STRATA_TEXT, OF(fields), .text = { NULL, 4096 },
	  .help = "only these, separated by commas" },
	{ "ended", STRATA_BOOL, OF(ended), .help = "those too that have just ended" },
	{ "collapse", STRATA_BOOL, OF(collapse),
	  .help = "elements of an array that nothing tells apart are one row: elements and "
		  "index_step say which" },
	{ "used", STRATA_BOOL, OF(used),
	  .help = "of those that run, your own (an operator's: all): cpus_used, memory_used_bytes, "
		  "gpus_used, gpu_memory_used_bytes by the last look at them" },
	{ 0 }
};
#undef OF
static const struct strata_schema queue_query = { "the query", NULL, sizeof(struct asked),
						  query_options };

struct queue {
	const struct asked *asked;
	uint64_t fields;
	struct view *views;
	size_t count, room;
	size_t placed; /* so many of them come first; those that wait are behind */
	struct strata_cluster_metrics metrics;
	int64_t at_ns;
};

static void parse_queue(struct request *request)
{
	struct queue *queue = strata_arena_get(&request->arena, sizeof(*queue));
	struct strata_error err = { 0 };

	if (!queue) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
		return;
	}
	queue->asked = request->query;
	if (view_fields(queue->asked->fields, &queue->fields, &err)) {
		request_fail(request, -EINVAL, &err);
		return;
	}
	request->parsed = queue;
}

static bool is_among(const struct strata_list *states, enum strata_job_state state)
{
	const int *numbers = states->items;

	for (size_t i = 0; i < states->count; i++)
		if ((enum strata_job_state)numbers[i] == state)
			return true;
	return false;
}

static bool wanted(const struct queue *queue, const struct live *live, bool waiting)
{
	const struct asked *asked = queue->asked;

	if ((live->job.completed_ns && !asked->ended) || (live->job.place != NULL) == waiting)
		return false;
	if (asked->user && strcmp(asked->user, live->job.user) != 0)
		return false;
	if (asked->name && !text_like(live->job.name ? live->job.name : "", asked->name))
		return false;
	return asked->states.count == 0 || is_among(&asked->states, live->job.state);
}

static bool waits_its_turn(const struct live *live)
{
	return !live->job.completed_ns && !live->job.place &&
	       (live->job.reason == STRATA_REASON_RESOURCES ||
		live->job.reason == STRATA_REASON_PRIORITY);
}

/* How long the whole cluster has to do with it, if it runs as long as it may. */
static int64_t work_ns(const struct live *live, const struct strata_cluster_metrics *metrics)
{
	double gpus = metrics->gpu_milli
			      ? (double)live->job.gpu_count * 1000 / (double)metrics->gpu_milli
			      : 0;
	double cpus = metrics->cpu_milli
			      ? (double)live->job.cpu_cores * 1000 / (double)metrics->cpu_milli
			      : 0;

	return (int64_t)((gpus > cpus ? gpus : cpus) * (double)live->job.time_limit_ns);
}

/* A walk over all live jobs beside the list of them. */
struct rest {
	struct queue *queue;
	const struct map_u64 *planned;
	double ns; /* when all before has been worked off */
	size_t at; /* in the list */
};

/* What is listed is in the same order. */
static void estimate(struct rest *rest, int64_t id, bool waits, double work_ns)
{
	struct queue *queue = rest->queue;

	waits = waits && !map_u64_get(rest->planned, (uint64_t)id);
	if (rest->at < queue->count && queue->views[rest->at].job.id == id) {
		if (waits)
			queue->views[rest->at].expected_start_ns = (int64_t)rest->ns;
		rest->at++;
	}
	if (waits && rest->ns < (double)INT64_MAX / 2)
		rest->ns += work_ns;
}

/* Behind those that were planned one by one: when all that is before it has been worked off, in
 * the order of submission. Rough, but it tells an hour from a week. */
static void estimate_rest(struct decider *decider, struct queue *queue,
			  const struct map_u64 *planned, int64_t from_ns)
{
	struct rest rest = { queue, planned, (double)from_ns, queue->placed };

	for (const struct live *live = live_first(decider); live && rest.at < queue->count;
	     live = live_next(live)) {
		double work = (double)work_ns(live, &queue->metrics);

		for (int64_t id = job_first_id(&live->job); id <= live->job.id; id++)
			estimate(&rest, id, waits_its_turn(live), work);
	}
}

/* Forecasts by job, so that the list is walked once. */
static void set_forecasts(struct decider *decider, struct queue *queue, struct strata_arena *arena)
{
	const struct strata_forecast *list;
	struct map_u64 by_job;
	size_t count;

	if (strata_cluster_forecast(decider->cluster, DECIDER_FORESEEN_MAX, &decider->scratch,
				    &list, &count, NULL))
		return;
	map_u64_init(&by_job, &decider->memory);
	for (size_t i = 0; i < count; i++)
		map_u64_put(&by_job, list[i].job, (void *)&list[i], NULL);
	for (size_t i = 0; count && i < queue->count; i++) {
		const struct strata_forecast *forecast =
			map_u64_get(&by_job, (uint64_t)queue->views[i].job.id);

		if (forecast)
			view_set_forecast(decider, &queue->views[i], forecast,
					  (size_t)(forecast - list) + 1, arena);
	}
	size_t queued = 0; /* those that wait apart are behind */

	while (queued < count && !list[queued].apart)
		queued++;
	if (queued == DECIDER_FORESEEN_MAX)
		estimate_rest(decider, queue, &by_job, list[queued - 1].start_ns);
	map_u64_fini(&by_job);
}

/* Room for one more, in an arena that gives nothing back: twice as much each time. */
static struct view *next_view(struct queue *queue, struct strata_arena *arena)
{
	if (queue->count == queue->room) {
		size_t room = queue->room ? 2 * queue->room : VIEWS_AT_FIRST;
		struct view *views = strata_arena_array(arena, room, sizeof(*views));

		if (!views)
			return NULL;
		if (queue->count)
			memcpy(views, queue->views, queue->count * sizeof(*views));
		queue->views = views;
		queue->room = room;
	}
	return &queue->views[queue->count++];
}

/* A range as one row: its first element, and how many there are. False: no memory. */
static bool add_range(struct decider *decider, struct queue *queue, const struct live *live,
		      struct strata_arena *arena)
{
	struct view *view = next_view(queue, arena);
	struct live first = *live;
	char uuid[UUID_TEXT_BYTES];

	if (!view)
		return false;
	first.job = job_element(&live->job, job_first_id(&live->job), uuid);
	*view = view_of_live(decider, &first);
	view->elements = job_elements(&live->job);
	view->index_step = live->job.index_step;
	return view_copy(view, queue->fields, arena);
}

/* Of the job, or of each element of a range. False: no memory. */
static bool add_views(struct decider *decider, struct queue *queue, const struct live *live,
		      size_t most, struct strata_arena *arena)
{
	struct live element = *live;
	char uuid[UUID_TEXT_BYTES];

	if (queue->asked->collapse && job_elements(&live->job) > 1)
		return add_range(decider, queue, live, arena);
	for (int64_t id = job_first_id(&live->job); id <= live->job.id && queue->count < most;
	     id++) {
		struct view *view = next_view(queue, arena);

		if (!view)
			return false;
		element.job = job_element(&live->job, id, uuid);
		*view = view_of_live(decider, &element);
		if (!view_copy(view, queue->fields, arena))
			return false;
	}
	return true;
}

static void get_queue(struct decider *decider, struct request *request)
{
	struct queue *queue = request->parsed;
	size_t most = live_count(decider);

	strata_cluster_metrics(decider->cluster, &queue->metrics);
	queue->at_ns = decider_now_ns(decider);
	most = most < (size_t)queue->asked->limit ? most : (size_t)queue->asked->limit;
	bool ok = true;

	for (const struct live *live = live_first_placed(decider);
	     ok && live && queue->count < most; live = live_next_placed(live))
		if (wanted(queue, live, false))
			ok = add_views(decider, queue, live, most, &request->arena);
	queue->placed = queue->count;
	for (const struct live *live = live_first(decider); ok && live && queue->count < most;
	     live = live_next(live))
		if (wanted(queue, live, true))
			ok = add_views(decider, queue, live, most, &request->arena);
	if (ok) {
		set_forecasts(decider, queue, &request->arena);
		return;
	}
	request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", "out of memory");
}

static void write_counts(const struct queue *queue, struct buf *buf)
{
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		buf_printf(buf, "%s\"%s\":%zu", i ? "," : "{",
			   strata_job_state_name((enum strata_job_state)i),
			   (size_t)queue->metrics.jobs[i]);
	buf_add_char(buf, '}');
}

/* A file is read for each, so only for so many as somebody looks at. */
static void set_used(struct request *request, struct queue *queue)
{
	const struct identity *who = &request->who;
	size_t looked = 0;

	for (size_t i = 0; i < queue->placed && looked < STRATA_QUEUE_USED_MAX; i++) {
		struct view *view = &queue->views[i];

		if (view->job.uid != (int64_t)who->uid && who->role < ROLE_OPERATOR)
			continue;
		looked++;
		samples_used(request->front, view);
	}
}

static void write_queue(struct request *request)
{
	struct queue *queue = request->parsed;
	struct strata_memory memory = { 0 }; /* of plain blocks, so that the answer can have it */
	char at[STRATA_FORM_BYTES];
	struct buf buf;

	if (request->answered || !queue)
		return;
	if (queue->asked->used)
		set_used(request, queue);
	buf_init(&buf, &memory, 0);
	buf_printf(&buf, "{\"at\":\"%s\",\"jobs\":[",
		   strata_time_print(queue->at_ns - queue->at_ns % STRATA_SECOND_NS, at));
	for (size_t i = 0; i < queue->count; i++) {
		if (i)
			buf_add_char(&buf, ',');
		view_write(&queue->views[i], queue->fields, &buf);
	}
	buf_add(&buf, "],\"counts\":");
	write_counts(queue, &buf);
	buf_add_char(&buf, '}');
	if (buf.failed) {
		buf_fini(&buf);
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
		return;
	}
	request_give_text(request, MHD_HTTP_OK, "application/json", buf.text);
}

/* ---- routes ---- */

const struct route api_queue_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/queue",
	  .summary = "live jobs",
	  .role = ROLE_READER,
	  .parse = parse_queue,
	  .decide = get_queue,
	  .finish = write_queue,
	  .query = &queue_query,
	  .answer = "at jobs counts" },
	{ 0 },
};
