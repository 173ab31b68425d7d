/*
 * lublin: batch jobs of a parallel machine, after U. Lublin and D. Feitelson, "The workload on
 * parallel supercomputers: modeling the characteristics of rigid jobs", JPDC 63 (2003), with the
 * parameters they give for jobs of no particular type:
 *
 * - sizes: a part is serial, a part a power of two; log2 of the size is uniform in two stages;
 * - run times: e to the power of a hyper-gamma whose mix depends on the size;
 * - arrivals: gaps of e to the power of a gamma, in the rhythm of a day.
 *
 * Added, since the model has neither: users, of whom a few are busy and most are not, who repeat
 * what they just ran (repeat=0 turns that off), and time limits as people write them. The gaps are
 * scaled to the load that was asked for.
 */
#include "sim/workload.h"
#include "sim/workload_draw.h"

#include "core/real.h"

#include <math.h>

struct lublin_conf {
	int64_t procs;
	double load;
	int64_t users;
	double repeat;
	bool cycle;
};

#define FIELD(field) offsetof(struct lublin_conf, field)

static const struct strata_option lublin_options[] = {
	{ "procs", STRATA_INT, FIELD(procs), .integer = { 128, 1, 1 << 20 },
	  .help = "processors of the machine" },
	{ "load", STRATA_REAL, FIELD(load), .real = { 0.7, 0.001, 10 },
	  .help = "work that arrives, in parts of what the machine can do meanwhile" },
	{ "users", STRATA_INT, FIELD(users), .integer = { 64, 1, 100000 },
	  .help = "people who submit jobs" },
	{ "repeat", STRATA_REAL, FIELD(repeat), .real = { 0.5, 0, 1 },
	  .help = "part of the jobs that are much like the last one of their user" },
	{ "cycle", STRATA_BOOL, FIELD(cycle), .boolean = true,
	  .help = "more jobs by day than by night" },
	{ 0 }
};

enum { STREAM_ARRIVALS, STREAM_SHAPES, STREAM_PEOPLE }; /* of the seed's random numbers */

/* The published parameters. */
static const double serial_part = 0.244, power_part = 0.576;
static const double size_low = 0.8, size_break = 2.5,
		    size_low_part = 0.86; /* log2; the break lies below the top */
static const double run_a1 = 4.2, run_b1 = 0.94, run_a2 = 312, run_b2 = 0.03, run_pa = -0.0054,
		    run_pb = 0.78, run_max = 12; /* ln s */
static const double run_procs = 128;             /* of the machines that pa was fitted on */
static const double gap_a = 10.2303 * 1.0225, gap_b = 0.4871, gap_max = 13; /* ln s */

/* How many jobs come in each half hour: the steps of the distribution function of a gamma with the
 * published parameters 8.1737 and 3.9631, beginning at half past five. */
static const struct draw_rhythm day_rhythm = {
	.slots = { 0.508, 0.456, 0.409, 0.365, 0.325, 0.289, 0.256, 0.226, 0.200, 0.176,
		   0.165, 0.239, 0.329, 0.435, 0.554, 0.684, 0.821, 0.961, 1.100, 1.235,
		   1.362, 1.477, 1.579, 1.664, 1.733, 1.784, 1.817, 1.833, 1.832, 1.815,
		   1.785, 1.741, 1.687, 1.624, 1.554, 1.478, 1.398, 1.315, 1.231, 1.147,
		   1.064, 0.983, 0.904, 0.828, 0.756, 0.688, 0.624, 0.564 },
	.days = { 1, 1, 1, 1, 1, 1, 1 },
};

static struct draw_rhythm even_rhythm(void)
{
	struct draw_rhythm rhythm;

	for (size_t i = 0; i < 48; i++)
		rhythm.slots[i] = 1;
	for (size_t i = 0; i < 7; i++)
		rhythm.days[i] = 1;
	return rhythm;
}

static double between(struct strata_rng *rng, double low, double high)
{
	return low + strata_rng_real(rng) * (high - low);
}

/* Uniform between low and middle, or between middle and high. */
static double two_stage(struct strata_rng *rng, double high)
{
	double middle = high - size_break > size_low ? high - size_break : (size_low + high) / 2;

	return draw_chance(rng, size_low_part) ? between(rng, size_low, middle)
					       : between(rng, middle, high);
}

static int64_t draw_procs(struct strata_rng *rng, int64_t machine)
{
	double high = real_log2((double)machine), kind = strata_rng_real(rng);

	if (high <= size_low || kind < serial_part)
		return 1;
	double size = two_stage(rng, high);

	if (kind < serial_part + power_part)
		size = floor(
			fmin(size + 0.5, high)); /* the top itself need not be a power of two */
	int64_t procs = (int64_t)floor(real_exp2(size) + 0.5);

	return procs < machine ? procs : machine;
}

