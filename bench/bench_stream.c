/*
 * What streaming costs, and against what. Models of 24 layers of floats are written to TMPDIR (/var/tmp) and computed with, layer by layer, step
 * after step: M rows times every matrix. Every figure is a median over rounds; what is compared is measured in the same round, one after the
 * other, because a shared machine changes from minute to minute. Reads are cold: the kernel's count of bytes read from disk is checked.
 *
 *	pace		a channel of so many bytes per second: overlap = max(computing alone, reading alone) / step
 *	disk		the disk as it is, beside other ways to the same weights
 *	hooks		a model that fits: what a pair of hooks takes when nothing is due
 *
 *	bench_stream [pace|disk|hooks]
 */
#include "stream/channel.h"
#include "bench/stream_bench.h"

#include <strata/stream.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYERS = 24, WIDTH = 2048, ROUNDS = 7, PAGE = 2 << 20, HOOK_STEPS = 20000 };

static struct bench {
	char path[4096];
	struct strata_memory memory;
	struct strata_arena arena;
	struct strata_weights weights;
	struct strata_stream_layer layers[LAYERS];
	struct strata_registry *planners;
	struct stream_bench stream_bench;
	uint64_t digests[LAYERS];
	int64_t bytes; /* of the model */
} bench;

static void must(int rc, const struct strata_error *err)
{
	if (rc) {
		fprintf(stderr, "bench_stream: %s\n", err->text);
		unlink(bench.path);
		exit(1);
	}
}

static int by_value(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return a < b ? -1 : a > b;
}

static double median(double *values)
{
	double sorted[ROUNDS];

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, ROUNDS, sizeof(*sorted), by_value);
	return sorted[ROUNDS / 2];
}

/* ---- models ---- */

/* Rows of each matrix; the same for all, or every sixth two and a half times as many. */
static int rows_of(int layer, bool equal)
{
	return equal || layer % 6 ? WIDTH : WIDTH * 5 / 2;
}

static void write_model(bool equal)
{
	char header[8192];
	float *rows = malloc((size_t)WIDTH * sizeof(float));
	uint64_t at = 0, length = 0;
	FILE *file = fopen(bench.path, "wb");

	if (!file || !rows) {
		perror(bench.path);
		exit(1);
	}
	for (int l = 0; l < LAYERS; l++) {
		uint64_t size = (uint64_t)rows_of(l, equal) * WIDTH * sizeof(float);

		length += (uint64_t)snprintf(
			header + length, sizeof(header) - length,
			"%s\"blocks.%d.weight\":{\"dtype\":\"F32\",\"shape\":[%d,%d],"
			"\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
			l ? "," : "{", l, rows_of(l, equal), WIDTH, at, at + size);
		at += size;
	}
	header[length++] = '}';
	while (length % 8)
		header[length++] = ' ';
	for (int i = 0; i < 8; i++)
		fputc((int)(length >> 8 * i & 255), file);
	fwrite(header, 1, length, file);
	for (int i = 0; i < WIDTH; i++)
		rows[i] = (float)((i * 37 + 11) % 101 - 50) / 2000;
	for (uint64_t left = at / (WIDTH * sizeof(float)); left > 0; left--) {
		rows[left % WIDTH] += 1e-4f;
		fwrite(rows, sizeof(float), WIDTH, file);
	}
	if (fflush(file) || fsync(fileno(file)) || fclose(file)) {
		perror(bench.path);
		exit(1);
	}
	free(rows);
}

/* rows 0: computing is waiting, so long for each byte. */
static void open_model(bool equal, int64_t rows, double ns_per_byte)
{
	struct strata_error err;

	write_model(equal);
	strata_arena_init(&bench.arena, &bench.memory, 0);
	must(strata_weights_read(bench.path, NULL, &bench.arena, &bench.weights, &err), &err);
	must(stream_bench_open(&bench.stream_bench,
			       &(struct stream_bench_conf){ .weights = &bench.weights,
							    .rows = rows,
							    .ns_per_byte = ns_per_byte },
			       &bench.memory, &err),
	     &err);
	bench.bytes = 0;
	for (uint32_t l = 0; l < LAYERS; l++) {
		const struct strata_weights_layer *layer = &bench.weights.layers[l];
		int64_t took;

		must(stream_bench_compute_plain(&bench.stream_bench, l, &bench.digests[l], &took,
						&err),
		     &err);
		bench.layers[l] =
			(struct strata_stream_layer){ layer->name, layer->extents, 1, took };
		bench.bytes += layer->bytes;
	}
}

static void close_model(void)
{
	stream_bench_close(&bench.stream_bench);
	strata_arena_fini(&bench.arena);
	unlink(bench.path);
}

static void check(uint32_t layer, uint64_t digest)
{
	if (digest != bench.digests[layer]) {
		fprintf(stderr, "bench_stream: layer %u came out differently\n", layer);
		unlink(bench.path);
		exit(1);
	}
}

/* ---- streams ---- */

