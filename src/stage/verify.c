/*
 * The verifier: follows a plan entry by entry and believes nothing of it. It knows the rules of strata_stage_verify and no more: not how plans
 * are made, not what is good. A plan that passes can be run for ever.
 */
#include <strata/stage.h>

#include <errno.h>

struct check {
	const struct strata_stage_plan *plan;
	const struct strata_stage_model *model;
	uint32_t *held; /* of each layer, pages with a frame */
	uint64_t used;  /* frames */
	size_t visit;   /* the next */
	size_t at;      /* entry */
	struct strata_error *err;
};

static int wrong(const struct check *check, const char *rule)
{
	const struct strata_stage_entry *entry = &check->plan->entries[check->at];

	return strata_fail(check->err, -EINVAL, "entry %zu (%s of %.64s): %s", check->at,
			   strata_stage_kind_name(entry->kind),
			   check->model->layers[entry->layer].name, rule);
}

static int check_read(struct check *check, const struct strata_stage_entry *entry)
{
	uint32_t *held = &check->held[entry->layer];
	uint32_t pages = check->plan->layer_pages[entry->layer];

	if (entry->first != *held || (!entry->count && entry->kind != STRATA_STAGE_FETCH))
		return wrong(check, "it does not read the layer's next pages");
	if (entry->count > pages - *held)
		return wrong(check, "the layer has no such pages");
	check->used += entry->count;
	if (check->used > check->plan->budget_pages)
		return wrong(check, "there is no frame left for it");
	*held += entry->count;
	return 0;
}

static int check_release(struct check *check, const struct strata_stage_entry *entry)
{
	uint32_t *held = &check->held[entry->layer];

	if (!entry->count || entry->count > *held || entry->first != *held - entry->count)
		return wrong(check, "it does not give up the layer's last pages");
	*held -= entry->count;
	check->used -= entry->count;
	return 0;
}

static int check_compute(struct check *check, const struct strata_stage_entry *entry)
{
	const struct strata_stage_model *model = check->model;

	if (check->visit >= model->visit_count || entry->visit != check->visit)
		return wrong(check, "it is not the visit that is due");
	if (entry->layer != (model->order ? model->order[check->visit] : check->visit))
		return wrong(check, "it is not the layer of this visit");
	/* pages on their way count as there: the visit waits for them, and nothing stands before them in the channel that waits for
	 * the visit */
	if (check->held[entry->layer] != check->plan->layer_pages[entry->layer])
		return wrong(check, "pages of the layer are missing");
	check->visit++;
	return 0;
}

static int check_shape(const struct strata_stage_plan *plan, const struct strata_stage_model *model,
		       struct strata_error *err)
{
	if (plan->layer_count != model->layer_count || plan->visit_count != model->visit_count)
		return strata_fail(err, -EINVAL, "the plan is of another model");
	if (plan->page_bytes < 1)
		return strata_fail(err, -EINVAL, "the plan has no size of pages");
	for (size_t i = 0; i < plan->layer_count; i++) {
		int64_t pages = (model->layers[i].bytes - 1) / plan->page_bytes + 1;

		if (plan->layer_pages[i] != pages || plan->held[i] > pages)
			return strata_fail(err, -EINVAL,
					   "layer %zu has %lld pages; the plan has another number",
					   i, (long long)pages);
	}
	return 0;
}

int strata_stage_verify(const struct strata_stage_plan *plan,
			const struct strata_stage_model *model, struct strata_arena *arena,
			struct strata_error *err)
{
	struct check check = { .plan = plan, .model = model, .err = err };
	int rc = check_shape(plan, model, err);

	if (rc)
		return rc;
	check.held = strata_arena_array(arena, plan->layer_count, sizeof(*check.held));
	if (!check.held)
		return strata_fail_memory(err);
	for (size_t i = 0; i < plan->layer_count; i++) {
		check.held[i] = plan->held[i];
		check.used += plan->held[i];
	}
	if (check.used > plan->budget_pages)
		return strata_fail(err, -EINVAL, "the step begins with more than the budget");
	for (; rc == 0 && check.at < plan->entry_count; check.at++) {
		const struct strata_stage_entry *entry = &plan->entries[check.at];

		if ((unsigned)entry->kind >= STRATA_STAGE_KIND_COUNT ||
		    entry->layer >= plan->layer_count)
			rc = strata_fail(err, -EINVAL,
					 "entry %zu has no known kind, layer or pages", check.at);
		else if (entry->kind == STRATA_STAGE_FETCH || entry->kind == STRATA_STAGE_PREFETCH)
			rc = check_read(&check, entry);
		else if (entry->kind == STRATA_STAGE_RELEASE)
			rc = check_release(&check, entry);
		else
			rc = check_compute(&check, entry);
		if (rc)
			return rc;
	}
	if (check.visit != model->visit_count)
		return strata_fail(err, -EINVAL, "visit %zu never happens", check.visit);
	for (size_t i = 0; i < plan->layer_count; i++)
		if (check.held[i] != plan->held[i])
			return strata_fail(err, -EINVAL,
					   "the step ends with %u pages of %.64s and began with %u",
					   check.held[i], model->layers[i].name, plan->held[i]);
	return 0;
}
