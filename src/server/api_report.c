/*
 * GET /api/v1/report: what history_report.h tells of the jobs that were submitted in a time, and of
 * those that wait now. Jobs of workers are the service's own and are left out.
 */
#include "core/map.h"
#include "server/front.h"
#include "server/history_report.h"
#include "server/route.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>

enum { PAGE = 1000 };
#define READER_WAIT_NS (5 * STRATA_SECOND_NS)

struct asked {
	const char *since, *until;
};

static const struct strata_option report_options[] = {
	{ "since", STRATA_TEXT, offsetof(struct asked, since), .text = { NULL, 100 },
	  .help = "submitted since then: a time, or now-2days" },
	{ "until", STRATA_TEXT, offsetof(struct asked, until), .text = { NULL, 100 },
	  .help = "submitted before then" },
	{ 0 }
};
static const struct strata_schema report_query = { "the query", NULL, sizeof(struct asked),
						   report_options };

struct reading {
	struct report report;
	struct map_u64 workers;
	bool waiting; /* those that wait are read */
	int64_t last;
	size_t count;
};

static int note_worker(void *context, const void *row_any, struct strata_error *err)
{
	struct reading *reading = context;
	const struct store_worker *row = row_any;

	return map_u64_put(&reading->workers, (uint64_t)row->job, reading, NULL)
		       ? strata_fail_memory(err)
		       : 0;
}

static int add_job(void *context, const void *row_any, struct strata_error *err)
{
	struct reading *reading = context;
	const struct store_job *job = row_any;

	reading->last = job->id;
	reading->count++;
	if (map_u64_get(&reading->workers, (uint64_t)job->id))
		return 0;
	if (!reading->waiting)
		return report_add(&reading->report, job, err);
	report_add_waiting(&reading->report, job);
	return 0;
}

static int read_pages(struct store *store, struct reading *reading, struct store_query *query,
		      struct strata_error *err)
{
	int rc = 0;

	query->limit = PAGE;
	for (reading->last = 0, reading->count = PAGE; rc == 0 && reading->count == PAGE;) {
		reading->count = 0;
		query->after = reading->last;
		rc = store_jobs_page(store, query, add_job, reading, err);
	}
	return rc;
}

static int read_all(struct request *request, struct reading *reading, struct store_query *query,
		    struct strata_error *err)
{
	static const char *const queued[] = { "queued" };
	struct store_query waiting = { .states = queued, .state_count = 1 };
	struct store *store;
	int rc = store_readers_take(request->front->readers, READER_WAIT_NS, &store, err);

	if (rc)
		return rc;
	rc = store_load(store, STORE_WORKER, NULL, note_worker, reading, err);
	if (rc == 0)
		rc = read_pages(store, reading, query, err);
	reading->waiting = true;
	if (rc == 0)
		rc = read_pages(store, reading, &waiting, err);
	store_readers_give(request->front->readers, store);
	return rc;
}

static void get_report(struct request *request)
{
	const struct asked *asked = request->query;
	struct store_query query = { 0 };
	struct reading reading = { .waiting = false };
	struct strata_error err = { 0 };
	int rc = request_read_time(request, "since", asked->since, &query.since_ns, &err);

	report_init(&reading.report, &request->memory, common_now_ns(request->front->common));
	map_u64_init(&reading.workers, &request->memory);
	if (rc == 0)
		rc = request_read_time(request, "until", asked->until, &query.until_ns, &err);
	if (rc == 0 && query.until_ns && query.until_ns <= query.since_ns)
		rc = strata_fail_at(&err, -EINVAL, "until",
				    "until is %.40s, which is not after since", asked->until);
	if (rc == 0)
		rc = read_all(request, &reading, &query, &err);
	if (rc)
		request_fail(request, rc, &err);
	else
		request_answer(request, MHD_HTTP_OK, report_view(&reading.report));
	map_u64_fini(&reading.workers);
	report_fini(&reading.report);
}

/* ---- routes ---- */

const struct route api_report_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/report",
	  .summary = "how long jobs waited, and what they asked for against what they used",
	  .role = ROLE_READER,
	  .parse = get_report,
	  .query = &report_query,
	  .answer = "jobs waits waste users waiting" },
	{ 0 },
};
