#include "stream_sample.h"

#include <errno.h>
#include <unistd.h>

static struct strata_error err;
static const int64_t sizes[] = { 30000, 100, 8192, 50001, 20000, 4096, 33333, 12000 };
enum { COUNT = sizeof(sizes) / sizeof(sizes[0]), BUDGET = 80000 };

static struct strata_stream_metrics metrics_of(const struct sample *sample)
{
	struct strata_stream_metrics metrics;

	strata_stream_metrics(sample->stream, &metrics);
	return metrics;
}

TEST(layers_are_what_they_are_step_after_step)
{
	for (enum strata_stream_channel channel = STRATA_STREAM_AUTO;
	     channel <= STRATA_STREAM_MEMORY; channel++) {
		struct sample sample;

		sample_make(&sample, sizes, COUNT, BUDGET, 1);
		sample.conf.channel = channel;
		sample.conf.cached = channel == STRATA_STREAM_THREADS;
		if (channel == STRATA_STREAM_URING &&
		    strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err)) {
			sample_free(&sample);
			continue; /* a kernel without it */
		}
		if (!sample.stream)
			CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream,
						    &err));
		for (int i = 0; i < 20; i++)
			CHECK_OK(sample_step(&sample, &err));
		struct strata_stream_metrics metrics = metrics_of(&sample);

		CHECK(metrics.peak_bytes <= BUDGET && metrics.arena_bytes <= BUDGET);
		CHECK_INT(metrics.progress.surprises, 0);
		CHECK_INT(metrics.progress.steps, 20);
		CHECK_INT(metrics.bytes_written, 0);
		/* no more than the plan said, and what a first step begins with */
		CHECK(metrics.bytes_read <=
		      20 * metrics.progress.plan->metrics.bytes_per_step + BUDGET);
		CHECK_TEXT(metrics.channel, channel == STRATA_STREAM_MEMORY    ? "memory"
					    : channel == STRATA_STREAM_THREADS ? "threads"
									       : metrics.channel);
		sample_free(&sample);
	}
}

TEST(an_address_stays)
{
	struct sample sample;
	void *at[COUNT] = { 0 };

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (int step = 0; step < 3; step++) {
		CHECK_OK(strata_stream_step_start(sample.stream, &err));
		for (uint32_t i = 0; i < COUNT; i++) {
			CHECK_OK(strata_stream_pre_forward(sample.stream, i, &err));
			CHECK(!at[i] || at[i] == strata_stream_at(sample.stream, i, 0));
			at[i] = strata_stream_at(sample.stream, i, 0);
			CHECK_OK(strata_stream_post_forward(sample.stream, i, &err));
		}
		CHECK_OK(strata_stream_step_end(sample.stream, &err));
	}
	sample_free(&sample);
}

TEST(all_that_fits_is_read_once)
{
	struct sample sample;

	sample_make(&sample, sizes, COUNT, 1 << 20, 1);
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK_OK(sample_step(&sample, &err));
	int64_t once = metrics_of(&sample).bytes_read;

	CHECK_OK(sample_step(&sample, &err));
	CHECK_INT(metrics_of(&sample).bytes_read, once);
	CHECK(metrics_of(&sample).arena_bytes < 1 << 20); /* no memory for what there is not */
	sample_free(&sample);
}

TEST(an_order_may_be_recorded)
{
	struct sample sample;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	sample.conf.visit_count = 0;
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (int i = 0; i < 4; i++)
		CHECK_OK(sample_step(&sample, &err));
	CHECK_INT(metrics_of(&sample).progress.surprises, 0);
	CHECK_INT(metrics_of(&sample).progress.plans, 1);
	sample_free(&sample);
}

/* ---- changes ---- */

static void change(struct sample *sample, uint32_t layer, uint64_t *seed)
{
	size_t at = random_below(seed, (uint64_t)sample_bytes(sample, layer));
	size_t count = random_below(seed, (uint64_t)sample_bytes(sample, layer) - at + 1);
	char *bytes = strata_stream_at(sample->stream, layer, 0);

	for (size_t i = 0; i < count; i++)
		bytes[at + i] = sample->want[layer][at + i] = (char)random_next(seed);
	CHECK_OK(strata_stream_changed(sample->stream, layer, 0, &err));
}

