/* What is asked of a pipeline, in a trace: see strata/pipeline.h. */
#include "engine/pipeline.h"

#include "core/env.h"

int strata_pipeline_trace(struct strata_pipeline *pipeline, struct strata_trace *trace,
			  uint32_t tid, struct strata_error *err)
{
	enum { EVENTS = 1 << 13 };
	const struct strata_trace_lane_conf lane = { .tid = tid,
						     .name = "pipeline",
						     .event_count = EVENTS };

	return strata_trace_add_lane(trace, &lane, &pipeline->lane, err);
}

int64_t pipeline_trace_now(const struct strata_pipeline *pipeline)
{
	return pipeline->lane ? env_now_ns(env_system(), ENV_MONOTONIC) : 0;
}

void pipeline_trace_begin(struct strata_pipeline *pipeline, const char *name,
			  struct strata_pipeline_run *const *runs, size_t count)
{
	int64_t now_ns = pipeline_trace_now(pipeline);
	uint64_t own = STRATA_TRACE_STEP_FLOWS + ++pipeline->trace_count;

	if (!pipeline->lane)
		return;
	strata_trace_begin(pipeline->lane, now_ns, name, count ? runs[0]->flow : 0,
			   strata_trace_int("runs", (int64_t)count));
	for (size_t i = 1; i < count; i++)
		if (runs[i]->flow)
			strata_trace_flow(pipeline->lane, now_ns, runs[i]->flow);
	/* leads to the subgraphs and layers that are computed for it, whoever else is in the batch */
	strata_trace_flow(pipeline->lane, now_ns, own);
	strata_engine_flow(pipeline->engine, own);
}

void pipeline_trace_end(struct strata_pipeline *pipeline)
{
	if (!pipeline->lane)
		return;
	strata_trace_end(pipeline->lane, pipeline_trace_now(pipeline));
	strata_engine_flow(pipeline->engine, 0);
}

void pipeline_trace_row(const struct strata_pipeline_run *run, int64_t begin_ns)
{
	const struct strata_trace_arg args[] = {
		strata_trace_text("solver", run->table->cls->base.name),
		strata_trace_int("call", (int64_t)run->calls_done),
		strata_trace_real("timestep", run->row->timestep),
	};

	strata_trace_slice(run->pipeline->lane,
			   (struct strata_trace_event){ .time_ns = begin_ns,
							.end_ns = pipeline_trace_now(run->pipeline),
							.name = "row",
							.args = args,
							.arg_count = 3 });
}