/* Larger jobs run longer: the long gamma's part grows with the size. */
static int64_t draw_run_s(struct strata_rng *rng, int64_t procs, int64_t machine)
{
	double scale = (double)machine > run_procs ? run_procs / (double)machine : 1;
	double short_part = run_pb + run_pa * (double)procs * scale, run;

	do
		run = draw_chance(rng, short_part) ? draw_gamma(rng, run_a1, run_b1)
						   : draw_gamma(rng, run_a2, run_b2);
	while (run > run_max);
	return (int64_t)fmax(1, floor(draw_exp(run)));
}

/* What a user ran last. */
struct last_job {
	int64_t procs;
	int64_t run_s;
	int64_t requested_s;
	int64_t programs; /* different ones so far */
};

enum { USER_PROGRAMS = 8 }; /* after so many new ones, numbers are used again */

static void draw_new(struct strata_rng *rng, const struct lublin_conf *conf, struct last_job *last)
{
	last->procs = draw_procs(rng, conf->procs);
	last->run_s = draw_run_s(rng, last->procs, conf->procs);
	last->requested_s = draw_requested_s(rng, last->run_s);
	last->programs++;
}

/* The same size and limit, a run time that is near; as if the input had changed a little. */
static void draw_like(struct strata_rng *rng, struct last_job *last)
{
	double run = (double)last->run_s * draw_exp(0.25 * strata_rng_normal(rng));

	last->run_s = (int64_t)fmin(fmax(1, floor(run + 0.5)), floor(draw_exp(run_max)));
	if (last->run_s > last->requested_s)
		last->run_s = last->requested_s; /* it was ended there */
}

static double draw_jobs(const struct lublin_conf *conf, uint64_t seed,
			const struct draw_table *activity, struct last_job *users,
			struct workload *workload)
{
	struct strata_rng shapes, people;
	double work = 0;

	strata_rng_init(&shapes, seed, STREAM_SHAPES);
	strata_rng_init(&people, seed, STREAM_PEOPLE);
	for (size_t i = 0; i < workload->job_count; i++) {
		struct strata_swf_job *job = &workload->jobs[i];
		size_t user = draw_table_pick(activity, &people);
		struct last_job *last = &users[user];

		if (last->programs > 0 && draw_chance(&people, conf->repeat))
			draw_like(&shapes, last);
		else
			draw_new(&shapes, conf, last);
		job->procs_requested = last->procs;
		job->run_s = last->run_s;
		job->requested_s = last->requested_s;
		job->user = (int64_t)user + 1;
		job->executable = (int64_t)user * USER_PROGRAMS +
				  (last->programs - 1) % USER_PROGRAMS + 1;
		job->queue = -1;
		work += (double)job->run_s * (double)job->procs_requested;
	}
	return work;
}

static void draw_moments(uint64_t seed, double *moments, size_t count)
{
	struct strata_rng rng;

	strata_rng_init(&rng, seed, STREAM_ARRIVALS);
	for (size_t i = 1; i < count; i++) {
		double gap;

		do
			gap = draw_gamma(&rng, gap_a, gap_b);
		while (gap > gap_max);
		moments[i] = moments[i - 1] + draw_exp(gap);
	}
}

static int lublin_make(const void *conf_any, uint64_t seed, struct strata_arena *arena,
		       struct workload *workload, struct strata_error *err)
{
	const struct lublin_conf *conf = conf_any;
	struct draw_rhythm rhythm = conf->cycle ? day_rhythm : even_rhythm();
	struct last_job *users = strata_arena_array(arena, (size_t)conf->users, sizeof(*users));
	double *moments = strata_arena_array(arena, workload->job_count, sizeof(*moments));
	struct draw_table activity;
	int64_t span_s;

	if (!users || !moments)
		return strata_fail_memory(err);
	int rc = draw_table_init_zipf(&activity, (size_t)conf->users, 0.9, arena, err);

	if (rc)
		return rc;
	double work = draw_jobs(conf, seed, &activity, users, workload);

	rc = draw_span_s(work, (double)conf->procs, conf->load, &span_s, err);
	if (rc)
		return rc;
	draw_moments(seed, moments, workload->job_count);
	draw_arrivals(&rhythm, moments, span_s, workload->jobs, workload->job_count);
	workload->procs = conf->procs;
	return 0;
}

const struct workload_class workload_lublin = {
	.base = {
		.name = "lublin",
		.aliases = "lublin_feitelson, batch",
		.summary = "batch jobs of a parallel machine, after Lublin and Feitelson",
		.conf_size = sizeof(struct lublin_conf),
		.options = lublin_options,
	},
	.make = lublin_make,
};
