/*
 * What durable costs: transactions with 1, 8 and 64 jobs on each back end, beside the rate at which the same file system
 * syncs a page appended to a file and nothing else. Wall-clock time; the raw rate is measured between the others, in the same
 * run, and each number is the median of ROUNDS. Then reading: a walk over all jobs, and pages of the history by user.
 *
 *	bench_store [directory]		where the files are made; default: the current one
 *
 * PostgreSQL runs as a server of its own under /tmp, with fsync on; its raw rate is that of /tmp.
 */
#include "postgres_server.h"
#include "random.h"
#include "store/store.h"
#include "unit/store_sample.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, SIZES = 3, HISTORY = 100000 };
static const size_t sizes[SIZES] = { 1, 8, 64 };
static const double round_s = 0.3;

static struct strata_memory memory;
static struct strata_error err;
static int64_t next_id = 1;

/* What the server of the tests calls when it cannot go on. */
void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

void test_skip(const char *format, ...)
{
	(void)format;
	exit(0);
}

static void must(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "bench_store: %s\n", err.text);
		exit(1);
	}
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Commits per second of a page and a sync. */
static double measure_raw(const char *directory)
{
	char path[512], page[4096];
	double start = now_s(), end;
	long count = 0;

	memset(page, 'x', sizeof(page));
	snprintf(path, sizeof(path), "%s/bench_store.raw", directory);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	do {
		if (write(fd, page, sizeof(page)) != sizeof(page) || fdatasync(fd) < 0)
			exit(1);
		count++;
	} while ((end = now_s()) - start < round_s);
	close(fd);
	unlink(path);
	return (double)count / (end - start);
}

/* How long single calls took, in seconds. */
enum { TIMES_MAX = 1 << 16 };
struct times {
	double list[TIMES_MAX];
	size_t count;
};

static void add_time(struct times *times, double seconds)
{
	if (times->count < TIMES_MAX)
		times->list[times->count++] = seconds;
}

/* Transactions per second of `size` new jobs each. */
static double measure_put(struct store *store, uint64_t epoch, size_t size, struct times *times)
{
	static struct sample_job samples[64];
	static struct store_change changes[64];
	double start = now_s(), before, end = start;
	long count = 0;

	do {
		before = end;
		for (size_t i = 0; i < size; i++)
			changes[i] = STORE_PUT(sample_job(&samples[i], next_id++));
		must(store_apply(store, changes, size, epoch, &err));
		count++;
		end = now_s();
		add_time(times, end - before);
	} while (end - start < round_s);
	return (double)count / (end - start);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static void print_times(const char *what, struct times *times)
{
	qsort(times->list, times->count, sizeof(times->list[0]), compare);
	printf("  %-34s %10.0f us half of the time, %.0f us at 99 %%\n", what,
	       times->list[times->count / 2] * 1e6, times->list[times->count * 99 / 100] * 1e6);
	times->count = 0;
}

static void bench_puts(struct store *store, uint64_t epoch, const char *directory)
{
	static struct times times[SIZES];
	double raw[ROUNDS], rates[SIZES][ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		raw[round] = measure_raw(directory);
		for (int i = 0; i < SIZES; i++)
			rates[i][round] = measure_put(store, epoch, sizes[i], &times[i]);
	}
	double base = median(raw);

	printf("  %-34s %10.0f commits/s\n", "a page and a sync", base);
	for (int i = 0; i < SIZES; i++) {
		double rate = median(rates[i]);

		printf("  %2zu job%s a transaction %*s %10.0f commits/s %10.0f jobs/s   %.2f of "
		       "the raw commits, "
		       "%.1f jobs for one\n",
		       sizes[i], sizes[i] == 1 ? " " : "s", 13, "", rate, rate * (double)sizes[i],
		       rate / base, rate * (double)sizes[i] / base);
		print_times("", &times[i]);
	}
}

static int count_row(void *context, const void *row, struct strata_error *error)
{
	(void)row, (void)error;
	++*(long *)context;
	return 0;
}

/* Fills up to HISTORY jobs, of a hundred users, all but one in a hundred ended. */
static void fill(struct store *store, uint64_t epoch)
{
	static struct sample_job samples[1000];
	static struct store_change changes[1000];
	static char users[100][8];
	int64_t id = 1;

	for (int i = 0; i < 100; i++)
		snprintf(users[i], sizeof(users[i]), "u%02d", i);
	for (; id < HISTORY;) {
		for (int i = 0; i < 1000; i++, id++) {
			changes[i] = STORE_PUT(sample_job(&samples[i], id));
			samples[i].row.user = users[id * 7 % 100];
			samples[i].row.completed_ns = id % 100 ? id : 0;
			samples[i].row.state = id % 100 ? "completed" : "queued";
		}
		must(store_apply(store, changes, 1000, epoch, &err));
	}
}

static void bench_reads(struct store *store)
{
	static const struct store_filter live = { .live = true };
	static struct times times;
	uint64_t seed = 1;
	long count = 0;
	double start = now_s();

	must(store_load(store, STORE_JOB, NULL, count_row, &count, &err));
	printf("  a walk over %ld jobs %*s %10.0f jobs/s\n", count, 10, "",
	       (double)count / (now_s() - start));
	count = 0;
	start = now_s();
	must(store_load(store, STORE_JOB, &live, count_row, &count, &err));
	printf("  the %ld live ones %*s %10.1f ms\n", count, 14, "", (now_s() - start) * 1e3);
	for (int i = 0; i < 200; i++) {
		start = now_s();
		struct store_query query = { .user = i % 2 ? "u07" : "u42",
					     .after = (int64_t)random_below(&seed, HISTORY) + 100,
					     .limit = 100,
					     .descending = true };

		must(store_jobs_page(store, &query, count_row, &count, &err));
		add_time(&times, now_s() - start);
	}
	print_times("a page of 100 of one user", &times);
	for (int i = 0; i < 2000; i++) {
		struct strata_arena arena;
		struct store_job job;

		strata_arena_init(&arena, &memory, 0);
		start = now_s();
		must(store_job_get(store, (int64_t)random_below(&seed, HISTORY - 1) + 1, &arena,
				   &job, &err));
		add_time(&times, now_s() - start);
		strata_arena_fini(&arena);
	}
	print_times("one job", &times);
}

static void bench(const char *address, const char *directory)
{
	struct store *store;
	uint64_t epoch;

	must(store_open(address, false, &memory, &store, &err));
	must(store_lead(store, NULL, &epoch, &err));
	printf("%s\n", store_class_of(store)->name);
	bench_puts(store, epoch, directory);
	fill(store, epoch);
	bench_reads(store);
	store_close(store);
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";
	char address[512], path[600];
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };

	snprintf(address, sizeof(address), "sqlite:%s/bench_store.db", directory);
	bench(address, directory);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/bench_store.db%s", directory, ends[i]);
		unlink(path);
	}
	if (!postgres_server_possible())
		return 0;
	setenv("STRATA_PG_FSYNC", "on", 1);
	bench(postgres_server_url(), "/tmp");
	return 0;
}
