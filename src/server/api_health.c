/* Health, figures for Prometheus, and the routes for programs. */
#include "server/route.h"

#include "core/buf.h"
#include "core/option.h"

#include <microhttpd.h>
#include <string.h>

void api_health(struct request *request)
{
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:s}", "status", "ok", "version", STRATA_VERSION));
}

void api_ready(struct request *request)
{
	if (atomic_load(&request->server->store_down))
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away");
	else
		request_answer(request, MHD_HTTP_OK, json_pack("{s:s}", "status", "ready"));
}

static void add(struct buf *buf, const char *name, const char *help, const char *type, double value)
{
	buf_printf(buf, "# HELP strata_%s %s\n# TYPE strata_%s %s\nstrata_%s %.17g\n", name, help,
		   name, type, name, value);
}

void api_metrics(struct server *server, struct request *request)
{
	struct strata_cluster_stats stats;
	struct buf buf;

	buf_init(&buf, &request->memory, 0);
	strata_cluster_stats(server->cluster, &stats);
	buf_printf(&buf, "# HELP strata_jobs jobs by state\n# TYPE strata_jobs gauge\n");
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		buf_printf(&buf, "strata_jobs{state=\"%s\"} %zu\n",
			   strata_job_state_name((enum strata_job_state)i), stats.jobs[i]);
	add(&buf, "passes_total", "scheduling passes", "counter", (double)stats.passes);
	add(&buf, "preemptions_total", "jobs asked to stop for another", "counter",
	    (double)stats.preemptions);
	add(&buf, "rounds_total", "rounds of the decider", "counter", (double)server->rounds);
	add(&buf, "commits_total", "transactions", "counter", (double)server->commits);
	add(&buf, "commit_seconds_last", "how long the last one took", "gauge",
	    (double)server->commit_ns_last / 1e9);
	add(&buf, "gpus", "GPUs of all nodes", "gauge", (double)stats.gpu_milli / 1000);
	add(&buf, "gpus_free", "GPUs that are free", "gauge", (double)stats.gpu_milli_free / 1000);
	add(&buf, "cpus", "cores of all nodes", "gauge", (double)stats.cpu_milli / 1000);
	add(&buf, "cpus_free", "cores that are free", "gauge", (double)stats.cpu_milli_free / 1000);
	add(&buf, "nodes_up", "nodes that are up", "gauge", (double)stats.nodes_up);
	add(&buf, "memory_bytes", "memory of the decider", "gauge",
	    (double)server->memory.used_bytes);
	request_answer_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4",
			    buf.text ? buf.text : "");
	buf_fini(&buf);
}

void api_openapi(struct request *request)
{
	json_t *paths = json_object();
	const struct route *route;

	for (size_t i = 0; (route = route_at(i)); i++) {
		json_t *path = json_object_get(paths, route->path);
		char method[8] = "";

		for (size_t k = 0; route->method[k] && k < sizeof(method) - 1; k++)
			method[k] = (char)(route->method[k] | 0x20);
		if (!path) {
			path = json_object();
			json_object_set_new(paths, route->path, path);
		}
		json_object_set_new(path, method,
				    json_pack("{s:s,s:s}", "summary", route->summary, "x-role",
					      role_name(route->role)));
	}
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:{s:s,s:s},s:o}", "openapi", "3.0.3", "info", "title",
				 "Strata", "version", STRATA_VERSION, "paths", paths));
}
