/* What every solver must keep: same input, same table; nothing infinite; slots that were written before they are read. */
#include "test.h"

#include "core/class.h"

#include <strata/rng.h>
#include <strata/solver.h>
#include <strata/trajectory.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_rng rng;

static const struct strata_solver_class *as_solver(const struct strata_class *cls)
{
	return (const struct strata_solver_class *)cls;
}

static void *default_conf(const struct strata_class *cls)
{
	struct strata_schema schema = class_schema(cls);
	void *conf = strata_arena_get(&arena, schema.conf_size);

	CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
	return conf;
}

static void each(void (*check)(const struct strata_solver_class *solver, const void *conf))
{
	for (const struct strata_class *const *at = strata_solver_kind.classes; *at; at++) {
		strata_arena_init(&arena, &memory, 0);
		check(as_solver(*at), default_conf(*at));
		strata_arena_fini(&arena);
		CHECK_INT(memory.used_bytes, 0);
	}
}

static void same_bytes(const struct strata_solver_class *solver, const void *conf)
{
	const int64_t steps[] = { 1, 2, 5, 20, 40 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct strata_solver_request request = { .steps = steps[i] };
		struct strata_solver_table *first, *second;

		CHECK_OK(strata_solver_compile(solver, conf, &request, &memory, &first, &err));
		CHECK_OK(strata_solver_compile(solver, conf, &request, &memory, &second, &err));
		CHECK_INT(first->row_count, second->row_count);
		CHECK_INT(first->slot_count, second->slot_count);
		CHECK_BYTES(first->rows, second->rows, first->row_count * sizeof(*first->rows));
		CHECK(first->row_count > 0);
		strata_solver_table_free(first, &memory);
		strata_solver_table_free(second, &memory);
	}
}

TEST(compiling_twice_gives_the_same_bytes)
{
	each(same_bytes);
}

static void sound_rows(const struct strata_solver_class *solver, const void *conf)
{
	struct strata_solver_request request = { .steps = 12 };
	struct strata_solver_table *table;
	unsigned written = 0;

	CHECK_OK(strata_solver_compile(solver, conf, &request, &memory, &table, &err));
	for (size_t i = 0; i < table->row_count; i++) {
		const struct strata_solver_row *row = strata_solver_row_at(table, i);
		unsigned here = 0;

		if (row->flags & STRATA_ROW_UNGUIDED) { /* by the caller */
			CHECK(table->slot_count > STRATA_SLOT_UNGUIDED);
			written |= 1u << STRATA_SLOT_UNGUIDED;
		}
		for (uint32_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++) {
			bool reads = row->next.c[k] != 0;

			for (uint32_t w = 0; w < row->write_count; w++)
				reads |= row->writes[w].sum.c[k] != 0;
			CHECK(!reads || written >> k & 1); /* by an earlier row */
		}
		for (uint32_t w = 0; w < row->write_count; w++) {
			CHECK(row->writes[w].slot < table->slot_count);
			CHECK(!(here >> row->writes[w].slot & 1));
			here |= 1u << row->writes[w].slot;
		}
		written |= here;
		CHECK(i == 0 || row->step >= table->rows[i - 1].step);
		CHECK(row->alpha >= 0 && row->sigma >= 0 && row->input_scale > 0);
	}
	CHECK(!strata_solver_row_at(table, table->row_count));
	strata_solver_table_free(table, &memory);
}

TEST(slots_are_written_before_they_are_read)
{
	each(sound_rows);
}

struct compiling {
	const struct strata_solver_class *solver;
	const void *conf;
};

static int compile_once(struct strata_memory *limited, void *context, struct strata_error *ret_err)
{
	struct compiling *compiling = context;
	struct strata_solver_request request = { .steps = 3 };
	struct strata_solver_table *table = NULL;
	int rc = strata_solver_compile(compiling->solver, compiling->conf, &request, limited,
				       &table, ret_err);

	CHECK(rc == 0 || !table);
	strata_solver_table_free(table, limited);
	return rc;
}

static void survives(const struct strata_solver_class *solver, const void *conf)
{
	struct compiling compiling = { solver, conf };

	test_every_allocation(compile_once, &compiling);
}

TEST(every_allocation_may_fail)
{
	each(survives);
}