TEST(what_is_changed_comes_back_changed)
{
	struct sample sample;
	uint64_t seed = 5;
	char *copy = malloc(60000);

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	sample.conf.changes_dir = test_temp_dir();
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (int step = 0; step < 20; step++) {
		CHECK_OK(strata_stream_step_start(sample.stream, &err));
		for (uint32_t i = 0; i < COUNT; i++) {
			CHECK_OK(strata_stream_pre_forward(sample.stream, i, &err));
			sample_check(&sample, i);
			if (random_below(&seed, 3))
				change(&sample, i, &seed);
			CHECK_OK(strata_stream_post_forward(sample.stream, i, &err));
		}
		CHECK_OK(strata_stream_step_end(sample.stream, &err));
	}
	CHECK(metrics_of(&sample).bytes_written > 0);
	CHECK(metrics_of(&sample).peak_bytes <= BUDGET);
	for (uint32_t i = 0; i < COUNT; i++) { /* wherever it is now */
		CHECK_OK(strata_stream_copy(sample.stream, i, 0, copy, &err));
		CHECK_BYTES(copy, sample.want[i], (size_t)sizes[i]);
	}
	/* and the file is as it was */
	size_t size;
	char *after = test_read_file(sample.path, &size);

	CHECK_INT(size, sample.size);
	CHECK_BYTES(after, sample.bytes, size);
	free(after);
	free(copy);
	sample_free(&sample);
}

/* ---- copies of what is not in memory ---- */

/* Transfers as a disk makes them on a bad day. */
struct bad_day {
	channel_transfer *inner;
	void *context;
	int at; /* the transfer that gives `result`, counting from 1; 0: none */
	ssize_t result;
	size_t most; /* bytes that one of the others moves */
	int made;
};

static ssize_t transfer_badly(void *context, const struct request *request)
{
	struct bad_day *day = context;
	struct request some = *request;

	if (++day->made == day->at)
		return day->result;
	if (day->most && some.bytes - some.done > day->most)
		some.bytes = some.done + day->most;
	return day->inner(day->context, &some);
}

static void have_a_bad_day(struct sample *sample, struct bad_day *day)
{
	struct source *source = &sample->stream->source;

	if (source->transfer != transfer_badly) {
		day->inner = source->transfer;
		day->context = source->transfer_context;
	}
	source->transfer = transfer_badly;
	source->transfer_context = day;
	day->made = 0;
}

TEST(a_copy_fails_when_a_transfer_does_and_not_before)
{
	static const ssize_t failures[] = { -EIO, 0, -ENXIO };
	struct bad_day day = { .most = 4096 };
	struct sample sample;
	char *copy = malloc(60000);

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	have_a_bad_day(&sample, &day);
	CHECK_OK(strata_stream_copy(sample.stream, 0, 0, copy, &err)); /* in pieces */
	CHECK_BYTES(copy, sample.want[0], (size_t)sizes[0]);
	int made = day.made;

	CHECK(made > sizes[0] / 4096);
	for (int at = 1; at <= made; at++) {
		for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
			day.at = at;
			day.result = failures[i];
			have_a_bad_day(&sample, &day);
			CHECK_ERROR(strata_stream_copy(sample.stream, 0, 0, copy, &err),
				    failures[i] ? (int)failures[i] : -ENODATA, sample.path);
			CHECK_INT(day.made, at); /* nothing is asked for afterwards */
		}
		day.result = -EINTR; /* no failure: it is asked again */
		have_a_bad_day(&sample, &day);
		memset(copy, 0, (size_t)sizes[0]);
		CHECK_OK(strata_stream_copy(sample.stream, 0, 0, copy, &err));
		CHECK_BYTES(copy, sample.want[0], (size_t)sizes[0]);
	}
	CHECK_OK(sample_step(&sample, &err)); /* the stream itself is as it was */
	free(copy);
	sample_free(&sample);
}

