/* Health, and figures for Prometheus. */
#include "core/buf.h"
#include "server/mirror.h"
#include "server/decider.h"
#include "server/figures.h"
#include "server/front.h"
#include "server/live.h"
#include "server/route.h"
#include "server/standby.h"
#include "server/task_metrics.h"

#include <microhttpd.h>
#include <string.h>

static void get_health(struct request *request)
{
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:s}", "status", "ok", "version", STRATA_VERSION));
}

static void get_ready(struct request *request)
{
	if (atomic_load(&request->front->common->standing_by))
		standby_refuse(request);
	else if (atomic_load(&request->front->common->store_down))
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away");
	else
		request_answer(request, MHD_HTTP_OK,
			       json_pack("{s:s,s:s}", "status", "ready", "limits",
					 request->front->common->limits));
}

/* Those that wait for nothing but their turn. */
static double oldest_waiting(struct decider *decider)
{
	int64_t oldest_ns = 0, now_ns = decider_now_ns(decider);

	for (const struct live *live = live_first(decider); live; live = live_next(live)) {
		const struct job *job = &live->job;
		int64_t since_ns = job->eligible_ns > job->created_ns ? job->eligible_ns
								      : job->created_ns;

		if (job->completed_ns || job->place ||
		    (job->reason != STRATA_REASON_RESOURCES &&
		     job->reason != STRATA_REASON_PRIORITY))
			continue;
		if (now_ns - since_ns > oldest_ns)
			oldest_ns = now_ns - since_ns;
	}
	return (double)oldest_ns / 1e9;
}

static void print_cluster(struct decider *decider, struct buf *buf)
{
	struct strata_cluster_metrics metrics;

	strata_cluster_metrics(decider->cluster, &metrics);
	buf_printf(buf, "# HELP strata_jobs jobs by state\n# TYPE strata_jobs gauge\n");
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		buf_printf(buf, "strata_jobs{state=\"%s\"} %zu\n",
			   strata_job_state_name((enum strata_job_state)i), metrics.jobs[i]);
	const struct {
		const char *name, *type, *help;
		double value;
	} rows[] = {
		{ "oldest_waiting_seconds", "gauge", "how long the first has waited for its turn",
		  oldest_waiting(decider) },
		{ "passes_total", "counter", "scheduling passes", (double)metrics.passes },
		{ "preemptions_total", "counter", "jobs asked to stop for another",
		  (double)metrics.preemptions },
		{ "rounds_total", "counter", "rounds of the decider", (double)decider->rounds },
		{ "commits_total", "counter", "transactions", (double)decider->commits },
		{ "gpus", "gauge", "GPUs of nodes that are up", (double)metrics.gpu_milli / 1000 },
		{ "gpus_free", "gauge", "GPUs that are free",
		  (double)metrics.gpu_milli_free / 1000 },
		{ "cpus", "gauge", "cores of nodes that are up", (double)metrics.cpu_milli / 1000 },
		{ "cpus_free", "gauge", "cores that are free",
		  (double)metrics.cpu_milli_free / 1000 },
		{ "nodes", "gauge", "nodes", (double)metrics.node_count },
		{ "nodes_up", "gauge", "nodes that are up", (double)metrics.nodes_up },
		{ "leader", "gauge", "1: this server decides, 0: it stands by",
		  !atomic_load(&decider->common->standing_by) },
		{ "store_down", "gauge", "1 while the store is away",
		  atomic_load(&decider->common->store_down) },
		{ "memory_bytes", "gauge", "memory of the decider",
		  (double)decider->memory.used_bytes },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		metrics_print_one(buf, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

static void get_metrics(struct decider *decider, struct request *request)
{
	struct buf buf;

	buf_init(&buf, &request->memory, 0);
	print_cluster(decider, &buf);
	task_metrics_print(decider, &buf);
	mirror_print(decider, &buf);
	figures_print(decider, &buf);
	fairness_print(decider, &buf);
	metrics_print_one(&buf, "task_result_bytes", "gauge", "what pictures take",
			  (double)decider->result_bytes);
	metrics_print(&decider->common->metrics, &buf);
	request_answer_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4",
			    buf.text ? buf.text : "");
	buf_fini(&buf);
}

/* ---- routes ---- */

const struct route api_health_routes[] = {
	{ .method = "GET",
	  .path = "/healthz",
	  .summary = "is it there?",
	  .role = ROLE_NONE,
	  .parse = get_health,
	  .answer = "status version" },
	{ .method = "GET",
	  .path = "/readyz",
	  .summary = "can it take jobs?",
	  .role = ROLE_NONE,
	  .parse = get_ready,
	  .answer = "status limits" },
	{ .method = "GET",
	  .path = "/metrics",
	  .summary = "figures for Prometheus",
	  .role = ROLE_READER,
	  .decide = get_metrics },
	{ 0 },
};
