/*
 * gpu: what people run on a shared GPU cluster. Numbers after two published traces: the sizes and run
 * times of Microsoft's Philly (ATC'19) and the shares of GPUs, CPUs and memory of Alibaba's openb
 * (ATC'23). Most jobs want one GPU or part of one; a few want two to eight, fewer several nodes, and
 * these run longest. Run times are log-normal with a heavy tail.
 *
 * A user has a few programs of each size and runs them again and again: a program has its demand
 * (swf_demand.h) and its usual run time, a job its own run time around that. Jobs come by day more
 * than by night, on weekdays more than on Sundays, in bursts. Three queues: low, normal, high.
 */
#include "sim/workload.h"
#include "sim/workload_draw.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct gpu_conf {
	int64_t gpus;
	int64_t gpus_per_node;
	double load;
	int64_t users;
	double shared;
	double multi;
	double cpu_only;
	double low;
	double high;
	double night;
	double weekend;
	double picky;
};

#define FIELD(field) offsetof(struct gpu_conf, field)

static const struct strata_option gpu_options[] = {
	{ "gpus", STRATA_INT, FIELD(gpus), .integer = { 512, 1, 1 << 20 },
	  .help = "GPUs of the cluster" },
	{ "gpus_per_node", STRATA_INT, FIELD(gpus_per_node), .integer = { 8, 1, 16 },
	  .help = "GPUs of one node" },
	{ "load", STRATA_REAL, FIELD(load), .real = { 0.8, 0.001, 10 },
	  .help = "GPU time that arrives, shares counted as such, in parts of what the cluster has "
		  "meanwhile" },
	{ "users", STRATA_INT, FIELD(users), .integer = { 100, 1, 2000 },
	  .help = "people who submit jobs" },
	{ "shared", STRATA_REAL, FIELD(shared), .real = { 0.35, 0, 1 },
	  .help = "part of the jobs that share a GPU" },
	{ "multi", STRATA_REAL, FIELD(multi), .real = { 0.1, 0, 1 },
	  .help = "part of the jobs with two GPUs or more" },
	{ "cpu_only", STRATA_REAL, FIELD(cpu_only), .real = { 0, 0, 0.9 },
	  .help = "part of the jobs without a GPU; they have 0 processors in the log" },
	{ "low", STRATA_REAL, FIELD(low), .real = { 0.25, 0, 1 },
	  .help = "part of the jobs of low priority" },
	{ "high", STRATA_REAL, FIELD(high), .real = { 0.1, 0, 1 },
	  .help = "part of the jobs of high priority" },
	{ "night", STRATA_REAL, FIELD(night), .real = { 0.3, 0.01, 1 },
	  .help = "jobs in the quietest hour of the night, beside the busiest of the day" },
	{ "weekend", STRATA_REAL, FIELD(weekend), .real = { 0.5, 0.01, 1 },
	  .help = "jobs on a weekend day, beside a weekday" },
	{ "picky", STRATA_REAL, FIELD(picky), .real = { 0, 0, 1 },
	  .help = "part of the programs that run on one model of GPU only" },
	{ 0 }
};

enum { STREAM_ARRIVALS, STREAM_SHAPES, STREAM_PEOPLE, STREAM_PROGRAMS };

/* ---- what jobs ask for ---- */

struct shape {
	double weight;
	int64_t gpu_milli; /* 0: no GPU */
	int64_t cpu_milli;
	int64_t memory_mib;
};

