/* A plan: the problem in numbers, what a planner keeps of it, and the entries that follow. */
#include "stage/stage_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

#define PAGE_BYTES (INT64_C(2) << 20)

const char *strata_stage_kind_name(enum strata_stage_kind kind)
{
	static const char *const names[STRATA_STAGE_KIND_COUNT] = {
		[STRATA_STAGE_FETCH] = "fetch",
		[STRATA_STAGE_PREFETCH] = "prefetch",
		[STRATA_STAGE_COMPUTE] = "compute",
		[STRATA_STAGE_RELEASE] = "release",
	};

	return (unsigned)kind < STRATA_STAGE_KIND_COUNT ? names[kind] : "unknown";
}

uint32_t stage_largest(const struct strata_stage_problem *problem)
{
	uint32_t largest = 0;

	for (size_t v = 0; v < problem->visit_count; v++)
		if (problem->pages[v] > largest)
			largest = problem->pages[v];
	return largest;
}

/* ---- the problem ---- */

static int check_model(const struct strata_stage_model *model,
		       const struct strata_stage_machine *machine, struct strata_error *err)
{
	if (model->layer_count < 1 || model->layer_count > STRATA_STAGE_VISITS_MAX ||
	    model->visit_count < 1 || model->visit_count > STRATA_STAGE_VISITS_MAX ||
	    (!model->order && model->visit_count != model->layer_count))
		return strata_fail_at(
			err, -EINVAL, "layers", "%zu layers, %zu visits; expected 1 to %d of both",
			model->layer_count, model->visit_count, STRATA_STAGE_VISITS_MAX);
	if (machine->bytes_per_s < 1)
		return strata_fail_at(err, -EINVAL, "bandwidth", "it is not above 0");
	for (size_t v = 0; model->order && v < model->visit_count; v++)
		if (model->order[v] >= model->layer_count)
			return strata_fail_at(err, -EINVAL, "order",
					      "visit %zu is of layer %u; there are %zu", v,
					      model->order[v], model->layer_count);
	return 0;
}

int stage_measure(const struct strata_stage_model *model, struct strata_stage_machine *machine,
		  uint32_t *ret_pages, uint32_t *ret_budget, struct strata_error *err)
{
	int64_t page_bytes = machine->page_bytes ? machine->page_bytes : PAGE_BYTES;
	int64_t sum = 0, largest = 0, budget = machine->budget_bytes / page_bytes;

	if (page_bytes < 0 || machine->budget_bytes < 1)
		return strata_fail_at(err, -EINVAL, "budget", "page or budget is not above 0");
	for (size_t i = 0; i < model->layer_count; i++) {
		const struct strata_stage_layer *layer = &model->layers[i];

		if (layer->bytes < 1 || layer->compute_ns < 0)
			return strata_fail_at(err, -EINVAL, "layers",
					      "layer %zu has no bytes, or a time below 0", i);
		int64_t pages = (layer->bytes - 1) / page_bytes + 1;

		sum += pages < STRATA_STAGE_PAGES_MAX ? pages : STRATA_STAGE_PAGES_MAX + 1;
		if (sum > STRATA_STAGE_PAGES_MAX)
			return strata_fail_at(err, -E2BIG, "page",
					      "the model has more than %d pages; take larger ones",
					      STRATA_STAGE_PAGES_MAX);
		ret_pages[i] = (uint32_t)pages;
		if (pages > largest)
			largest = pages;
	}
	if (largest > budget)
		return strata_fail_at(err, -E2BIG, "budget",
				      "the largest layer needs %lld bytes; the budget has %lld",
				      (long long)(largest * page_bytes),
				      (long long)machine->budget_bytes);
	machine->page_bytes = page_bytes;
	*ret_budget = (uint32_t)(budget < STRATA_STAGE_PAGES_MAX ? budget : STRATA_STAGE_PAGES_MAX);
	return 0;
}

/* Distances between uses, by going round once more. */
static int find_uses(struct strata_stage_problem *problem, uint32_t *next,
		     struct strata_arena *arena, struct strata_error *err)
{
	size_t n = problem->visit_count;
	size_t *later = strata_arena_array(arena, problem->layer_count, sizeof(*later));

	if (!later)
		return strata_fail_memory(err);
	for (size_t at = 2 * n; at-- > 0;) {
		size_t layer = problem->layer[at % n];

		if (at < n)
			next[at] = (uint32_t)(later[layer] - at);
		later[layer] = at;
	}
	return 0;
}

static int make_problem(const struct strata_stage_model *model, const uint32_t *layer_pages,
			double page_ns, uint32_t budget, struct strata_arena *arena,
			struct strata_stage_problem *ret_problem, struct strata_error *err)
{
	size_t n = model->visit_count;
	uint32_t *layer = strata_arena_array(arena, n, sizeof(*layer));
	uint32_t *pages = strata_arena_array(arena, n, sizeof(*pages));
	uint32_t *next = strata_arena_array(arena, n, sizeof(*next));
	double *compute = strata_arena_array(arena, n, sizeof(*compute));

