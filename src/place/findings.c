/* Running the detectors, those of lower rank first. */
#include <strata/detector.h>

#include <limits.h>

const char *strata_workload_name(enum strata_workload workload)
{
	static const char *const names[STRATA_WORKLOAD_COUNT] = {
		[STRATA_WORKLOAD_OTHER] = "other",
		[STRATA_WORKLOAD_LLM] = "llm",
		[STRATA_WORKLOAD_CNN] = "cnn",
		[STRATA_WORKLOAD_DIFFUSION] = "diffusion",
		[STRATA_WORKLOAD_MULTIMODAL] = "multimodal",
		[STRATA_WORKLOAD_RECURRENT] = "recurrent",
	};

	return (unsigned)workload < STRATA_WORKLOAD_COUNT ? names[workload] : "other";
}

static const struct strata_detector_class *detector_at(const struct strata_registry *registry,
						       size_t index)
{
	return (const struct strata_detector_class *)(registry ? strata_registry_at(registry, index)
							       : strata_detector_kind
									 .classes[index]);
}

/* The lowest rank above one; INT_MAX when there is none. */
static int next_rank(const struct strata_registry *registry, int above)
{
	const struct strata_detector_class *detector;
	int next = INT_MAX;

	for (size_t i = 0; (detector = detector_at(registry, i)); i++)
		if (detector->rank > above && detector->rank < next)
			next = detector->rank;
	return next;
}

static int run(const struct strata_detector_class *detector, struct strata_graph *graph,
	       struct strata_arena *arena, struct strata_findings *findings,
	       struct strata_error *err)
{
	void *conf = NULL;

	if (detector->base.options) {
		const struct strata_schema schema = { detector->base.name, NULL,
						      detector->base.conf_size,
						      detector->base.options };
		int rc;

		conf = strata_arena_get(arena, detector->base.conf_size);
		if (!conf)
			return strata_fail_memory(err);
		rc = strata_schema_defaults(&schema, arena, conf, err);
		if (rc)
			return rc;
	}
	return detector->detect(conf, graph, arena, findings, err);
}

int strata_graph_detect(struct strata_graph *graph, const struct strata_registry *registry,
			struct strata_arena *arena, struct strata_findings *ret_findings,
			struct strata_error *err)
{
	struct strata_findings findings = { .why = "nothing was looked for" };
	const struct strata_detector_class *detector;
	int rc = 0;

	for (int rank = next_rank(registry, INT_MIN); rc == 0 && rank != INT_MAX;
	     rank = next_rank(registry, rank))
		for (size_t i = 0; rc == 0 && (detector = detector_at(registry, i)); i++)
			if (detector->rank == rank)
				rc = run(detector, graph, arena, &findings, err);
	if (rc == 0)
		*ret_findings = findings;
	return rc;
}
