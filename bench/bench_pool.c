/*
 * The pool level at scale: CPU time of what is asked of a queue, in µs, with 10,000, 100,000 and
 * 1,000,000 tasks in line, for every policy, and bytes per task without its payload. Beside it
 * stands what public systems need for the same (measured on a machine like this; PEERS below). Each
 * number is the median of ROUNDS runs of OPERATIONS operations on tasks chosen at random.
 *
 *	bench_pool [policy]	only the policies whose spec contains the word
 */
#include "random.h"

#include <strata/pool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SIZES = 3,
	ROUNDS = 9,
	OPERATIONS = 5000,
	USERS = 1000,
	MODELS = 40,
	PAGE = 100,
	CREW = 500
};
static const uint32_t sizes[SIZES] = { 10000, 100000, 1000000 };

static const char *const specs[] = {
	"fifo",        "priority", "shortest:bound=0", "shortest", "deadline",
	"round_robin", "fair",     "resource_aware",
};

static struct strata_error err;

static void check(int rc)
{
	if (rc) {
		fprintf(stderr, "bench_pool: %s\n", err.text);
		exit(1);
	}
}

/* ---- a pool ---- */

static struct bench {
	struct strata_memory memory;
	struct strata_pool *pool;
	uint64_t crew[CREW], held[CREW]; /* workers and what they have */
	uint64_t *tasks;                 /* in line, in no order */
	uint32_t count;
	int64_t now_ns;
	uint64_t seed, sink;
	size_t task_bytes; /* memory of the pool over tasks, when filled */
} bench;

static char users[USERS][16];

static struct strata_task_request any_request(void)
{
	struct strata_task_request request;
	uint64_t number = random_next(&bench.seed);

	strata_task_request_init(&request);
	request.user = users[number % USERS];
	request.priority = (int64_t)(number >> 16) % 11;
	request.steps = 30;
	request.cost_ns = (int64_t)(1000000000 + (number >> 20) % 60000000000);
	request.model = (number >> 40) % MODELS;
	request.deadline_ns = INT64_C(1000000000000000000) + (int64_t)(number >> 1) % 1000000000000;
	return request;
}

static uint64_t add(void)
{
	struct strata_task_request request = any_request();
	uint64_t task;

	bench.now_ns += 1000000;
	check(strata_pool_add(bench.pool, &request, bench.now_ns, &task, &err));
	return task;
}

static uint64_t *any_task(void)
{
	return &bench.tasks[random_below(&bench.seed, bench.count)];
}

/* ---- operations ---- */

/* A worker takes the first and a new task gets in line; what it did with it is not timed. */
static uint32_t crew_at;

static void pick_add(void)
{
	const uint64_t loaded[] = { 1, 2 };
	struct strata_ask ask = {
		.worker = bench.crew[crew_at], .free_bytes = -1, .models = loaded, .model_count = 2
	};
	struct strata_batch batch;

	check(strata_pool_pick(bench.pool, &ask, bench.now_ns, &batch, NULL, &err));
	bench.held[crew_at++] = batch.tasks[0];
	add();
}

static void finish_all(void)
{
	for (uint32_t i = 0; i < crew_at; i++) {
		struct strata_done row = { bench.held[i], STRATA_DONE_FINISHED, 0, 1000 };

		check(strata_pool_done(bench.pool, bench.crew[i], &row, 1, bench.now_ns, &err));
		check(strata_pool_forget(bench.pool, bench.held[i], &err));
	}
	crew_at = 0;
}

static void position(void)
{
	struct strata_position where;

	check(strata_pool_position(bench.pool, *any_task(), bench.now_ns, &where, &err));
	bench.sink += where.ahead;
}

static void prioritise(void)
{
	check(strata_pool_set_priority(bench.pool, *any_task(),
				       (int64_t)random_below(&bench.seed, 11), bench.now_ns, &err));
}

static void page(void)
{
	uint64_t tasks[PAGE];

	bench.sink +=
		strata_pool_page(bench.pool, random_below(&bench.seed, bench.count), tasks, PAGE);
	bench.sink += tasks[0];
}

static void get(void)
{
	struct strata_task_view view;

	check(strata_pool_get(bench.pool, *any_task(), &view, &err));
	bench.sink += (uint64_t)view.cost_ns;
}

/* ---- measuring ---- */

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median CPU time of one operation, in µs. `again` undoes what the operations did, untimed;
 * NULL: nothing to undo. */
static double measure(void (*operation)(void), uint32_t operations, void (*again)(void))
{
	double times[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double start = cpu_ns();

		for (uint32_t i = 0; i < operations; i++)
			operation();
		times[round] = (cpu_ns() - start) / operations / 1000;
		if (again)
			again();
	}
	qsort(times, ROUNDS, sizeof(times[0]), by_value);
	return times[ROUNDS / 2];
}