static void within_steps(const struct strata_solver_class *solver, const void *conf)
{
	const int64_t bad[] = { 0, -1, STRATA_SOLVER_STEPS_MAX + 1, INT64_MIN, INT64_MAX };
	struct strata_solver_table *table;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct strata_solver_request request = { .steps = bad[i] };

		CHECK_ERROR(strata_solver_compile(solver, conf, &request, &memory, &table, &err),
			    -EINVAL, "steps");
	}
	struct strata_solver_request most = { .steps = STRATA_SOLVER_STEPS_MAX };
	int rc = strata_solver_compile(solver, conf, &most, &memory, &table, &err);

	CHECK(rc == 0 || (rc == -EINVAL && strstr(err.text, "expected")) || err.text[0]);
	if (rc == 0)
		strata_solver_table_free(table, &memory);
	struct strata_solver_request weak = { .steps = 5, .has_strength = true, .strength = NAN };

	CHECK_ERROR(strata_solver_compile(solver, conf, &weak, &memory, &table, &err), -EINVAL,
		    "strength");
}

TEST(steps_and_strength_have_limits)
{
	each(within_steps);
}

/* Values at random within what the option tables allow, often near what people use. */
static void draw_real(const struct strata_option *option, double *slot)
{
	double min = isfinite(option->real.min) ? option->real.min : -20;
	double max = isfinite(option->real.max) ? option->real.max : 50;
	double part = strata_rng_real(&rng);

	switch (strata_rng_below(&rng, 4)) {
	case 0:
		*slot = min;
		break;
	case 1:
		*slot = max;
		break;
	case 2:
		*slot = min > 0 ? min * pow(max / min, part) : min + (max - min) * part;
		break;
	default: /* near the default */
		*slot = option->real.def * (0.5 + part);
		if (!(*slot >= min && *slot <= max))
			*slot = min;
	}
}

static void draw_list(const struct strata_option *option, struct strata_list *slot)
{
	size_t count = strata_rng_below(&rng, 60);

	*slot = (struct strata_list){ 0 };
	if (count > option->list.count_max || strata_rng_below(&rng, 8))
		return;
	double *reals = strata_arena_array(&arena, count, sizeof(double));

	slot->items = reals;
	slot->count = count;
	for (size_t i = 0; i < count; i++) {
		int64_t whole = (int64_t)strata_rng_below(&rng, 60);

		if (option->list.item->type == STRATA_INT)
			memcpy(&reals[i], &whole, sizeof(whole));
		else
			reals[i] = strata_rng_real(&rng) * 0.9999;
	}
}

static void draw_option(const struct strata_option *option, void *conf)
{
	void *slot = (char *)conf + option->offset;
	uint64_t width;
	int count = 0;

	if (strata_rng_below(&rng, 2))
		return;
	switch (option->type) {
	case STRATA_BOOL:
		*(bool *)slot = strata_rng_below(&rng, 2);
		break;
	case STRATA_INT:
		width = (uint64_t)(option->integer.max - option->integer.min) + 1;
		if (width > 100)
			width = strata_rng_below(&rng, 16) ? 100 : 2000;
		*(int64_t *)slot = option->integer.min + (int64_t)strata_rng_below(&rng, width);
		break;
	case STRATA_REAL:
		draw_real(option, slot);
		break;
	case STRATA_ENUM:
		while (option->choice.choices[count].name)
			count++;
		*(int *)slot =
			option->choice.choices[strata_rng_below(&rng, (uint64_t)count)].value;
		break;
	case STRATA_LIST:
		draw_list(option, slot);
		break;
	default:
		CHECK(!"an option of a type that this test does not draw");
	}
}

static void draw_request(struct strata_spec *schedule, struct strata_solver_request *request)
{
	size_t classes = 0, own = 1 + strata_rng_below(&rng, 12);
	double *levels = strata_arena_array(&arena, own, sizeof(double));

	*request = (struct strata_solver_request){
		.steps = 1 + (int64_t)strata_rng_below(&rng, strata_rng_below(&rng, 20) ? 30 : 200),
		.has_strength = strata_rng_below(&rng, 4) == 0,
		.strength = strata_rng_real(&rng),
		.has_mu = strata_rng_below(&rng, 2),
		.mu = strata_rng_real(&rng) * 4 - 1,
		.drop_penultimate = strata_rng_below(&rng, 4) == 0,
	};
	for (size_t i = 0; i < own; i++)
		levels[i] = (double)(own - i) * (strata_rng_below(&rng, 9) ? 1.3 : -0.5);
	switch (strata_rng_below(&rng, 8)) {
	case 0:
		request->sigmas = levels;
		request->sigma_count = own;
		break;
	case 1:
		request->timesteps = levels;
		request->timestep_count = own;
		break;
	case 2:
	case 3:
		while (strata_schedule_kind.classes[classes])
			classes++;
		schedule->cls = strata_schedule_kind.classes[strata_rng_below(&rng, classes)];
		schedule->conf = default_conf(schedule->cls);
		request->schedule = schedule;
		break;
	default:
		break;
	}
}