/* The commonest of openb's default pods, and how many of them there were. */
static const struct shape shared_shapes[] = {
	{ 1047, 810, 3152, 5600 },  { 388, 470, 11908, 47104 }, { 360, 470, 8000, 30517 },
	{ 237, 650, 11908, 47104 }, { 328, 320, 4000, 22888 },  { 140, 230, 4000, 30517 },
	{ 128, 460, 6000, 12288 },  { 75, 590, 6000, 24576 },   { 74, 160, 2000, 8192 },
	{ 72, 550, 8000, 30517 },   { 62, 220, 4000, 16384 },   { 24, 110, 2000, 4096 },
};
static const struct shape whole_shapes[] = {
	{ 857, 1000, 11300, 49152 }, { 534, 1000, 11400, 48128 }, { 470, 1000, 3152, 5600 },
	{ 255, 1000, 18708, 64512 }, { 195, 1000, 9810, 41560 },  { 158, 1000, 12000, 24576 },
	{ 158, 1000, 15700, 58368 }, { 153, 1000, 11908, 47104 }, { 108, 1000, 16000, 32768 },
	{ 104, 1000, 8000, 16384 },  { 104, 1000, 4000, 24576 },  { 99, 1000, 12000, 16384 },
};
static const struct shape cpu_shapes[] = {
	{ 364, 0, 12500, 57344 },
	{ 284, 0, 32000, 49152 },
	{ 163, 0, 8000, 30517 },
	{ 120, 0, 15400, 51200 },
};
/* Of each GPU of a job with several. */
static const struct shape multi_shapes[] = {
	{ 3, 1000, 8000, 65536 },
	{ 2, 1000, 12000, 65536 },
	{ 1, 1000, 6000, 32768 },
};

/* How large jobs are, and how long: run times are e^(mean ± spread). */
enum { SIZE_CPU, SIZE_SHARED, SIZE_ONE, SIZE_MULTI, SIZE_COUNT = SIZE_MULTI + 6 };

static const struct size {
	int64_t gpus;
	double weight; /* among those with two GPUs and more */
	double ln_mean;
	const struct shape *shapes;
	size_t shape_count;
} sizes[SIZE_COUNT] = {
	{ 0, 0, 6.1, cpu_shapes, sizeof(cpu_shapes) / sizeof(cpu_shapes[0]) },
	{ 1, 0, 6.2, shared_shapes, sizeof(shared_shapes) / sizeof(shared_shapes[0]) },
	{ 1, 0, 6.8, whole_shapes, sizeof(whole_shapes) / sizeof(whole_shapes[0]) },
	{ 2, 0.33, 7.4, multi_shapes, 3 },
	{ 4, 0.33, 8.4, multi_shapes, 3 },
	{ 8, 0.27, 8.9, multi_shapes, 3 },
	{ 16, 0.045, 9.3, multi_shapes, 3 },
	{ 32, 0.02, 9.4, multi_shapes, 3 },
	{ 64, 0.005, 9.5, multi_shapes, 3 },
};

static const double program_spread = 1.5, job_spread = 0.8; /* standard deviations of ln s */
static const double run_max_s = 14 * 86400.0;

/* ---- nodes ---- */

/* One node in four has the newer model, and so has one picky program in four. */
static const char *const models[] = { "A100", "A100", "A100", "H100" };
enum { MODELS = sizeof(models) / sizeof(models[0]) };

/* Room for every shape above: what a job with several GPUs wants of each, and what one with none wants at all. */
enum { GPU_CPU_MILLI = 16000, GPU_MEMORY_MIB = 98304, NODE_CPU_MILLI = 32000 };

static int gpu_nodes(const void *conf_any, struct strata_arena *arena,
		     struct openb_node **ret_nodes, size_t *ret_count, struct strata_error *err)
{
	const struct gpu_conf *conf = conf_any;
	size_t count = (size_t)(conf->gpus / conf->gpus_per_node);
	struct openb_node *nodes = strata_arena_array(arena, count, sizeof(*nodes));

	if (!nodes)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		int64_t cpu_milli = conf->gpus_per_node * GPU_CPU_MILLI;

		nodes[i] = (struct openb_node){
			.name = strata_arena_printf(arena, "gpu-%04zu", i + 1),
			.gpu_model = models[i % MODELS],
			.cpu_milli = cpu_milli > NODE_CPU_MILLI ? cpu_milli : NODE_CPU_MILLI,
			.memory_mib = conf->gpus_per_node * GPU_MEMORY_MIB,
			.gpu_count = conf->gpus_per_node,
		};
		if (!nodes[i].name)
			return strata_fail_memory(err);
	}
	*ret_nodes = nodes;
	*ret_count = count;
	return 0;
}

