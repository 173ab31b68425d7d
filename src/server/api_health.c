/* Health, and figures for Prometheus. */
#include "server/route.h"

#include "core/buf.h"

#include <microhttpd.h>
#include <string.h>

void api_health(struct request *request)
{
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:s}", "status", "ok", "version", STRATA_VERSION));
}

void api_ready(struct request *request)
{
	if (atomic_load(&request->server->standing_by))
		standby_refuse(request);
	else if (atomic_load(&request->server->store_down))
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away");
	else
		request_answer(request, MHD_HTTP_OK,
			       json_pack("{s:s,s:s}", "status", "ready", "limits",
					 request->server->limits));
}

/* Those that wait for nothing but their turn. */
static double oldest_waiting(struct server *server)
{
	const struct map_u64_entry *entry;
	int64_t oldest_ns = 0, now_ns = server_now_ns(server);

	for (entry = map_u64_next(&server->jobs, NULL); entry;
	     entry = map_u64_next(&server->jobs, entry)) {
		const struct store_job *row = &((const struct live *)entry->value)->row;
		int64_t since_ns = row->eligible_ns > row->created_ns ? row->eligible_ns
								      : row->created_ns;

		if (row->completed_ns || row->place || !row->reason ||
		    (strcmp(row->reason, "resources") != 0 && strcmp(row->reason, "priority") != 0))
			continue;
		if (now_ns - since_ns > oldest_ns)
			oldest_ns = now_ns - since_ns;
	}
	return (double)oldest_ns / 1e9;
}

static void print_cluster(struct server *server, struct buf *buf)
{
	struct strata_cluster_stats stats;

	strata_cluster_stats(server->cluster, &stats);
	buf_printf(buf, "# HELP strata_jobs jobs by state\n# TYPE strata_jobs gauge\n");
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		buf_printf(buf, "strata_jobs{state=\"%s\"} %zu\n",
			   strata_job_state_name((enum strata_job_state)i), stats.jobs[i]);
	const struct {
		const char *name, *type, *help;
		double value;
	} rows[] = {
		{ "oldest_waiting_seconds", "gauge", "how long the first has waited for its turn",
		  oldest_waiting(server) },
		{ "passes_total", "counter", "scheduling passes", (double)stats.passes },
		{ "preemptions_total", "counter", "jobs asked to stop for another",
		  (double)stats.preemptions },
		{ "rounds_total", "counter", "rounds of the decider", (double)server->rounds },
		{ "commits_total", "counter", "transactions", (double)server->commits },
		{ "gpus", "gauge", "GPUs of nodes that are up", (double)stats.gpu_milli / 1000 },
		{ "gpus_free", "gauge", "GPUs that are free", (double)stats.gpu_milli_free / 1000 },
		{ "cpus", "gauge", "cores of nodes that are up", (double)stats.cpu_milli / 1000 },
		{ "cpus_free", "gauge", "cores that are free",
		  (double)stats.cpu_milli_free / 1000 },
		{ "nodes", "gauge", "nodes", (double)stats.node_count },
		{ "nodes_up", "gauge", "nodes that are up", (double)stats.nodes_up },
		{ "leader", "gauge", "1: this server decides, 0: it stands by",
		  !atomic_load(&server->standing_by) },
		{ "store_down", "gauge", "1 while the store is away",
		  atomic_load(&server->store_down) },
		{ "memory_bytes", "gauge", "memory of the decider",
		  (double)server->memory.used_bytes },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		figures_print_one(buf, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

void api_metrics(struct server *server, struct request *request)
{
	struct buf buf;

	buf_init(&buf, &request->memory, 0);
	print_cluster(server, &buf);
	figures_print(&server->figures, &buf);
	request_answer_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4",
			    buf.text ? buf.text : "");
	buf_fini(&buf);
}