	if (!layer || !pages || !next || !compute)
		return strata_fail_memory(err);
	for (size_t v = 0; v < n; v++) {
		layer[v] = model->order ? model->order[v] : (uint32_t)v;
		pages[v] = layer_pages[layer[v]];
		compute[v] = (double)model->layers[layer[v]].compute_ns / page_ns;
	}
	*ret_problem = (struct strata_stage_problem){
		n, model->layer_count, layer, pages, next, compute, budget
	};
	return find_uses(ret_problem, next, arena, err);
}

/* ---- the entries ---- */

struct maker {
	const struct strata_stage_problem *problem;
	const struct reads *reads;
	const uint32_t *kept;
	uint32_t *held; /* of each layer, as the step goes on */
	struct strata_stage_entry *entries;
	size_t count;
	size_t target; /* the visit that is read for, from the step's first on */
	int64_t left;  /* pages of it still to be read */
	uint32_t used, peak;
};

static int64_t missing_at(const struct maker *maker, size_t visit)
{
	size_t v = visit % maker->problem->visit_count;

	return maker->reads->needed[v] - (v ? maker->reads->needed[v - 1] : 0);
}

static void add(struct maker *maker, enum strata_stage_kind kind, uint32_t layer, uint32_t first,
		uint32_t count, size_t visit)
{
	maker->entries[maker->count++] =
		(struct strata_stage_entry){ kind, layer, first, count,
					     (uint32_t)(visit % maker->problem->visit_count) };
}

/* The next so many pages in the order of needs. */
static void add_reads(struct maker *maker, int64_t pages)
{
	while (pages > 0) {
		while (maker->left == 0)
			maker->left = missing_at(maker, ++maker->target);
		uint32_t layer = maker->problem->layer[maker->target % maker->problem->visit_count];
		uint32_t part = (uint32_t)(maker->left < pages ? maker->left : pages);

		add(maker, STRATA_STAGE_PREFETCH, layer, maker->held[layer], part, maker->target);
		maker->held[layer] += part;
		maker->used += part;
		maker->left -= part;
		pages -= part;
	}
	if (maker->used > maker->peak)
		maker->peak = maker->used;
}

/* What has a frame when a step begins: what is kept across its beginning, and what was read ahead for it. */
static void begin(struct maker *maker, uint32_t *ret_held)
{
	const struct strata_stage_problem *problem = maker->problem;
	size_t n = problem->visit_count;
	int64_t early = maker->reads->issued[n - 1] - maker->reads->total;

	for (size_t v = 0; v < n; v++)
		if (v + problem->next[v] >= n)
			ret_held[problem->layer[v]] = maker->kept[v];
	maker->left = missing_at(maker, 0);
	while (early > 0) {
		while (maker->left == 0)
			maker->left = missing_at(maker, ++maker->target);
		int64_t part = maker->left < early ? maker->left : early;

		ret_held[problem->layer[maker->target % n]] += (uint32_t)part;
		maker->left -= part;
		early -= part;
	}
	for (size_t i = 0; i < problem->layer_count; i++)
		maker->used += ret_held[i];
	maker->peak = maker->used;
	memcpy(maker->held, ret_held, problem->layer_count * sizeof(*ret_held));
}

static void make_entries(struct maker *maker)
{
	const struct strata_stage_problem *problem = maker->problem;
	const struct reads *reads = maker->reads;
	int64_t before = reads->issued[problem->visit_count - 1] - reads->total;

	for (size_t v = 0; v < problem->visit_count; v++) {
		uint32_t layer = problem->layer[v], less = problem->pages[v] - maker->kept[v];

		add_reads(maker, reads->issued[v] - before);
		before = reads->issued[v];
		add(maker, STRATA_STAGE_COMPUTE, layer, 0, problem->pages[v], v);
		if (less) {
			add(maker, STRATA_STAGE_RELEASE, layer, maker->kept[v], less, v);
			maker->held[layer] -= less;
			maker->used -= less;
		}
	}
}

static int fill(const struct strata_stage_problem *problem, const struct reads *reads,
		const uint32_t *kept, struct strata_arena *arena, struct strata_stage_plan *plan,
		struct strata_error *err)
{
	size_t n = problem->visit_count;
	struct maker maker = {
		.problem = problem,
		.reads = reads,
		.kept = kept,
		.held = strata_arena_array(arena, problem->layer_count, sizeof(*maker.held)),
		/* each read ends a visit's pages or a batch */
		.entries = strata_arena_array(arena, 4 * n + 1, sizeof(*maker.entries))
	};
	uint32_t *held = strata_arena_array(arena, problem->layer_count, sizeof(*held));

