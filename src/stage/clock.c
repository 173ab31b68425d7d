/* The virtual clock: what the entries of a plan take, one after the other. It knows nothing of planners, so it also checks what they promise. */
#include <strata/stage.h>

#include <errno.h>

int strata_stage_clock_init(struct strata_stage_clock *clock,
			    const struct strata_stage_model *model, int64_t page_bytes,
			    int64_t bytes_per_s, struct strata_arena *arena,
			    struct strata_error *err)
{
	double *ready_ns = strata_arena_array(arena, model->layer_count, sizeof(*ready_ns));

	if (page_bytes < 1 || bytes_per_s < 1)
		return strata_fail(err, -EINVAL, "page or bandwidth is not above 0");
	if (!ready_ns)
		return strata_fail_memory(err);
	*clock = (struct strata_stage_clock){ .model = model,
					      .page_ns = (double)page_bytes * 1e9 /
							 (double)bytes_per_s,
					      .ready_ns = ready_ns };
	return 0;
}

struct strata_stage_span strata_stage_clock_do(struct strata_stage_clock *clock,
					       const struct strata_stage_entry *entry)
{
	double *ready_ns = &clock->ready_ns[entry->layer];
	struct strata_stage_span span = { clock->now_ns, clock->now_ns };

	if (entry->kind == STRATA_STAGE_RELEASE)
		return span;
	if (entry->kind != STRATA_STAGE_COMPUTE && entry->count) {
		if (clock->channel_ns > span.begin_ns)
			span.begin_ns = clock->channel_ns;
		span.end_ns = span.begin_ns + entry->count * clock->page_ns;
		clock->channel_ns = *ready_ns = span.end_ns;
	}
	if (entry->kind == STRATA_STAGE_PREFETCH)
		return span;
	if (*ready_ns > clock->now_ns)
		clock->now_ns = *ready_ns;
	if (entry->kind == STRATA_STAGE_COMPUTE) {
		span.begin_ns = clock->now_ns;
		clock->now_ns += (double)clock->model->layers[entry->layer].compute_ns;
		span.end_ns = clock->now_ns;
	}
	return span;
}
