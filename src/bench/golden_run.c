/* One case after the other: compile, walk the rows with the made-up model, compare what was kept. */
#include "bench/golden_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct run {
	const struct golden_case *one;
	const struct golden_bank *bank;
	const struct strata_solver_table *table;
	float *sample, *output, *noise, *slots[STRATA_SOLVER_SLOTS_MAX];
	enum strata_isa isa;
	size_t noise_taken;
	size_t kept; /* of one->samples */
	struct trajectory_result *result;
};

bool trajectory_passed(const struct trajectory_result *result)
{
	return result->worst <= 1;
}

static void wrong(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct run *run, const char *format, ...)
{
	va_list args;

	run->result->worst = INFINITY;
	if (run->result->why[0])
		return;
	va_start(args, format);
	vsnprintf(run->result->why, sizeof(run->result->why), format, args);
	va_end(args);
}

/* Takes note of an error that may be `allowed`. */
static void compare(struct run *run, double error, double allowed, const char *what, size_t at)
{
	double ratio = error <= 0 ? 0 : error / allowed;

	if (isnan(ratio)) /* it must neither pass nor be passed over */
		ratio = INFINITY;
	if (ratio > run->result->worst)
		run->result->worst = ratio;
	if (ratio > 1 && !run->result->why[0])
		snprintf(run->result->why, sizeof(run->result->why),
			 "%s of call %zu is off by %.2g; at most %.2g was expected", what, at + 1,
			 error, allowed);
}

static void compare_tensor(struct run *run, const float *got, const struct golden_numbers *want,
			   const char *what, size_t at)
{
	double most = 0, error = 0;

	for (size_t i = 0; i < want->count; i++) {
		double off = fabs((double)got[i] - want->values[i]);

		most = fmax(most, fabs(want->values[i]));
		error = isnan(off) ? INFINITY : fmax(error, off);
		if (isinf(error))
			break;
	}
	compare(run, error, run->one->tolerance * most, what, at);
}

static void start(struct run *run)
{
	const struct golden_case *one = run->one;
	const struct golden_bank *bank = run->bank;
	const struct strata_solver_table *table = run->table;
	double sigma = isnan(one->init_noise_sigma) ? table->init_noise_sigma
						    : one->init_noise_sigma;

	if (!one->request.has_strength && !one->denoiser)
		compare(run, fabs(table->init_noise_sigma - sigma), 2e-5 * sigma,
			"the first sample's scale", 0);
	for (size_t i = 0; i < bank->element_count; i++) {
		double value = one->sample0.count
				       ? table->init_clean * bank->clean.values[i] +
						 table->init_noise_sigma * bank->add.values[i]
				       : bank->init.values[i] * (double)(float)sigma;

		run->sample[i] = (float)value;
	}
	if (one->sample0.count) {
		compare_tensor(run, run->sample, &one->sample0, "the first sample", 0);
		for (size_t i = 0; i < bank->element_count; i++)
			run->sample[i] = (float)one->sample0.values[i];
	}
}

/* The made-up model's output for the sample as it stands. */
static void call_model(struct run *run, const struct strata_solver_row *row)
{
	for (size_t i = 0; i < run->bank->element_count; i++) {
		double x = (double)run->sample[i], phase = 0.1 * (double)(i % 7);

		if (run->one->denoiser) {
			double sine = sin(0.7 * x / sqrt(row->sigma * row->sigma + 1) +
					  0.1 * log(row->sigma) + phase);

			run->output[i] = run->sample[i] - (float)row->sigma * (float)sine;
		} else {
			float scaled = run->sample[i] * (float)row->input_scale;

			run->output[i] =
				(float)sin(0.7 * (double)scaled + 0.001 * row->timestep + phase);
		}
	}
}

