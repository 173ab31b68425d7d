/* What goes wrong underneath a stream ends in an error that stays, with nothing corrupted and no hang. */
#include "stream_sample.h"

#include <errno.h>
#include <unistd.h>

static struct strata_error err;
static const int64_t sizes[] = { 40000, 40000, 40000, 40000 };
enum { COUNT = 4, BUDGET = 100000 };

/* Steps until something is wrong. */
static int run_steps(struct sample *sample, int count)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < count; i++)
		rc = sample_step(sample, &err);
	return rc;
}

static void open_sample(struct sample *sample, bool changes)
{
	sample_make(sample, sizes, COUNT, BUDGET, 1);
	sample->conf.changes_dir = changes ? test_temp_dir() : NULL;
	CHECK_OK(strata_stream_open(&sample->conf, &sample->memory, &sample->stream, &err));
}

TEST(a_disk_that_fails_is_said_and_stays_said)
{
	for (int at = 1; at < 40; at += 3) {
		struct sample sample;

		open_sample(&sample, false);
		sample_fault(&sample, at, -EIO, false);
		CHECK_ERROR(run_steps(&sample, 10), -EIO,
			    "sample.safetensors: cannot be read at byte");
		CHECK_ERROR(strata_stream_step_start(sample.stream, &err), -EIO, "cannot be read");
		CHECK_ERROR(strata_stream_pre_forward(sample.stream, 1, &err), -EIO,
			    "cannot be read");
		sample_free(&sample);
	}
}

TEST(a_file_that_is_cut_short_underneath_is_said)
{
	for (enum strata_stream_channel channel = STRATA_STREAM_AUTO;
	     channel <= STRATA_STREAM_THREADS; channel += STRATA_STREAM_THREADS) {
		struct sample sample;

		sample_make(&sample, sizes, COUNT, BUDGET, 1);
		sample.conf.channel = channel;
		CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
		CHECK_OK(sample_step(&sample, &err));
		CHECK(truncate(sample.path, 50001) == 0);
		CHECK_ERROR(run_steps(&sample, 3), -ENODATA, "the file was cut short");
		sample_free(&sample);
	}
}

/* A step that changes every layer. */
static int change_step(struct sample *sample)
{
	int rc = strata_stream_step_start(sample->stream, &err);

	for (uint32_t i = 0; rc == 0 && i < COUNT; i++) {
		rc = strata_stream_pre_forward(sample->stream, i, &err);
		if (rc)
			return rc;
		sample_check(sample, i);
		char *bytes = strata_stream_at(sample->stream, i, 0);

		for (int64_t b = 0; b < sizes[i]; b += 1000)
			bytes[b] = ++sample->want[i][b];
		CHECK_OK(strata_stream_changed(sample->stream, i, 0, &err));
		rc = strata_stream_post_forward(sample->stream, i, &err);
	}
	return rc ? rc : strata_stream_step_end(sample->stream, &err);
}

TEST(a_full_disk_is_said_and_nothing_changed_is_lost_before_it)
{
	for (int at = 1; at < 20; at += 2) {
		struct sample sample;
		char copy[40000];
		int rc = 0, steps = 0;

		open_sample(&sample, true);
		sample_fault(&sample, at, -ENOSPC, true);
		while (rc == 0 && steps++ < 20)
			rc = change_step(&sample);
		CHECK_ERROR(rc, -ENOSPC, "cannot be written");
		CHECK_ERROR(strata_stream_step_start(sample.stream, &err), -ENOSPC,
			    "cannot be written");
		/* what could not be written is in memory still, the rest where it was: all can be copied out */
		for (uint32_t i = 0; i < COUNT; i++) {
			CHECK_OK(strata_stream_copy(sample.stream, i, 0, copy, &err));
			CHECK_BYTES(copy, sample.want[i], sizeof(copy));
		}
		size_t size;
		char *after = test_read_file(sample.path, &size);

		CHECK_BYTES(after, sample.bytes, size);
		free(after);
		sample_free(&sample);
	}
}

TEST(changes_are_written_once_and_read_from_there)
{
	struct sample sample;

	open_sample(&sample, true);
	for (int i = 0; i < 10; i++)
		CHECK_OK(change_step(&sample));
	CHECK(sample.stream->bytes_written >= 10 * 60000 &&
	      sample.stream->bytes_written <= 11 * 5 * 40960);
	sample_free(&sample);
}

TEST(a_page_that_is_released_on_its_way_gives_its_frame_back)
{
	struct sample sample;
	struct strata_stream *stream;

	open_sample(&sample, false);
	stream = sample.stream;
	page_want(stream, 0);
	CHECK_OK(pages_advance(stream, &err));
	CHECK_INT(stream->frames.used_count, 1);
	CHECK_OK(page_release(stream, 0, &err));
	while (stream->pages[0].state != PAGE_ABSENT)
		CHECK_OK(pages_advance(stream, &err));
	CHECK_INT(stream->frames.used_count, 0);
	/* wanted again before it is there: it stays */
	page_want(stream, 0);
	CHECK_OK(pages_advance(stream, &err));
	CHECK_OK(page_release(stream, 0, &err));
	page_want(stream, 0);
	while (stream->pages[0].state != PAGE_HERE)
		CHECK_OK(pages_advance(stream, &err));
	CHECK_INT(stream->frames.used_count, 1);
	sample_free(&sample);
}

TEST(more_wishes_than_frames_wait_in_line)
{
	struct sample sample;
	struct strata_stream *stream;

	open_sample(&sample, false);
	stream = sample.stream;
	uint32_t frames = stream->frames.frame_count;

	CHECK(frames < stream->page_count);
	for (uint32_t i = 0; i < stream->page_count; i++)
		page_want(stream, i);
	CHECK_OK(pages_advance(stream, &err));
	CHECK_INT(stream->frames.used_count, frames);
	CHECK_INT(stream->pages[frames].state, PAGE_WISHED);
	CHECK_OK(page_release(stream, frames, &err)); /* it leaves the line */
	CHECK_OK(page_release(stream, 0, &err));      /* and this one makes room */
	while (stream->pages[frames + 1].state != PAGE_HERE)
		CHECK_OK(pages_advance(stream, &err));
	CHECK_INT(stream->pages[frames].state, PAGE_ABSENT);
	CHECK_INT(stream->frames.used_count, frames);
	sample_free(&sample);
}

TEST(what_can_never_come_is_no_hang)
{
	struct sample sample;

	open_sample(&sample, false);
	CHECK_ERROR(pages_wait(sample.stream, 2, &err), -EDEADLK, "'blocks.2'");
	sample_free(&sample);
}