enum { ELEMENTS = 24, WALK_MAX = 2000 };

/* The whole trajectory with a bounded model. */
static bool stays_finite(const struct strata_solver_table *table)
{
	struct strata_solver_how how = { STRATA_F32, STRATA_ISA_SCALAR, NULL };
	struct strata_solver_walk walk = { .table = table };
	float sample[ELEMENTS], output[ELEMENTS], noise[ELEMENTS];
	float slots[STRATA_SOLVER_SLOTS_MAX][ELEMENTS] = { { 0 } };
	void *at[STRATA_SOLVER_SLOTS_MAX];
	const struct strata_solver_row *row;
	bool finite = true;

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		at[k] = slots[k];
	for (size_t i = 0; i < ELEMENTS; i++)
		sample[i] = (float)(table->init_noise_sigma * (sin(3.1 * (double)i) * 2) +
				    table->init_clean * cos((double)i));
	for (size_t n = 0; n < WALK_MAX && finite && (row = strata_solver_next(&walk)); n++) {
		struct strata_solver_item item = { row, sample, output, sample, at, noise };

		for (size_t i = 0; i < ELEMENTS; i++) {
			output[i] = (float)sin(0.7 * (double)sample[i] * row->input_scale +
					       0.001 * row->timestep + 0.1 * (double)i);
			noise[i] = (float)cos(1.7 * (double)(n + i));
		}
		strata_solver_apply(&item, 1, ELEMENTS, &how);
		if (row->flags & STRATA_ROW_MEASURE)
			walk.error = strata_solver_measure(&item, ELEMENTS, STRATA_F32);
		for (size_t i = 0; i < ELEMENTS; i++)
			finite &= isfinite(sample[i]) != 0;
	}
	return finite;
}

static void one_at_random(const struct strata_class *cls, size_t *compiled)
{
	struct strata_solver_request request;
	struct strata_solver_table *table, *again;
	struct strata_spec schedule = { 0 };
	void *conf = default_conf(cls);

	for (const struct strata_option *option = cls->options; option && option->name; option++)
		draw_option(option, conf);
	draw_request(&schedule, &request);
	err = (struct strata_error){ 0 };
	int rc = strata_solver_compile(as_solver(cls), conf, &request, &memory, &table, &err);

	if (rc) {
		CHECK_INT(rc, -EINVAL);
		CHECK(err.text[0]);
		return;
	}
	struct strata_spec spec = { cls, conf };
	const char *text = "";

	CHECK_OK(strata_spec_print(&spec, &arena, &text, &err));
	if (!stays_finite(table))
		test_fail(__FILE__, __LINE__, "%s with %lld steps%s%s, strength %g, is not finite",
			  text, (long long)request.steps, request.schedule ? " and " : "",
			  request.schedule ? request.schedule->cls->name : "",
			  request.has_strength ? request.strength : 1);
	CHECK_OK(strata_solver_compile(as_solver(cls), conf, &request, &memory, &again, &err));
	CHECK_BYTES(table->rows, again->rows, table->row_count * sizeof(*table->rows));
	strata_solver_table_free(table, &memory);
	strata_solver_table_free(again, &memory);
	++*compiled;
}

TEST(ten_thousand_random_settings_never_give_nan)
{
	size_t classes = 0, compiled = 0;

	while (strata_solver_kind.classes[classes])
		classes++;
	strata_rng_init(&rng, 6, 0);
	for (size_t i = 0; i < 10000; i++) {
		strata_arena_init(&arena, &memory, 0);
		one_at_random(strata_solver_kind.classes[i % classes], &compiled);
		strata_arena_fini(&arena);
	}
	CHECK(compiled > 3000); /* the others were refused with a sentence */
}

/* ---- trajectories ---- */

enum { MEMBER_ELEMENTS = 37, MEMBERS = 2, ALL = MEMBER_ELEMENTS * MEMBERS };

/* A model that is not linear, of what it is told alone. */
static void call_model(const float *input, double timestep, float shift, float *ret_output)
{
	for (size_t i = 0; i < ALL; i++)
		ret_output[i] = sinf(0.7f * input[i] + (float)(0.001 * timestep) + shift);
}