/* The row's noise: the bank's, where the case says which, else the next one. */
static bool draw(struct run *run, size_t call, bool wanted)
{
	const struct golden_case *one = run->one;
	double index = (double)run->noise_taken;

	if (one->noise.count)
		index = call < one->noise.count ? one->noise.values[call] : -1;
	else if (!wanted)
		return true;
	if (index >= 0 && !wanted) {
		wrong(run, "call %zu takes no noise; expected number %g", call + 1, index);
		return false;
	}
	if (!wanted)
		return true;
	if (!(index >= 0 && index < (double)run->bank->noise_count)) {
		wrong(run, "call %zu takes noise that the case does not have", call + 1);
		return false;
	}
	for (size_t i = 0; i < run->bank->element_count; i++)
		run->noise[i] = (float)run->bank->noise[(size_t)index].values[i];
	run->noise_taken++;
	return true;
}

/* The noise level at the start of a step: noise ÷ signal, or of 1 for a flow. */
static void check_sigma(struct run *run, const struct strata_solver_row *row, size_t call)
{
	size_t at = run->one->start_index + call;
	double want = at < run->one->sigmas.count ? run->one->sigmas.values[at] : 0;
	bool flow = fabs(row->alpha + row->sigma - 1) < 1e-9;

	if (want > 0 && row->alpha > 0 && flow)
		compare(run, fabs(row->sigma - want), 1e-6 * want + 1e-9, "the sigma", call);
	else if (want > 0 && row->alpha > 0)
		compare(run, fabs(row->sigma / row->alpha - want), 2e-5 * want + 6e-8 / want,
			"the sigma", call);
}

static void check_row(struct run *run, const struct strata_solver_row *row, size_t call)
{
	const struct golden_case *one = run->one;
	size_t at = one->start_index + call;

	if (at < one->timesteps.count) {
		double want = one->timesteps.values[at];

		compare(run, fabs(row->timestep - want),
			want == floor(want) ? 1e-6 * fmax(want, 1) : fmax(1e-4 * fabs(want), 1e-3),
			"the timestep", call);
	}
	if (one->scale.count) {
		double want = one->scale.values[one->scale.count == 1 ? 0 : call];

		if (one->scale.count == 1 || call < one->scale.count)
			compare(run, fabs(row->input_scale - want), 2e-5 * want,
				"the input's scale", call);
	}
}

static void check_clean(struct run *run, const struct strata_solver_row *row)
{
	float clean[64];
	size_t count = run->one->x0_first.count;

	if (count > 64 || count > run->bank->element_count || row->flags & STRATA_ROW_THRESHOLD)
		return;
	for (size_t i = 0; i < count; i++) {
		clean[i] =
			(float)(row->p * (double)run->sample[i] + row->q * (double)run->output[i]);
		if (row->flags & STRATA_ROW_CLIP)
			clean[i] = fmaxf(fminf(clean[i], (float)row->limit), -(float)row->limit);
	}
	compare_tensor(run, clean, &run->one->x0_first, "the clean sample", 0);
}

/* Applies the row to each member of the batch; a denoiser's batch counts as one. */
static double apply(struct run *run, const struct strata_solver_row *row)
{
	size_t batch = run->one->denoiser ? 1 : run->bank->batch;
	size_t count = run->bank->element_count / batch;
	struct strata_solver_how how = { STRATA_F32, run->isa, NULL };
	double error = 0;

	for (size_t member = 0; member < batch; member++) {
		void *slots[STRATA_SOLVER_SLOTS_MAX];

		for (size_t k = 0; k < run->table->slot_count; k++)
			slots[k] = run->slots[k] + member * count;
		struct strata_solver_item item = {
			row,
			run->sample + member * count,
			run->output + member * count,
			run->sample + member * count,
			slots,
			run->noise + member * count,
		};

		strata_solver_apply(&item, 1, count, &how);
		if (row->flags & STRATA_ROW_MEASURE)
			error = strata_solver_measure(&item, count, STRATA_F32);
	}
	return error;
}

/* After `done` calls (or steps): was the sample kept here? */
static void check_sample(struct run *run, size_t done)
{
	const struct golden_case *one = run->one;

	if (run->kept < one->at.count && one->at.values[run->kept] == (double)done)
		compare_tensor(run, run->sample, &one->samples[run->kept++], "the sample", done);
}