static struct strata_stream *open_stream(int64_t budget, int64_t rate, int64_t pace,
					 const char *planner)
{
	struct strata_stream *stream;
	struct strata_error err;
	struct strata_stream_conf conf = { .paths = bench.weights.paths,
					   .path_count = 1,
					   .layers = bench.layers,
					   .layer_count = LAYERS,
					   .visit_count = LAYERS,
					   .budget_bytes = budget,
					   .page_bytes = PAGE,
					   .bytes_per_s = rate,
					   .pace_bytes_per_s = pace };

	must(strata_spec_read(bench.planners, planner, strlen(planner), &bench.arena, &conf.planner,
			      &err),
	     &err);
	must(strata_stream_open(&conf, &bench.memory, &stream, &err), &err);
	return stream;
}

static double step(struct strata_stream *stream, bool compute)
{
	struct strata_error err;
	int64_t begin = channel_now_ns();

	must(strata_stream_step_start(stream, &err), &err);
	for (uint32_t l = 0; l < LAYERS; l++) {
		must(strata_stream_pre_forward(stream, l, &err), &err);
		if (compute) {
			const void *at = strata_stream_at(stream, l, 0);

			check(l, stream_bench_compute(&bench.stream_bench, l, &at));
		}
		must(strata_stream_post_forward(stream, l, &err), &err);
	}
	must(strata_stream_step_end(stream, &err), &err);
	return (double)(channel_now_ns() - begin);
}

/* Computing alone, in this round. */
static double compute_alone(void)
{
	struct strata_error err;
	double total = 0;

	for (uint32_t l = 0; l < LAYERS; l++) {
		uint64_t digest;
		int64_t took;

		must(stream_bench_compute_plain(&bench.stream_bench, l, &digest, &took, &err),
		     &err);
		check(l, digest);
		total += (double)took;
	}
	return total;
}

static int64_t peak_of(const struct strata_stream *stream)
{
	struct strata_stream_metrics metrics;

	strata_stream_metrics(stream, &metrics);
	return metrics.peak_bytes;
}

/* ---- pace ---- */

static void at_pace(const char *name, const char *computing, int64_t pace, int64_t budget)
{
	double compute[ROUNDS], io[ROUNDS], steps[ROUNDS], overlaps[ROUNDS];
	struct strata_stream *stream = open_stream(budget, pace, pace, "best");
	struct strata_stream_metrics metrics;

	step(stream, false);
	for (int i = 0; i < ROUNDS; i++) {
		compute[i] = compute_alone();
		step(stream, false); /* begins with what had come while it computed alone */
		io[i] = step(stream, false);
		step(stream, true);
		steps[i] = step(stream, true);
		overlaps[i] = (compute[i] > io[i] ? compute[i] : io[i]) / steps[i];
	}
	strata_stream_metrics(stream, &metrics);
	printf("  %-9s  %-9s %4.1f GB/s  %6.0f  %9.1f  %7.1f  %9.1f  %7.3f  %.0f of %.0f\n", name,
	       computing, (double)pace / 1e9,
	       (double)metrics.bytes_asked / (double)metrics.progress.steps / (1 << 20),
	       median(compute) / 1e6, median(io) / 1e6, median(steps) / 1e6, median(overlaps),
	       (double)metrics.peak_bytes / (1 << 20), (double)budget / (1 << 20));
	strata_stream_close(stream);
}

/* Multiplying shares the processors with whoever else is there; waiting does not, and is made as long as reading, which is the hardest case. */
static void bench_pace(void)
{
	static const int64_t paces[] = { 400000000, 700000000, 1500000000 };

	printf("pace: a budget of a third\n");
	printf("  layers     computing  rate      MiB read  computing  reading  step [ms]  overlap "
	       " peak "
	       "MiB\n");
	for (int equal = 1; equal >= 0; equal--)
		for (size_t i = 0; i < sizeof(paces) / sizeof(paces[0]); i++) {
			open_model(equal, 64, 0);
			at_pace(equal ? "equal" : "unequal", "M = 64", paces[i], bench.bytes / 3);
			close_model();
			open_model(equal, 0, 0.73e9 / (double)paces[i]);
			at_pace(equal ? "equal" : "unequal", "waiting", paces[i], bench.bytes / 3);
			close_model();
		}
}

/* ---- other ways ---- */