/* Tasks in the place of those that were cancelled. */
static void refill(void)
{
	struct strata_task_view view;

	for (uint32_t i = 0; i < bench.count; i++) {
		uint64_t task = bench.tasks[i];

		if (task && strata_pool_get(bench.pool, task, &view, NULL) == 0 &&
		    view.status == STRATA_TASK_PENDING)
			continue;
		if (task)
			check(strata_pool_forget(bench.pool, task, &err));
		bench.tasks[i] = add();
	}
}

/* Each task once: cancelling one at random twice would be a mistake. */
static uint64_t cursor;

static void cancel_next(void)
{
	uint64_t step = bench.count / 2 + 7919; /* far apart, as people do */

	check(strata_pool_cancel(bench.pool, bench.tasks[cursor++ * step % bench.count],
				 bench.now_ns, &err));
}

static void fill(const struct strata_spec *policy, uint32_t count, uint32_t batch_max)
{
	struct strata_pool_conf conf = { .policy = *policy, .batch_max = batch_max };

	bench = (struct bench){ .count = count, .seed = 1, .now_ns = 1 };
	check(strata_pool_new(&conf, &bench.memory, &bench.pool, &err));
	for (uint32_t i = 0; i < CREW; i++)
		check(strata_pool_add_worker(bench.pool, 0, 1, &bench.crew[i], &err));
	bench.tasks = calloc(count, sizeof(*bench.tasks));
	for (uint32_t i = 0; i < USERS; i++) /* what users and models take is not the tasks' */
		bench.tasks[i] = add();
	size_t before = bench.memory.used_bytes;

	refill();
	bench.task_bytes = (bench.memory.used_bytes - before) / (count - USERS);
}

static void clear(void)
{
	strata_pool_free(bench.pool);
	free(bench.tasks);
}

static const struct row {
	const char *name;
	void (*operation)(void);
	void (*again)(void);
	uint32_t operations;
} rows[] = {
	{ "get", get, NULL, OPERATIONS },
	{ "position", position, NULL, OPERATIONS },
	{ "page of 100", page, NULL, OPERATIONS / 5 },
	{ "re-prioritise", prioritise, NULL, OPERATIONS },
	{ "cancel", cancel_next, refill, 5000 },
	{ "pick + add", pick_add, finish_all, CREW },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void run_policy(const struct strata_registry *registry, const char *spec)
{
	struct strata_arena arena;
	struct strata_memory scratch = { 0 };
	struct strata_spec policy;
	double times[ROWS][SIZES];
	size_t bytes[SIZES];

	strata_arena_init(&arena, &scratch, 0);
	check(strata_spec_read(registry, spec, strlen(spec), &arena, &policy, &err));
	for (int size = 0; size < SIZES; size++) {
		fill(&policy, sizes[size], 1);
		bytes[size] = bench.task_bytes;
		for (int row = 0; row < ROWS; row++) {
			cursor = 0;
			times[row][size] =
				measure(rows[row].operation, rows[row].operations, rows[row].again);
		}
		clear();
	}
	for (int row = 0; row < ROWS; row++) {
		printf("%-18s %-18s", row == 0 ? spec : "", rows[row].name);
		for (int size = 0; size < SIZES; size++)
			printf(" %9.2f", times[row][size]);
		printf("\n");
	}
	printf("%-18s %-18s", "", "bytes per task");
	for (int size = 0; size < SIZES; size++)
		printf(" %9zu", bytes[size]);
	printf("\n");
	fflush(stdout);
	strata_arena_fini(&arena);
}

static const char peers[] =
	"what others need, us (2 cores, median)   10000    100000   1000000\n"
	"ChituDiffusion schedule()                 1746     88216   1424174\n"
	"ComfyUI get() / cancel / snapshot   42/2515/26  44/36043/636  45/346038/46963\n"
	"vLLM FCFS pop / cancel                0.15/536  0.15/20112  0.16/121676\n"
	"vLLM priority pop / cancel           1.33/8142  3.08/114097  4.60/970459\n"
	"InvokeAI round-robin dequeue             10184     95037    932123\n"
	"memory for 1M tasks: ChituDiffusion 1041 bytes per task, ComfyUI 608\n";

int main(int argc, char **argv)
{
	struct strata_memory memory = { 0 };
	struct strata_registry *registry;

	for (uint32_t i = 0; i < USERS; i++)
		snprintf(users[i], sizeof(users[i]), "user-%u", i);
	check(strata_registry_new(&strata_policy_kind, &memory, &registry, &err));
	printf("%-37s", "us of CPU per operation");
	for (int size = 0; size < SIZES; size++)
		printf(" %9u", sizes[size]);
	printf("\n");
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		if (argc < 2 || strstr(specs[i], argv[1]))
			run_policy(registry, specs[i]);
	printf("\n%s", peers);
	strata_registry_free(registry);
	return 0;
}