/* Two tensors that are apart in the file are two transfers of one page: the second does not make up for the first. */
TEST(a_page_of_two_places_fails_when_either_does)
{
	static const int64_t apart[] = { 1000, 20000, 1500 };
	struct strata_extent both[2];
	struct bad_day day = { 0 };
	struct sample sample;
	char copy[1500];

	sample_make(&sample, apart, 3, BUDGET, 1);
	both[0] = sample.layers[0].extents[0];
	both[1] = sample.layers[2].extents[0];
	sample.layers[0].extents = both;
	sample.layers[0].extent_count = 2;
	sample.conf.layer_count = sample.conf.visit_count = 1;
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (size_t extent = 0; extent < 2; extent++) {
		day.at = 0;
		have_a_bad_day(&sample, &day);
		CHECK_OK(strata_stream_copy(sample.stream, 0, extent, copy, &err));
		CHECK_BYTES(copy, sample.want[2 * extent], (size_t)apart[2 * extent]);
		CHECK_INT(day.made, 2);
		for (day.at = 1; day.at <= 2; day.at++) {
			day.result = -EIO;
			have_a_bad_day(&sample, &day);
			CHECK_ERROR(strata_stream_copy(sample.stream, 0, extent, copy, &err), -EIO,
				    sample.path);
			CHECK_INT(day.made, day.at);
		}
	}
	sample.conf.layer_count = 3; /* whose copies are freed */
	sample_free(&sample);
}

TEST(changes_need_a_place_and_a_layer_that_is_there)
{
	struct sample sample;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK_ERROR(strata_stream_changed(sample.stream, 0, 0, &err), -EROFS, "changes_dir");
	strata_stream_close(sample.stream);
	sample.conf.changes_dir = test_temp_dir();
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK_ERROR(strata_stream_changed(sample.stream, 0, 0, &err), -EINVAL, "'blocks.0'");
	sample_free(&sample);
}

/* ---- any order, any budget, any channel, with changes ---- */

static void random_visit(struct sample *sample, uint32_t layer, uint64_t *seed)
{
	CHECK_OK(strata_stream_pre_forward(sample->stream, layer, &err));
	sample_check(sample, layer);
	if (sample->conf.changes_dir && random_below(seed, 4) == 0)
		change(sample, layer, seed);
	CHECK_OK(strata_stream_post_forward(sample->stream, layer, &err));
}

static void random_run(uint64_t *seed)
{
	struct sample sample;
	int64_t bytes[SAMPLE_LAYERS_MAX], total = 0, largest = 0;
	size_t count = 1 + random_below(seed, SAMPLE_LAYERS_MAX);

	for (size_t i = 0; i < count; i++) {
		bytes[i] = 1 + (int64_t)random_below(seed, random_below(seed, 2) ? 5000 : 70000);
		/* its blocks at either end, and the rest of a page */
		int64_t room = bytes[i] + 2 * 4096 + 16384;

		total += room;
		largest = room > largest ? room : largest;
	}
	sample_make(&sample, bytes, count,
		    largest + (int64_t)random_below(seed, (uint64_t)(total - largest) + 1),
		    random_next(seed));
	sample.conf.page_bytes = random_below(seed, 2) ? 4096 : 16384;
	sample.conf.channel = (enum strata_stream_channel)random_below(seed, 4);
	sample.conf.cached = random_below(seed, 2);
	sample.conf.visit_count = random_below(seed, 4) ? count : 0;
	sample.conf.changes_dir = random_below(seed, 2) ? test_temp_dir() : NULL;
	if (strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err)) {
		CHECK_INT(sample.conf.channel, STRATA_STREAM_URING); /* a kernel without it */
		sample_free(&sample);
		return;
	}
	for (int step = 0; step < 6; step++) {
		CHECK_OK(strata_stream_step_start(sample.stream, &err));
		for (uint32_t i = 0; i < count; i++) {
			random_visit(&sample, i, seed);
			if (random_below(seed, 6) == 0) /* the plan knows nothing of it */
				random_visit(&sample, (uint32_t)random_below(seed, count), seed);
			if (random_below(seed, 10) == 0)
				i++;
		}
		CHECK_OK(strata_stream_step_end(sample.stream, &err));
	}
	CHECK(metrics_of(&sample).peak_bytes <= sample.conf.budget_bytes);
	sample_free(&sample);
}

TEST(any_model_in_any_order)
{
	uint64_t seed = 2026;

	for (int i = 0; i < 40; i++)
		random_run(&seed);
}

/* ---- backward ---- */

