#include "test.h"

#include <strata/limits.h>
#include <strata/stage.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS_MAX = 64, VISITS_MAX = 128 };

static struct strata_memory memory;
static struct strata_error err;

static size_t read_list(const json_t *json, const char *name, double *ret_numbers, size_t room)
{
	const json_t *list = json_object_get(json, name);
	size_t count = json_array_size(list);

	CHECK(count > 0 && count <= room);
	for (size_t i = 0; i < count; i++)
		ret_numbers[i] = json_number_value(json_array_get(list, i));
	return count;
}

struct totals {
	double worst, worst_bytes;
	int io_bound;
};

/* What no plan can beat in the long run, by the weights of a proof: tests/data/stage_bounds.py says
 * of what. Whatever is kept and read within the limits, the sum is not less. */
static double proven_bound(const json_t *proof, const struct strata_stage_model *model,
			   double budget)
{
	double of[3], weights[VISITS_MAX] = { 0 }, kept[VISITS_MAX], bound = 0;

	read_list(proof, "weights", of, 3);
	if (json_array_size(json_object_get(proof, "visits")))
		read_list(proof, "visits", weights, VISITS_MAX);
	CHECK(of[0] >= 0 && of[1] >= 0 && of[2] >= 0 && of[0] + of[1] + of[2] <= 1);
	for (size_t v = 0; v < model->visit_count; v++)
		kept[v] = -of[0] - of[1];
	for (size_t v = 0; v < model->visit_count; v++) {
		const struct strata_stage_layer *layer = &model->layers[model->order[v]];
		double pages = (double)layer->bytes, compute = (double)layer->compute_ns / 1000;
		bool seen[LAYERS_MAX] = { [0] = false };

		CHECK(weights[v] >= 0);
		bound += (of[0] + of[1]) * pages + (of[1] + of[2]) * compute;
		bound -= weights[v] * (budget - pages);
		if (weights[v] < of[1]) /* most is read while it computes */
			bound += (weights[v] - of[1]) * compute;
		/* what is kept across it is of the last visit of every other layer */
		seen[model->order[v]] = true;
		for (size_t back = 1; back < model->visit_count; back++) {
			size_t at = (v + model->visit_count - back) % model->visit_count;

			if (!seen[model->order[at]])
				kept[at] += weights[v];
			seen[model->order[at]] = true;
		}
	}
	for (size_t v = 0; v < model->visit_count; v++)
		if (kept[v] < 0) /* most is kept */
			bound += kept[v] * (double)model->layers[model->order[v]].bytes;
	return bound;
}

/* One of the reference configurations: pages of one byte, a page in a microsecond. */
static void check_configuration(const json_t *json, const json_t *proof, struct totals *totals)
{
	const json_t *ref = json_object_get(json, "ref");
	double order[VISITS_MAX], pages[LAYERS_MAX], times[LAYERS_MAX];
	struct strata_stage_layer layers[LAYERS_MAX];
	uint32_t visits[VISITS_MAX];
	size_t count = read_list(json, "layer_pages", pages, LAYERS_MAX);
	size_t visit_count = read_list(json, "order", order, VISITS_MAX);
	const struct strata_stage_machine machine = {
		1, json_integer_value(json_object_get(json, "budget_pages")), 1000000
	};
	const struct strata_stage_model model = { layers, count, visits, visit_count };
	struct strata_stage_plan plan;
	struct strata_arena arena;

	read_list(json, "compute_time", times, LAYERS_MAX);
	for (size_t i = 0; i < count; i++)
		layers[i] = (struct strata_stage_layer){ "l", (int64_t)pages[i],
							 (int64_t)(times[i] * 1000) };
	for (size_t v = 0; v < visit_count; v++)
		visits[v] = (uint32_t)order[v];
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_stage_plan(NULL, &model, &machine, &arena, &plan, &err));
	CHECK_OK(strata_stage_verify(&plan, &model, &arena, &err));
	double bound = proven_bound(proof, &model, (double)machine.budget_bytes);
	double ratio = plan.metrics.step_ns / 1000 / bound;
	double least = json_number_value(json_object_get(ref, "min_pages_per_step"));
	double compute = json_number_value(json_object_get(ref, "compute_per_step"));
	const char *id = json_string_value(json_object_get(json, "id"));

	printf("# %-28s %.3f of what no plan can beat, %.3f of the fewest bytes\n", id, ratio,
	       (double)plan.metrics.bytes_per_step / least);
	/* the file's own bound knows less: it does not see that what is kept and what is fetched ahead
	 * share their frames */
	CHECK_TEXT(json_string_value(json_object_get(proof, "id")), id);
	CHECK(bound > json_number_value(json_object_get(ref, "lower_bound")) - 0.01);
	CHECK(ratio <= 1.08);
	CHECK(plan.metrics.ratio <= 1.13);
	CHECK(ratio > 0.9999);
	if (ratio > totals->worst)
		totals->worst = ratio;
	if (least > compute && (double)plan.metrics.bytes_per_step / least > totals->worst_bytes)
		totals->worst_bytes = (double)plan.metrics.bytes_per_step / least;
	if (strncmp(id, "fwd/", 4) == 0 && strstr(id, "b0.5") && least >= compute) {
		totals->io_bound++;
		CHECK((double)plan.metrics.bytes_per_step <=
		      0.65 * json_number_value(json_object_get(ref, "total_pages")));
	}
	strata_arena_fini(&arena);
}