/* ---- users and their programs ---- */

enum { SIZE_PROGRAMS = 3 }; /* that a user has of one size */

struct program {
	int64_t number; /* its executable's; 0: not run yet */
	double ln_run;
	const struct shape *shape;
};

struct people {
	struct draw_table activity; /* of users */
	struct draw_table habit;    /* of a user's programs of one size */
	struct draw_table size;
	struct draw_table shapes[SIZE_COUNT];
	struct program *programs; /* [user][size][SIZE_PROGRAMS] */
};

/* A job fits into half of the cluster, and on whole nodes when on several. */
static bool size_fits(const struct gpu_conf *conf, int64_t gpus)
{
	if (gpus <= 1)
		return true;
	return gpus <= conf->gpus / 2 &&
	       (gpus <= conf->gpus_per_node || gpus % conf->gpus_per_node == 0);
}

static int weigh_sizes(const struct gpu_conf *conf, struct draw_table *table,
		       struct strata_arena *arena, struct strata_error *err)
{
	double weights[SIZE_COUNT], several = 0;
	double one = 1 - conf->cpu_only - conf->shared - conf->multi;

	if (one < -1e-9)
		return strata_fail_at(
			err, -ERANGE, "shared",
			"cpu_only, shared and multi are %g together; expected at most 1", 1 - one);
	for (size_t i = SIZE_MULTI; i < SIZE_COUNT; i++)
		several += size_fits(conf, sizes[i].gpus) ? sizes[i].weight : 0;
	if (several <= 0 && conf->multi > 0)
		return strata_fail_at(err, -ERANGE, "multi",
				      "multi is %g, but the cluster of %d GPUs has no room for "
				      "such jobs; expected 0",
				      conf->multi, (int)conf->gpus);
	weights[SIZE_CPU] = conf->cpu_only;
	weights[SIZE_SHARED] = conf->shared;
	weights[SIZE_ONE] = one > 0 ? one : 0;
	for (size_t i = SIZE_MULTI; i < SIZE_COUNT; i++)
		weights[i] = several > 0 && size_fits(conf, sizes[i].gpus)
				     ? conf->multi * sizes[i].weight / several
				     : 0;
	return draw_table_init(table, weights, SIZE_COUNT, arena, err);
}

static int weigh_shapes(const struct size *size, struct draw_table *table,
			struct strata_arena *arena, struct strata_error *err)
{
	double weights[16]; /* at least as many as any size has shapes */

	for (size_t i = 0; i < size->shape_count; i++)
		weights[i] = size->shapes[i].weight;
	return draw_table_init(table, weights, size->shape_count, arena, err);
}

static int gather_people(const struct gpu_conf *conf, struct strata_arena *arena,
			 struct people *people, struct strata_error *err)
{
	size_t users = (size_t)conf->users;
	int rc = weigh_sizes(conf, &people->size, arena, err);

	if (rc == 0)
		rc = draw_table_init_zipf(&people->activity, users, 0.9, arena, err);
	if (rc == 0)
		rc = draw_table_init_zipf(&people->habit, SIZE_PROGRAMS, 1, arena, err);
	for (size_t i = 0; rc == 0 && i < SIZE_COUNT; i++)
		rc = weigh_shapes(&sizes[i], &people->shapes[i], arena, err);
	if (rc)
		return rc;
	people->programs = strata_arena_array(arena, users * SIZE_COUNT * SIZE_PROGRAMS,
					      sizeof(*people->programs));
	return people->programs ? 0 : strata_fail_memory(err);
}

/* A model of which there are nodes enough. */
static const char *pick_model(const struct gpu_conf *conf, int64_t nodes, struct strata_rng *rng)
{
	int64_t all = conf->gpus / conf->gpus_per_node;
	const char *model = models[strata_rng_below(rng, MODELS)];
	bool rare = strcmp(model, models[0]) != 0;

	return rare && all / MODELS < nodes ? models[0] : model;
}