	if (!maker.held || !maker.entries || !held)
		return strata_fail_memory(err);
	begin(&maker, held);
	make_entries(&maker);
	plan->held = held;
	plan->entries = maker.entries;
	plan->entry_count = maker.count;
	plan->metrics.peak_bytes = maker.peak * plan->page_bytes;
	return 0;
}

/* ---- together ---- */

static int measure(const struct strata_stage_problem *problem, const struct reads *reads,
		   double page_ns, struct strata_arena *arena, struct strata_stage_plan *plan,
		   struct strata_error *err)
{
	struct strata_stage_metrics *metrics = &plan->metrics;
	struct score score = reads_score(reads);
	double least, bound;

	if (belady(problem, problem->budget, arena, NULL, &least))
		return strata_fail_memory(err);
	if (least > (double)score.pages)
		least = (double)score.pages; /* it was watched for a while only */
	for (size_t v = 0; v < problem->visit_count; v++)
		metrics->compute_ns += problem->compute[v] * page_ns;
	bound = least * page_ns;
	if (bound < metrics->compute_ns)
		bound = metrics->compute_ns;
	metrics->step_ns = score.step * page_ns;
	metrics->bytes_per_step = score.pages * plan->page_bytes;
	metrics->min_bytes_per_step = (int64_t)(least * (double)plan->page_bytes);
	metrics->lower_bound_ns = bound;
	metrics->ratio = bound > 0 ? metrics->step_ns / bound : 1;
	return 0;
}

static int choose(const struct strata_spec *planner, const struct strata_stage_problem *problem,
		  struct strata_arena *arena, struct reads *reads, uint32_t **ret_kept,
		  struct strata_error *err)
{
	const struct strata_planner_class *cls = (const struct strata_planner_class *)planner->cls;
	uint32_t *kept = strata_arena_array(arena, problem->visit_count, sizeof(*kept));
	int rc = kept ? reads_init(reads, problem, arena, err) : strata_fail_memory(err);

	if (rc == 0)
		rc = cls->keep(planner->conf, problem, arena, kept, err);
	if (rc)
		return rc;
	for (size_t v = 0; v < problem->visit_count; v++)
		if (kept[v] > problem->pages[v])
			kept[v] = problem->pages[v];
	rc = trim(problem, problem->budget, arena, kept);
	if (rc)
		return strata_fail_memory(err);
	reads_set(reads, kept, cls->ahead);
	*ret_kept = kept;
	return 0;
}

static int plan_with(const struct strata_spec *planner, const struct strata_stage_model *model,
		     struct strata_stage_machine machine, struct strata_arena *arena,
		     struct strata_stage_plan *ret_plan, struct strata_error *err)
{
	uint32_t *pages = strata_arena_array(arena, model->layer_count, sizeof(*pages)),
		 *kept = NULL;
	struct strata_stage_plan plan = { .planner = planner->cls->name,
					  .layer_count = model->layer_count,
					  .visit_count = model->visit_count,
					  .layer_pages = pages };
	struct strata_stage_problem problem;
	struct reads reads;
	int rc = pages ? stage_measure(model, &machine, pages, &plan.budget_pages, err)
		       : strata_fail_memory(err);
	double page_ns = (double)machine.page_bytes * 1e9 / (double)machine.bytes_per_s;

	plan.page_bytes = machine.page_bytes;
	if (rc == 0)
		rc = make_problem(model, pages, page_ns, plan.budget_pages, arena, &problem, err);
	if (rc == 0)
		rc = choose(planner, &problem, arena, &reads, &kept, err);
	if (rc == 0)
		rc = fill(&problem, &reads, kept, arena, &plan, err);
	if (rc == 0)
		rc = measure(&problem, &reads, page_ns, arena, &plan, err);
	if (rc == 0)
		*ret_plan = plan;
	return rc;
}

int strata_stage_plan(const struct strata_spec *planner, const struct strata_stage_model *model,
		      const struct strata_stage_machine *machine, struct strata_arena *arena,
		      struct strata_stage_plan *ret_plan, struct strata_error *err)
{
	int rc = check_model(model, machine, err);

	if (rc)
		return rc;
	if (planner && planner->cls)
		return plan_with(planner, model, *machine, arena, ret_plan, err);
	return strata_stage_build("best", model, machine, arena, ret_plan, err);
}

int strata_stage_build(const char *planner, const struct strata_stage_model *model,
		       const struct strata_stage_machine *machine, struct strata_arena *arena,
		       struct strata_stage_plan *ret_plan, struct strata_error *err)
{
	struct strata_spec spec;
	int rc = strata_spec_build(&strata_planner_kind, planner, arena, &spec, err);

	return rc ? rc : strata_stage_plan(&spec, model, machine, arena, ret_plan, err);
}