/* Rows applied one by one, as the header of solver.h has it. Returns how many model calls that were. */
static size_t by_hand(const struct strata_solver_table *table, const float *clean, float *sample)
{
	float slots[STRATA_SOLVER_SLOTS_MAX][ALL], noise[ALL], input[ALL], output[ALL];
	const struct strata_solver_how how = { STRATA_F32, STRATA_ISA_SCALAR, NULL };
	struct strata_solver_walk walk = { .table = table };
	const struct strata_solver_row *row;
	struct strata_solver_noise draws;
	uint64_t tensor = 1;
	size_t calls = 0;

	CHECK_OK(strata_solver_noise_build("torch", 7, MEMBERS, MEMBER_ELEMENTS, &arena, &draws,
					   &err));
	strata_solver_noise_fill(&draws, 0, noise);
	strata_solver_begin(table, clean, noise, ALL, STRATA_F32, sample);
	while ((row = strata_solver_next(&walk))) {
		for (size_t i = 0; i < ALL; i++)
			input[i] = (float)row->input_scale * sample[i];
		call_model(input, row->timestep, 0, output);
		if (row->flags & STRATA_ROW_UNGUIDED)
			call_model(input, row->timestep, 0.5f, slots[STRATA_SLOT_UNGUIDED]);
		if (row->flags & STRATA_ROW_NOISE)
			strata_solver_noise_fill(&draws, tensor++, noise);
		double worst = 0;

		for (size_t k = 0; k < MEMBERS; k++) {
			void *own[STRATA_SOLVER_SLOTS_MAX];
			float *part = sample + k * MEMBER_ELEMENTS;

			for (size_t s = 0; s < STRATA_SOLVER_SLOTS_MAX; s++)
				own[s] = slots[s] + k * MEMBER_ELEMENTS;
			struct strata_solver_item item = {
				row,  part, output + k * MEMBER_ELEMENTS,
				part, own,  noise + k * MEMBER_ELEMENTS
			};

			strata_solver_apply(&item, 1, MEMBER_ELEMENTS, &how);
			if (row->flags & STRATA_ROW_MEASURE)
				worst = fmax(worst, strata_solver_measure(&item, MEMBER_ELEMENTS,
									  STRATA_F32));
		}
		walk.error = worst;
		calls += !(row->flags & STRATA_ROW_NO_MODEL);
	}
	return calls;
}

static size_t by_trajectory(struct strata_trajectory *trajectory, const float *clean, float *sample)
{
	const struct strata_solver_row *row;
	float input[ALL], output[ALL], unguided[ALL];
	size_t calls = 0, known;
	const double *timesteps = strata_trajectory_timesteps(trajectory, &known);

	strata_trajectory_begin(trajectory, clean, sample);
	for (; (row = strata_trajectory_row(trajectory)); calls++) {
		CHECK(calls >= known || timesteps[calls] == row->timestep);
		strata_trajectory_scale(trajectory, sample, input);
		call_model(input, row->timestep, 0, output);
		call_model(input, row->timestep, 0.5f, unguided);
		CHECK_OK(strata_trajectory_step_unguided(trajectory, output, unguided,
							 row->timestep, sample, &err));
	}
	CHECK(calls >= known);
	return calls;
}

static void same_steps(const struct strata_solver_class *solver, const void *conf, bool image)
{
	struct strata_solver_request request = { .steps = 9,
						 .has_strength = image,
						 .strength = 0.6 };
	struct strata_trajectory *trajectory = NULL;
	struct strata_solver_table *table;
	float clean[ALL], want[ALL], got[ALL];

	if (strata_solver_compile(solver, conf, &request, &memory, &table, &err)) {
		CHECK(image); /* a few do not start in the middle */
		return;
	}
	const struct strata_trajectory_conf how = { .table = table,
						    .element_count = MEMBER_ELEMENTS,
						    .member_count = MEMBERS,
						    .noise = "torch",
						    .seed = 7 };

	for (size_t i = 0; i < ALL; i++)
		clean[i] = (float)i / ALL - 0.5f;
	size_t calls = by_hand(table, image ? clean : NULL, want);

	CHECK_OK(strata_trajectory_new(&how, &memory, &trajectory, &err));
	for (int round = 0; round < 2; round++) { /* it may begin again */
		memset(got, 0, sizeof(got));
		CHECK_INT(by_trajectory(trajectory, image ? clean : NULL, got), calls);
		CHECK_BYTES(got, want, sizeof(want));
	}
	strata_trajectory_free(trajectory);
	strata_solver_table_free(table, &memory);
}

static void text_to_image(const struct strata_solver_class *solver, const void *conf)
{
	same_steps(solver, conf, false);
}

static void image_to_image(const struct strata_solver_class *solver, const void *conf)
{
	same_steps(solver, conf, true);
}

TEST(a_trajectory_steps_as_rows_applied_by_hand)
{
	each(text_to_image);
	each(image_to_image);
}