TEST(the_reference_configurations_are_near_what_no_plan_can_beat)
{
	char path[4096];
	json_error_t where;

	snprintf(path, sizeof(path), "%s/stage_configs.json", test_data_dir());
	json_t *all = json_load_file(path, 0, &where), *one;
	struct totals totals = { 0 };
	size_t i;

	snprintf(path, sizeof(path), "%s/stage_bounds.json", test_data_dir());
	json_t *proofs = json_load_file(path, 0, &where);

	CHECK(all != NULL && proofs != NULL);
	json_array_foreach(json_object_get(all, "configs"), i, one)
		check_configuration(one, json_array_get(proofs, i), &totals);
	json_decref(proofs);
	CHECK_INT(i, 48);
	CHECK(totals.io_bound > 0);
	printf("# worst of 48: %.3f of what is proved, %.3f of the fewest bytes where the channel "
	       "is "
	       "the limit\n",
	       totals.worst, totals.worst_bytes);
	json_decref(all);
}

TEST(a_planner_may_be_written_as_text)
{
	static const struct strata_stage_layer layers[] = { { "a", 4, 10 },
							    { "b", 4, 10 },
							    { "c", 4, 10 } };
	const struct strata_stage_model model = { layers, 3, NULL, 3, 0 };
	const struct strata_stage_machine machine = { 1, 8, 1000000 };
	struct strata_arena arena;
	struct strata_stage_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_stage_build("conservative", &model, &machine, &arena, &plan, &err));
	CHECK_TEXT(plan.planner, "conservative");
	CHECK_ERROR(strata_stage_build("bst", &model, &machine, &arena, &plan, &err), -ENOENT,
		    "best");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static int plan_of(const struct strata_stage_model *model, struct strata_stage_machine machine)
{
	struct strata_stage_plan plan;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	int rc = strata_stage_build("conservative", model, &machine, &arena, &plan, &err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(what_cannot_be_planned_is_refused)
{
	struct strata_stage_layer layers[] = { { "a", 4, 10 }, { "b", 4, 0 } };
	const uint32_t order[] = { 0, 1, 0 }, beyond[] = { 0, 1, 2 };
	const struct strata_stage_model fine = { layers, 2, order, 3, 0 };
	const struct strata_stage_machine machine = { 1, 4, 1 };
	struct strata_stage_model model = fine;

	CHECK_OK(plan_of(&model, machine));
	model.order = beyond;
	CHECK_ERROR(plan_of(&model, machine), -EINVAL, "visit 2 is of layer 2; there are 2");
	model = (struct strata_stage_model){ layers, 2, NULL, 3, 0 };
	CHECK_ERROR(plan_of(&model, machine), -EINVAL, "2 layers, 3 visits");
	model.visit_count = 2;
	CHECK_OK(plan_of(&model, machine));
	model = (struct strata_stage_model){ layers, 2, order, 0, 0 };
	CHECK_ERROR(plan_of(&model, machine), -EINVAL, "2 layers, 0 visits");
	model = (struct strata_stage_model){ layers, 0, order, 3, 0 };
	CHECK_ERROR(plan_of(&model, machine), -EINVAL, "0 layers, 3 visits");
	model = (struct strata_stage_model){ layers, 2, order, STRATA_STAGE_VISITS_MAX + 1, 0 };
	CHECK_ERROR(plan_of(&model, machine), -EINVAL, "expected 1 to 4194304");
	model = (struct strata_stage_model){ layers, STRATA_STAGE_VISITS_MAX + 1, order, 3, 0 };
	CHECK_ERROR(plan_of(&model, machine), -EINVAL, "expected 1 to 4194304");
	CHECK_ERROR(plan_of(&fine, (struct strata_stage_machine){ 1, 4, 0 }), -EINVAL,
		    "it is not above 0");
	CHECK_TEXT(err.field, "bandwidth");
	CHECK_ERROR(plan_of(&fine, (struct strata_stage_machine){ -1, 4, 1 }), -EINVAL,
		    "page or budget is not above 0");
	CHECK_ERROR(plan_of(&fine, (struct strata_stage_machine){ 1, 0, 1 }), -EINVAL,
		    "page or budget is not above 0");
	CHECK_ERROR(plan_of(&fine, (struct strata_stage_machine){ 1, 3, 1 }), -E2BIG, "");
	CHECK_TEXT(err.field, "budget");
	layers[1].compute_ns = -1;
	CHECK_ERROR(plan_of(&fine, machine), -EINVAL, "layer 1 has no bytes, or a time below 0");
	layers[1] = (struct strata_stage_layer){ "b", 0, 1 };
	CHECK_ERROR(plan_of(&fine, machine), -EINVAL, "layer 1 has no bytes, or a time below 0");
	layers[1].bytes = INT64_MAX;
	CHECK_ERROR(plan_of(&fine, machine), -E2BIG, "take larger ones");
	layers[1].bytes = (int64_t)STRATA_STAGE_PAGES_MAX - 3; /* beside the four of the other */
	CHECK_ERROR(plan_of(&fine, machine), -E2BIG, "take larger ones");
	layers[1].bytes--;
	CHECK_ERROR(plan_of(&fine, machine), -E2BIG, "");
	CHECK_TEXT(err.field, "budget");
	CHECK_INT(memory.used_bytes, 0);
}