static void walk(struct run *run)
{
	struct strata_solver_walk walk = { .table = run->table };
	const struct strata_solver_row *row = strata_solver_next(&walk);
	bool end_only = run->one->denoiser && run->one->at.count == 1;
	size_t calls = 0;
	uint32_t last_step = UINT32_MAX;

	start(run);
	while (row) {
		bool model = !(row->flags & STRATA_ROW_NO_MODEL);
		uint32_t step = row->step;

		if (model && !run->one->denoiser)
			check_row(run, row, calls);
		if (model && !run->one->denoiser && step != last_step)
			check_sigma(run, row, calls);
		last_step = step;
		if (model)
			call_model(run, row);
		if (calls == 0 && model)
			check_clean(run, row);
		if (!draw(run, calls, row->flags & STRATA_ROW_NOISE))
			return;
		walk.error = apply(run, row);
		row = strata_solver_next(&walk);
		if (!run->one->denoiser)
			check_sample(run, calls);
		else if (!end_only && (!row || row->step != step))
			check_sample(run, step);
		calls += model;
	}
	if (end_only) /* the last sample, whatever its number */
		compare_tensor(run, run->sample, &run->one->samples[run->kept++], "the sample",
			       calls - 1);
	if (run->kept < run->one->at.count)
		wrong(run, "%zu calls were made; expected one more than %g", calls,
		      run->one->at.values[run->one->at.count - 1]);
}

/* What is left of the signal at each row, beside what a float of the reference held and the exact figure. */
static void check_alphas(struct run *run)
{
	const struct golden_case *one = run->one;

	for (size_t i = 0; i < one->alphas.count && i < run->table->row_count; i++) {
		double alpha = run->table->rows[i].alpha, want = one->alphas.values[i];

		compare(run, fabs(alpha * alpha - want),
			2e-6 * want + 4 * fabs(want - one->alphas_exact.values[i]) + 1e-10,
			"the signal", i);
	}
}

static int allot(struct run *run, struct strata_arena *arena)
{
	size_t count = run->bank->element_count;
	float **buffers[3] = { &run->sample, &run->output, &run->noise };
	bool short_of_memory = false;

	for (size_t i = 0; i < 3; i++) {
		*buffers[i] = strata_arena_array(arena, count, sizeof(float));
		short_of_memory |= !*buffers[i];
	}
	for (size_t k = 0; k < run->table->slot_count; k++) {
		run->slots[k] = strata_arena_array(arena, count, sizeof(float));
		short_of_memory |= !run->slots[k];
	}
	return short_of_memory ? -ENOMEM : 0;
}

static int run_in(struct run *run, const struct strata_registry *solvers,
		  struct strata_memory *memory, struct strata_arena *arena,
		  struct strata_error *err)
{
	const struct golden_case *one = run->one;
	struct strata_solver_table *table;
	struct strata_solver_name name;
	struct strata_spec spec;
	int rc = 0;

	if (one->solver)
		rc = strata_solver_find(solvers, NULL, one->solver, strlen(one->solver), &name,
					err);
	if (rc == 0)
		rc = strata_solver_read_config(solvers, one->config, strlen(one->config),
					       one->solver ? &name : NULL, arena, &spec, err);

	if (rc == 0)
		rc = strata_solver_compile((const struct strata_solver_class *)spec.cls, spec.conf,
					   &one->request, memory, &table, err);
	if (rc == 0) {
		run->table = table;
		rc = allot(run, arena);
		if (rc)
			strata_fail_memory(err);
		else if (one->alphas.count)
			check_alphas(run);
		else
			walk(run);
		strata_solver_table_free(table, memory);
	}
	return rc;
}

int trajectory_run(const struct golden_case *one, const struct golden_bank *bank,
		   const struct strata_registry *solvers, enum strata_isa isa,
		   struct strata_memory *memory, struct trajectory_result *ret_result,
		   struct strata_error *err)
{
	struct trajectory_result result = { 0 };
	struct run run = { .one = one, .bank = bank, .result = &result, .isa = isa };
	struct strata_error own = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, memory, 0);
	int rc = run_in(&run, solvers, memory, &arena, &own);

	strata_arena_fini(&arena);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc)
		wrong(&run, "%s", own.text);
	*ret_result = result;
	return 0;
}