static void drop_cache(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Read before a layer computes, into memory taken for it, and given back after: what hooks that offload do. */
static double load_in_hook(void)
{
	int fd = open(bench.path, O_RDONLY);

	drop_cache(fd);
	int64_t begin = channel_now_ns();

	for (uint32_t l = 0; l < LAYERS; l++) {
		const struct strata_extent *extent = &bench.layers[l].extents[0];
		char *bytes = malloc((size_t)extent->bytes);

		for (int64_t done = 0; done < extent->bytes;) {
			ssize_t got = pread(fd, bytes + done, (size_t)(extent->bytes - done),
					    extent->offset + done);

			if (got <= 0)
				exit(1);
			done += got;
		}
		const void *at = bytes;

		check(l, stream_bench_compute(&bench.stream_bench, l, &at));
		free(bytes);
	}
	double took = (double)(channel_now_ns() - begin);

	drop_cache(fd);
	close(fd);
	return took;
}

/* The file mapped, and computed with where it lies. */
static double mapped(void)
{
	int fd = open(bench.path, O_RDONLY);
	struct stat about;

	drop_cache(fd);
	fstat(fd, &about);
	char *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
	int64_t begin = channel_now_ns();

	if (bytes == MAP_FAILED)
		exit(1);
	for (uint32_t l = 0; l < LAYERS; l++) {
		const void *at = bytes + bench.layers[l].extents[0].offset;

		check(l, stream_bench_compute(&bench.stream_bench, l, &at));
	}
	double took = (double)(channel_now_ns() - begin);

	munmap(bytes, (size_t)about.st_size); /* what is mapped is not dropped */
	drop_cache(fd);
	close(fd);
	return took;
}

/* How much of what it should the kernel read from disk; below 1 it was not cold. */
static double coldness(int64_t before, int64_t expected)
{
	return (double)(stream_bench_disk_bytes() - before) / (double)expected;
}

static int64_t rate_of_disk(void)
{
	struct strata_stream *stream = open_stream(bench.bytes / 3, 1000000000, 0, "stream");
	double took = step(stream, false);

	strata_stream_close(stream);
	return (int64_t)((double)bench.bytes / took * 1e9);
}

static void against_others(int64_t rows)
{
	enum { HOOK, MAPPED, ONE_AHEAD, BEST, WAYS };
	static const char *const names[WAYS] = { "load in the hook, free after", "mapped",
						 "stream, one layer ahead", "stream, best plan" };
	double took[WAYS][ROUNDS], compute[ROUNDS], bounds[ROUNDS], cold = 1e9, ratio[ROUNDS];

	open_model(true, rows, 0);
	int64_t rate = rate_of_disk();
	struct strata_stream *ahead = open_stream(bench.bytes / 3, rate, 0, "stream");
	struct strata_stream *best = open_stream(bench.bytes / 3, rate, 0, "best");

	step(ahead, true);
	step(best, true);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t before = stream_bench_disk_bytes();

		took[HOOK][i] = load_in_hook();
		double now = coldness(before, bench.bytes);

		cold = now < cold ? now : cold;
		before = stream_bench_disk_bytes();
		took[MAPPED][i] = mapped();
		now = coldness(before, bench.bytes);
		cold = now < cold ? now : cold;
		compute[i] = compute_alone();
		step(ahead, false);
		took[ONE_AHEAD][i] = step(ahead, true);
		step(best, false);
		double io = step(best, false);

		bounds[i] = compute[i] > io ? compute[i] : io;
		took[BEST][i] = step(best, true);
		ratio[i] = took[HOOK][i] / took[BEST][i];
	}
	printf("disk: M = %" PRId64 ", a budget of a third, %.1f GB/s, computing alone %.1f ms\n",
	       rows, (double)rate / 1e9, median(compute) / 1e6);
	for (int way = 0; way < WAYS; way++)
		printf("  %-30s %7.1f ms   overlap %.2f\n", names[way], median(took[way]) / 1e6,
		       median(bounds) / median(took[way]));
	printf("  %.2f times as fast as loading in the hook; cold: %.2f of the bytes came from the "
	       "disk\n",
	       median(ratio), cold);
	printf("  peak %.1f of %.1f MiB\n", (double)peak_of(best) / (1 << 20),
	       (double)bench.bytes / 3 / (1 << 20));
	strata_stream_close(ahead);
	strata_stream_close(best);
	close_model();
}

static void bench_disk(void)
{
	against_others(16);
	against_others(64);
}

/* ---- hooks ---- */

static void bench_hooks(void)
{
	open_model(true, 1, 0);
	struct strata_stream *stream = open_stream(2 * bench.bytes, 1000000000, 0, "best");
	struct strata_error err;

	step(stream, false);
	int64_t begin = channel_now_ns();

	for (int i = 0; i < HOOK_STEPS; i++) {
		strata_stream_step_start(stream, &err);
		for (uint32_t l = 0; l < LAYERS; l++) {
			strata_stream_pre_forward(stream, l, &err);
			strata_stream_post_forward(stream, l, &err);
		}
		strata_stream_step_end(stream, &err);
	}
	printf("hooks: %.0f ns each when nothing is due\n",
	       (double)(channel_now_ns() - begin) / HOOK_STEPS / (2 * LAYERS + 2));
	strata_stream_close(stream);
	close_model();
}

int main(int argc, char **argv)
{
	const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	const char *only = argc > 1 ? argv[1] : "";
	struct strata_error err;

	snprintf(bench.path, sizeof(bench.path), "%s/strata-bench-%d.safetensors", directory,
		 (int)getpid());
	must(strata_registry_new(&strata_planner_kind, &bench.memory, &bench.planners, &err), &err);
	if (strstr("hooks", only))
		bench_hooks();
	if (strstr("pace", only))
		bench_pace();
	if (strstr("disk", only))
		bench_disk();
	strata_registry_free(bench.planners);
	return 0;
}
