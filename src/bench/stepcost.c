/*
 * Measuring steps. The two loops take turns, a short batch each, and the least time of each counts: on a machine that others
 * use too, the least is what the code costs and the rest is what they do. CPU time of this thread, not the clock on the wall.
 * Even so a neighbour on the same core makes all code slower for a while, so the ratio is taken of two batches that follow each
 * other, and is the median of all such pairs.
 */
#include "bench/stepcost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PAGE_BYTES = 4096,
	FEW = 16,                 /* elements of the smallest step */
	BATCH_MAX = 64,           /* steps between two looks at the clock */
	BATCH_ELEMENTS = 1 << 20, /* of all of them together, about */
	ROUNDS_MIN = 3,
	PAIRS_MAX = 4096,
	PLACES = 4,                 /* in memory: which pages share a line of the cache is luck */
	PLACES_BYTES_MAX = 1 << 24, /* larger tensors are in no cache anyway */
};

struct bench {
	const struct stepcost_conf *conf;
	struct plain plain;
	void *sample, *output; /* page aligned, as allocators give large ones */
	void *first;           /* the sample to begin with */
	float *noise;
	void *slots[STRATA_SOLVER_SLOTS_MAX];
	size_t tensor_bytes;
	size_t batch;             /* steps between two looks at the clock */
	double ratios[PAIRS_MAX]; /* of step to plain loop */
	size_t ratio_count;
};

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void step(const struct bench *bench, size_t count)
{
	const struct stepcost_conf *conf = bench->conf;
	const struct strata_solver_item item = { conf->row,     bench->sample, bench->output,
						 bench->sample, bench->slots,  bench->noise };
	const struct strata_solver_how how = { conf->element, conf->isa, NULL };

	strata_solver_apply(&item, 1, count, &how);
}

static void step_all(const struct bench *bench)
{
	step(bench, bench->conf->element_count);
}

static void step_few(const struct bench *bench)
{
	step(bench, bench->conf->element_count < FEW ? bench->conf->element_count : FEW);
}

static void plain_all(const struct bench *bench)
{
	plain_run(&bench->plain, bench->conf->isa, bench->sample, bench->output, bench->slots,
		  bench->conf->element_count);
}

/* Time of one call, in a batch. The sample begins anew each time: a row applied again and again leaves the range of numbers. */
static double time_batch(const struct bench *bench, void (*call)(const struct bench *bench),
			 size_t batch)
{
	memcpy(bench->sample, bench->first, bench->tensor_bytes);
	call(bench);
	double start = cpu_ns();

	for (size_t i = 0; i < batch; i++)
		call(bench);
	return (cpu_ns() - start) / (double)batch;
}

static void measure(struct bench *bench, double budget_ns, struct stepcost *cost)
{
	double begun = cpu_ns();
	size_t batch = bench->batch;

	for (int round = 0; round < ROUNDS_MIN || cpu_ns() - begun < budget_ns; round++) {
		double step_ns = time_batch(bench, step_all, batch);

		cost->step_ns = fmin(cost->step_ns, step_ns);
		if (bench->plain.kind != PLAIN_NONE) {
			double plain_ns = time_batch(bench, plain_all, batch);

			cost->plain_ns = fmin(cost->plain_ns, plain_ns);
			if (bench->ratio_count < PAIRS_MAX)
				bench->ratios[bench->ratio_count++] = step_ns / plain_ns;
		}
		cost->fixed_ns = fmin(cost->fixed_ns, time_batch(bench, step_few, BATCH_MAX));
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void count_tensors(const struct strata_solver_row *row, struct stepcost *cost)
{
	bool noise = row->next.d != 0;

	cost->reads = row->flags & STRATA_ROW_NO_MODEL ? 1 : 2;
	cost->writes = 1 + row->write_count;
	for (uint32_t w = 0; w < row->write_count; w++)
		noise |= row->writes[w].sum.d != 0;
	cost->reads += noise;
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++) {
		bool read = row->next.c[k] != 0;

		for (uint32_t w = 0; w < row->write_count; w++)
			read |= row->writes[w].sum.c[k] != 0;
		cost->reads += read;
	}
}

/* Numbers around ±1 that stay so under any row, as far as they can. */
static void fill(void *tensor, enum strata_element element, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		float value = (float)(i % 101) / 101 + 0.25f;
		uint32_t bits;

		memcpy(&bits, &value, sizeof(bits));
		if (element == STRATA_F32)
			((float *)tensor)[i] = value;
		else /* as a bfloat; as a half it is another number of the same sort */
			((uint16_t *)tensor)[i] = (uint16_t)(bits >> 16);
	}
}

static char *page_of(char *at)
{
	return at + (PAGE_BYTES - (uintptr_t)at % PAGE_BYTES) % PAGE_BYTES;
}

/* Cuts one block into the tensors. */
static void place(struct bench *bench, char *block)
{
	const struct stepcost_conf *conf = bench->conf;
	char *at = page_of(block);
	size_t room = (bench->tensor_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

	bench->sample = at;
	bench->output = at + room;
	bench->first = at + 2 * room;
	bench->noise = (void *)(at + 3 * room);
	at = page_of(at + 3 * room + conf->element_count * sizeof(*bench->noise));
	strata_solver_slots_init(at, conf->slot_count, conf->element_count, conf->element,
				 bench->slots);
	fill(bench->first, conf->element, conf->element_count);
	fill(bench->output, conf->element, conf->element_count);
	fill(bench->noise, STRATA_F32, conf->element_count);
	for (uint32_t k = 0; k < conf->slot_count; k++)
		fill(bench->slots[k], conf->element, conf->element_count);
}

int stepcost_measure(const struct stepcost_conf *conf, struct strata_memory *memory,
		     struct stepcost *ret_cost, struct strata_error *err)
{
	struct bench bench = { .conf = conf };
	size_t wide = conf->element_count * sizeof(float);
	size_t bytes =
		4 * (wide + PAGE_BYTES) + 2 * (size_t)PAGE_BYTES +
		strata_solver_slots_bytes(conf->slot_count, conf->element_count, conf->element);
	size_t places = bytes <= PLACES_BYTES_MAX ? PLACES : 1;
	char *block = strata_memory_get(memory, places * bytes);

	if (!block)
		return strata_fail_memory(err);
	bench.tensor_bytes = conf->element == STRATA_F32 ? wide : wide / 2;
	bench.batch = BATCH_ELEMENTS / (conf->element_count + 1) + 1;
	if (bench.batch > BATCH_MAX)
		bench.batch = BATCH_MAX;
	if (conf->element == STRATA_F32)
		plain_of(conf->row, &bench.plain);
	*ret_cost = (struct stepcost){ .step_ns = INFINITY,
				       .plain_ns = INFINITY,
				       .fixed_ns = INFINITY };
	count_tensors(conf->row, ret_cost);
	for (size_t i = 0; i < places; i++) {
		place(&bench, block + i * bytes);
		measure(&bench, (double)conf->budget_ns / (double)places, ret_cost);
	}
	qsort(bench.ratios, bench.ratio_count, sizeof(bench.ratios[0]), by_value);
	ret_cost->ratio = bench.ratio_count ? bench.ratios[bench.ratio_count / 2] : NAN;
	if (!bench.ratio_count)
		ret_cost->plain_ns = NAN;
	strata_memory_put(memory, block, places * bytes);
	return 0;
}
