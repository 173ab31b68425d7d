/* The lanes of service_trace.h, and GET /api/v1/trace. */
#include "server/service_trace.h"

#include "core/buf.h"
#include "server/front.h"
#include "server/route.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <unistd.h>

static int add_lane(struct service_trace *trace, uint32_t tid, const char *name,
		    struct strata_trace_lane **ret_lane, struct strata_error *err)
{
	const struct strata_trace_lane_conf conf = { .tid = tid,
						     .name = name,
						     .event_count = STRATA_SERVICE_TRACE_EVENTS };

	return strata_trace_add_lane(trace->trace, &conf, ret_lane, err);
}

int service_trace_open(struct service_trace *trace, const struct env *env, struct strata_error *err)
{
	trace->env = env;
	trace->offset_ns = env_realtime_offset_ns(env);
	const struct strata_trace_conf conf = { .pid = (uint32_t)getpid(),
						.process_name = "strata serve",
						.clock_name = "realtime",
						.offset_ns = trace->offset_ns };
	int rc = strata_trace_new(&trace->memory, &conf, &trace->trace, err);

	if (rc == 0)
		rc = add_lane(trace, 1, "decider", &trace->decider, err);
	if (rc == 0)
		rc = add_lane(trace, 2, "store", &trace->store, err);
	if (rc == 0)
		rc = add_lane(trace, 3, "executor", &trace->executor, err);
	if (rc == 0)
		rc = add_lane(trace, 4, "reports of jobs", &trace->reports, err);
	if (rc == 0)
		rc = add_lane(trace, 5, "tasks", &trace->tasks, err);
	return rc;
}

void service_trace_close(struct service_trace *trace)
{
	strata_trace_free(trace->trace);
	trace->trace = NULL;
	trace->decider = trace->store = trace->executor = trace->reports = trace->tasks = NULL;
}

int64_t service_trace_now_ns(const struct service_trace *trace)
{
	return trace->trace ? env_now_ns(trace->env, ENV_MONOTONIC) : 0;
}

void service_trace_slice(const struct service_trace *trace, struct strata_trace_lane *lane,
			 const char *name, int64_t start_ns, uint64_t job,
			 struct strata_trace_arg about)
{
	strata_trace_slice(lane, (struct strata_trace_event){ .time_ns = start_ns,
							      .end_ns = service_trace_now_ns(trace),
							      .name = name,
							      .flow = job,
							      .args = &about,
							      .arg_count = about.kind !=
									   STRATA_TRACE_ARG_NONE });
}

void service_trace_report(const struct service_trace *trace, const char *name, uint64_t job,
			  int64_t at_ns, struct strata_trace_arg about)
{
	strata_trace_instant(trace->reports,
			     at_ns ? at_ns - trace->offset_ns : service_trace_now_ns(trace), name,
			     job, about);
}

void service_trace_task(const struct service_trace *trace, const char *name, int64_t task,
			struct strata_trace_arg about)
{
	strata_trace_instant(trace->tasks, service_trace_now_ns(trace), name,
			     STRATA_TRACE_TASK_FLOWS + (uint64_t)task, about);
}

/* ---- the route ---- */

struct trace_query {
	int64_t since_ns; /* 0: all there is */
};

static const struct strata_option trace_query_options[] = {
	{ "since", STRATA_TIME, offsetof(struct trace_query, since_ns),
	  .help = "only what ended then or later; all that is kept when left out" },
	{ 0 }
};
static const struct strata_schema trace_query = { "trace", NULL, sizeof(struct trace_query),
						  trace_query_options };

static int add_bytes(void *context, const char *bytes, size_t count)
{
	struct buf *buf = context;

	buf_add_bytes(buf, bytes, count);
	return buf->failed ? -ENOMEM : 0;
}

/* Rings may be read while the decider adds to them: an HTTP thread does it. */
static void get_trace(struct request *request)
{
	const struct trace_query *query = request->query;
	const struct service_trace *trace = &request->front->common->trace;
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct buf buf;
	const struct strata_trace_sink sink = { add_bytes, &buf };

	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	int rc = strata_trace_write(trace->trace, query->since_ns ? query->since_ns : INT64_MIN,
				    &arena, &sink, &err);

	if (rc)
		request_fail(request, rc, &err);
	else
		request_answer_text(request, MHD_HTTP_OK, "application/json", buf.text);
	buf_fini(&buf);
	strata_arena_fini(&arena);
}

/* ---- routes ---- */

const struct route api_trace_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/trace",
	  .summary = "what the service itself did lately, as a trace for Perfetto",
	  .role = ROLE_READER,
	  .parse = get_trace,
	  .query = &trace_query,
	  .answer = "otherData traceEvents" },
	{ 0 },
};