TEST(a_step_may_go_back)
{
	struct sample sample;
	uint32_t order[2 * COUNT];

	for (uint32_t i = 0; i < COUNT; i++) {
		order[i] = i;
		order[2 * COUNT - 1 - i] = i;
	}
	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	sample.conf.order = order;
	sample.conf.visit_count = 2 * COUNT;
	sample.conf.backward_count = COUNT;
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (int step = 0; step < 4; step++) {
		CHECK_OK(strata_stream_step_start(sample.stream, &err));
		for (uint32_t i = 0; i < COUNT; i++)
			CHECK_OK(sample_visit(&sample, i, &err));
		for (uint32_t i = COUNT; i-- > 0;) {
			CHECK_OK(strata_stream_pre_backward(sample.stream, i, &err));
			sample_check(&sample, i);
			CHECK_OK(strata_stream_post_backward(sample.stream, i, &err));
		}
		CHECK_OK(strata_stream_step_end(sample.stream, &err));
	}
	CHECK_INT(metrics_of(&sample).progress.surprises, 0);
	sample_free(&sample);
}

/* ---- what is refused ---- */

TEST(what_cannot_work_is_refused_at_once)
{
	struct sample sample;

	sample_make(&sample, sizes, COUNT, 40000, 1);
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -E2BIG,
		    "the largest layer needs");
	sample.conf.budget_bytes = BUDGET;
	sample.conf.page_bytes = 1000;
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -EINVAL,
		    "pages of 1000 bytes");
	sample.conf.page_bytes = INT64_C(2) << 30;
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -EINVAL,
		    "up to 1 GiB");
	sample.conf.page_bytes = 8192;
	sample.conf.paths = (const char *const[]){ "/nonexistent/file" };
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -ENOENT,
		    "/nonexistent/file");
	sample.conf.paths = sample.weights.paths;
	sample.conf.changes_dir = "/nonexistent";
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -ENOENT,
		    "/nonexistent: no file for changes");
	sample.conf.changes_dir = NULL;
	sample.conf.path_count = 0;
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -EINVAL,
		    "is of no file");
	sample.conf.path_count = 1;
	CHECK(truncate(sample.path, (off_t)sample.size - 1) == 0);
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err),
		    -ENODATA, "goes on to byte");
	sample.conf.layer_count = 0;
	CHECK_ERROR(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err), -EINVAL,
		    "0 layers");
	sample.conf.layer_count = COUNT;
	sample_free(&sample);
}

TEST(hooks_in_an_impossible_order_change_nothing)
{
	struct sample sample;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK_ERROR(strata_stream_pre_forward(sample.stream, 0, &err), -EINVAL, "no step");
	CHECK_OK(strata_stream_step_start(sample.stream, &err));
	CHECK_ERROR(strata_stream_pre_forward(sample.stream, COUNT, &err), -EINVAL, "layer 8");
	CHECK_OK(sample_visit(&sample, 0, &err));
	CHECK_ERROR(strata_stream_post_forward(sample.stream, 0, &err), -EINVAL, "has not begun");
	CHECK_OK(sample_visit(&sample, 1, &err));
	sample_free(&sample);
}

/* ---- what is told ---- */

struct told {
	int64_t read, written;
	int waits;
};

static void note(void *context, const struct strata_stream_event *event)
{
	struct told *told = context;

	CHECK(event->begin_ns > 0 && event->end_ns >= event->begin_ns && event->layer < COUNT);
	told->read += event->kind == STRATA_STREAM_READ ? event->bytes : 0;
	told->written += event->kind == STRATA_STREAM_WRITE ? event->bytes : 0;
	told->waits += event->kind == STRATA_STREAM_WAIT;
}

TEST(what_takes_time_is_told)
{
	struct sample sample;
	struct told told = { 0 };

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	sample.conf.watch = note;
	sample.conf.watch_context = &told;
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (int i = 0; i < 3; i++)
		CHECK_OK(sample_step(&sample, &err));
	CHECK_INT(told.read, metrics_of(&sample).bytes_read);
	CHECK_INT(told.written, 0);
	CHECK(told.waits > 0 && metrics_of(&sample).wait_ns > 0);
	sample_free(&sample);
}

static int run_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct sample *sample = context;
	int rc = strata_stream_open(&sample->conf, own, &sample->stream, why);

	if (rc == 0)
		rc = sample_step(sample, why);
	if (rc == 0)
		rc = sample_step(sample, why);
	strata_stream_close(sample->stream);
	sample->stream = NULL;
	return rc;
}

TEST(lack_of_memory_is_said)
{
	struct sample sample;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	sample.conf.channel = STRATA_STREAM_THREADS;
	sample.conf.changes_dir = test_temp_dir();
	CHECK(test_every_allocation(run_once, &sample) > 20);
	sample_free(&sample);
}
