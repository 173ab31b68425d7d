/* The mixture, and solvers on it: see mixture.h. Everything about it is computed in double; only the solver is in float32. */
#include "bench/mixture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { NUMBERS = 64, BISECTIONS = 200 };

static const struct part {
	double weight, mean, deviation;
} parts[] = { { 0.3, -1.2, 0.5 }, { 0.45, 0.3, 0.4 }, { 0.25, 0.9, 0.6 } };
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

double mixture_clean(double x, double alpha, double sigma)
{
	double logs[PARTS], most = -INFINITY, total = 0, clean = 0;

	for (size_t i = 0; i < PARTS; i++) {
		double variance = alpha * alpha * parts[i].deviation * parts[i].deviation +
				  sigma * sigma;
		double off = x - alpha * parts[i].mean;

		logs[i] = log(parts[i].weight) - 0.5 * log(variance) - off * off / (2 * variance);
		most = fmax(most, logs[i]);
	}
	for (size_t i = 0; i < PARTS; i++) {
		double spread = parts[i].deviation * parts[i].deviation;
		double variance = alpha * alpha * spread + sigma * sigma;
		double share = exp(logs[i] - most);

		total += share;
		clean += share *
			 (parts[i].mean + alpha * spread / variance * (x - alpha * parts[i].mean));
	}
	return clean / total;
}

double mixture_part(double x, double alpha, double sigma)
{
	double part = 0;

	for (size_t i = 0; i < PARTS; i++) {
		double deviation = hypot(alpha * parts[i].deviation, sigma);

		part += parts[i].weight * 0.5 *
			erfc((alpha * parts[i].mean - x) / (deviation * sqrt(2)));
	}
	return part;
}

double mixture_at(double part, double alpha, double sigma)
{
	double low = -20 * (alpha + sigma), high = -low;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = low + (high - low) / 2;

		if (mixture_part(middle, alpha, sigma) < part)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

/* ---- a run ---- */

struct run {
	const struct strata_solver_table *table;
	enum strata_isa isa;
	float sample[NUMBERS], output[NUMBERS], memory[STRATA_SOLVER_SLOTS_MAX][NUMBERS];
	void *slots[STRATA_SOLVER_SLOTS_MAX];
	double parts[NUMBERS]; /* that the numbers are to stay */
	size_t calls;
	size_t rows;   /* seen */
	uint32_t step; /* of the last one */
	bool falls;    /* the noise does, towards the end */
};

/* Spread evenly over the distribution that stands at the first row, as float32 has them. */
static void start(struct run *run, const struct strata_solver_row *row)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		double part = ((double)i + 0.5) / NUMBERS;

		run->sample[i] = (float)mixture_at(part, row->alpha, row->sigma);
		run->parts[i] = mixture_part((double)run->sample[i], row->alpha, row->sigma);
	}
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		run->slots[k] = run->memory[k];
}

/* What the model says: that of which the row makes the clean number, whatever it was trained to predict. */
static void call_model(struct run *run, const struct strata_solver_row *row)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		double x = (double)run->sample[i];
		double clean = mixture_clean(x, row->alpha, row->sigma);

		run->output[i] = (float)((clean - row->p * x) / row->q);
	}
	run->calls++;
}

static bool draws_noise(const struct strata_solver_row *row)
{
	bool draws = row->next.d != 0;

	for (uint32_t w = 0; w < row->write_count; w++)
		draws |= row->writes[w].sum.d != 0;
	return draws;
}

static int step(struct run *run, const struct strata_solver_item *item, struct strata_error *err)
{
	const struct strata_solver_how how = { STRATA_F32, run->isa, NULL };

	if (draws_noise(item->row))
		return strata_fail(err, -EINVAL,
				   "%s draws noise, so it has no single path to compare; choose a "
				   "solver without noise",
				   run->table->cls->base.name);
	if (!(item->row->flags & STRATA_ROW_NO_MODEL))
		call_model(run, item->row);
	if (item->row->flags & STRATA_ROW_UNGUIDED) /* nothing guides this model */
		memcpy(run->slots[STRATA_SLOT_UNGUIDED], run->output, sizeof(run->output));
	strata_solver_apply(item, 1, NUMBERS, &how);
	return 0;
}

static double error_at(const struct run *run, double alpha, double sigma)
{
	double total = 0;

	for (size_t i = 0; i < NUMBERS; i++) {
		double off = (double)run->sample[i] - mixture_at(run->parts[i], alpha, sigma);

		total += off * off;
	}
	return sqrt(total / NUMBERS);
}

/* Is this the row of a step, its first, that begins where the run is to end? */
static bool is_over(struct run *run, const struct strata_solver_row *row, double until)
{
	bool begins = row->step != run->step || run->rows == 0;

	run->step = row->step;
	if (run->rows++ == 0)
		run->falls = row->sigma > until * row->alpha;
	return begins && until > 0 &&
	       (run->falls ? row->sigma <= until * row->alpha : row->sigma >= until * row->alpha);
}

static int walk_rows(struct run *run, double until, struct mixture_run *ret_run,
		     struct strata_error *err)
{
	struct strata_solver_walk walk = { .table = run->table };
	const struct strata_solver_row *row;
	double alpha = 1, sigma = 0;

	while ((row = strata_solver_next(&walk))) {
		const struct strata_solver_item item = { row,         run->sample, run->output,
							 run->sample, run->slots,  NULL };

		if (run->rows == 0)
			start(run, row);
		if (is_over(run, row, until)) {
			alpha = row->alpha;
			sigma = row->sigma;
			break;
		}
		int rc = step(run, &item, err);

		if (rc)
			return rc;
		if (row->flags & STRATA_ROW_MEASURE)
			walk.error = strata_solver_measure(&item, NUMBERS, STRATA_F32);
	}
	*ret_run = (struct mixture_run){ run->calls, error_at(run, alpha, sigma) };
	return 0;
}

int mixture_denoise(const struct strata_solver_table *table, double until, enum strata_isa isa,
		    struct strata_memory *memory, struct mixture_run *ret_run,
		    struct strata_error *err)
{
	struct run *run = strata_memory_get(memory, sizeof(*run));

	if (!run)
		return strata_fail_memory(err);
	run->table = table;
	run->isa = isa;
	int rc = walk_rows(run, until, ret_run, err);

	strata_memory_put(memory, run, sizeof(*run));
	return rc;
}