/* What a program asks of each node; one GPU of several nodes never is shared. */
static struct swf_demand demand_of(const struct gpu_conf *conf, int64_t executable,
				   const struct size *size, const struct shape *shape,
				   struct strata_rng *rng)
{
	int64_t nodes = size->gpus > conf->gpus_per_node ? size->gpus / conf->gpus_per_node : 1;
	int64_t gpus = size->gpus / nodes, times = gpus > 1 ? gpus : 1;
	bool picky = gpus > 0 && strata_rng_real(rng) < conf->picky;

	return (struct swf_demand){
		.executable = executable,
		.nodes = nodes,
		.gpus = gpus,
		.gpu_milli = gpus > 0 ? shape->gpu_milli : SWF_DEMAND_GPU_MILLI,
		.cpu_milli = shape->cpu_milli * times,
		.memory_mib = shape->memory_mib * times,
		.gpu_models = picky ? pick_model(conf, nodes, rng) : "",
	};
}

/* The program a user runs for a job of this size; a new one gets a number and a demand. */
static const struct program *pick_program(const struct gpu_conf *conf, struct people *people,
					  size_t user, size_t size, struct strata_rng *rng,
					  uint64_t seed, struct workload *workload)
{
	size_t index = (user * SIZE_COUNT + size) * SIZE_PROGRAMS +
		       draw_table_pick(&people->habit, rng);
	struct program *program = &people->programs[index];
	struct strata_rng own; /* so that a program is what it is, whenever it is run first */

	if (program->number)
		return program;
	strata_rng_init(&own, seed, STREAM_PROGRAMS);
	strata_rng_seek(&own, index << 16);
	program->shape = &sizes[size].shapes[draw_table_pick(&people->shapes[size], &own)];
	program->ln_run = sizes[size].ln_mean + program_spread * strata_rng_normal(&own);
	program->number = (int64_t)workload->demand_count + 1;
	workload->demands[workload->demand_count++] =
		demand_of(conf, program->number, &sizes[size], program->shape, &own);
	return program;
}

/* ---- jobs ---- */

static int64_t draw_run_s(struct strata_rng *rng, double ln_run)
{
	double run_s = draw_exp(ln_run + job_spread * strata_rng_normal(rng));

	return (int64_t)fmin(fmax(1, floor(run_s)), run_max_s);
}

static int64_t draw_queue(struct strata_rng *rng, const struct gpu_conf *conf)
{
	double at = strata_rng_real(rng);

	return at < conf->low ? 0 : at < conf->low + conf->high ? 2 : 1;
}

/* Fills the jobs; returns their GPU seconds. */
static double draw_jobs(const struct gpu_conf *conf, uint64_t seed, struct people *people,
			struct workload *workload)
{
	struct strata_rng shapes, persons;
	double work = 0;

	strata_rng_init(&shapes, seed, STREAM_SHAPES);
	strata_rng_init(&persons, seed, STREAM_PEOPLE);
	for (size_t i = 0; i < workload->job_count; i++) {
		struct strata_swf_job *job = &workload->jobs[i];
		size_t size = draw_table_pick(&people->size, &shapes);
		size_t user = draw_table_pick(&people->activity, &persons);
		const struct program *program =
			pick_program(conf, people, user, size, &persons, seed, workload);

		job->procs_requested = sizes[size].gpus;
		job->run_s = draw_run_s(&shapes, program->ln_run);
		job->requested_s = draw_requested_s(&persons, job->run_s);
		job->user = (int64_t)user + 1;
		job->executable = program->number;
		job->queue = draw_queue(&persons, conf);
		work += (double)job->run_s * (double)sizes[size].gpus *
			((double)program->shape->gpu_milli / SWF_DEMAND_GPU_MILLI);
	}
	return work;
}

/* Up from four in the morning to two in the afternoon, and down again. */
static struct draw_rhythm make_rhythm(const struct gpu_conf *conf)
{
	struct draw_rhythm rhythm;

	for (size_t i = 0; i < 48; i++) {
		double hour = (double)i / 2;
		double way = hour < 4    ? (4 - hour + 10) / 14
			     : hour < 14 ? (14 - hour) / 10
					 : (hour - 14) / 14;
		double smooth = way * way * (3 - 2 * way); /* 0 at the busiest, 1 at the quietest */

		rhythm.slots[i] = 1 - (1 - conf->night) * smooth;
	}
	for (size_t i = 0; i < 7; i++)
		rhythm.days[i] = i < 5 ? 1 : conf->weekend;
	return rhythm;
}

static int make_notes(struct workload *workload, struct strata_arena *arena,
		      struct strata_error *err)
{
	static const char *const queues[] = { "0 low", "1 normal", "2 high" };

	workload->notes = strata_arena_array(arena, 3, sizeof(*workload->notes));
	if (!workload->notes)
		return strata_fail_memory(err);
	for (size_t i = 0; i < 3; i++)
		workload->notes[i] = (struct strata_swf_note){ .key = "Queue", .value = queues[i] };
	workload->note_count = 3;
	return 0;
}

static int draw_times(const struct gpu_conf *conf, uint64_t seed, double work,
		      struct strata_arena *arena, struct workload *workload,
		      struct strata_error *err)
{
	struct draw_rhythm rhythm = make_rhythm(conf);
	double *moments = strata_arena_array(arena, workload->job_count, sizeof(*moments));
	struct strata_rng rng;
	int64_t span_s;

	if (!moments)
		return strata_fail_memory(err);
	int rc = draw_span_s(work, (double)conf->gpus, conf->load, &span_s, err);

	if (rc)
		return rc;
	strata_rng_init(&rng, seed, STREAM_ARRIVALS);
	for (size_t i = 1; i < workload->job_count; i++)
		moments[i] = moments[i - 1] + draw_gamma(&rng, 0.4, 1); /* below 1: in bursts */
	draw_arrivals(&rhythm, moments, span_s, workload->jobs, workload->job_count);
	return 0;
}

static int gpu_make(const void *conf_any, uint64_t seed, struct strata_arena *arena,
		    struct workload *workload, struct strata_error *err)
{
	const struct gpu_conf *conf = conf_any;
	struct people people = { 0 };

	if (conf->low + conf->high > 1 + 1e-9)
		return strata_fail_at(err, -ERANGE, "high",
				      "low and high are %g together; expected at most 1",
				      conf->low + conf->high);
	if (conf->gpus % conf->gpus_per_node != 0)
		return strata_fail_at(err, -ERANGE, "gpus",
				      "gpus is %d; expected a multiple of gpus_per_node, %d",
				      (int)conf->gpus, (int)conf->gpus_per_node);
	size_t programs = (size_t)conf->users * SIZE_COUNT * SIZE_PROGRAMS;

	if (programs > workload->job_count)
		programs = workload->job_count;
	workload->demands = strata_arena_array(arena, programs, sizeof(*workload->demands));
	if (!workload->demands)
		return strata_fail_memory(err);
	int rc = gather_people(conf, arena, &people, err);

	if (rc == 0)
		rc = make_notes(workload, arena, err);
	if (rc)
		return rc;
	workload->procs = conf->gpus;
	workload->nodes = conf->gpus / conf->gpus_per_node;
	return draw_times(conf, seed, draw_jobs(conf, seed, &people, workload), arena, workload,
			  err);
}

const struct workload_class workload_gpu = {
	.base = {
		.name = "gpu",
		.aliases = "gpu_cluster, philly",
		.summary = "jobs of a shared GPU cluster: parts of GPUs, single ones, several nodes",
		.conf_size = sizeof(struct gpu_conf),
		.options = gpu_options,
	},
	.make = gpu_make,
	.nodes = gpu_nodes,
};
