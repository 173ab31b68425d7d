#include "test.h"

#include "exec/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void add(struct samples *samples, int64_t at_ms, int64_t cpu_ms, int64_t memory_bytes)
{
	samples_add(samples, &(struct samples_look){ .at_ms = at_ms,
						     .cpu_ms = cpu_ms,
						     .memory_bytes = memory_bytes,
						     .gpu_milli = 500,
						     .gpu_memory_bytes = at_ms });
}

/* Looks as a supervisor takes them, with one CPU busy all the time. */
static void look_for(struct samples *samples, int64_t seconds)
{
	for (int64_t at_ms = samples->interval_ms; at_ms <= seconds * 1000;
	     at_ms += samples->interval_ms)
		add(samples, at_ms, at_ms, at_ms);
}

TEST(a_point_says_what_was_used_since_the_one_before)
{
	struct samples samples;

	samples_init(&samples, 1);
	add(&samples, 1000, 700, 10);
	add(&samples, 3000, 1200, 30);
	CHECK_INT(samples.count, 2);
	CHECK_INT(samples.points[0].cpu_ms, 700);
	CHECK_INT(samples.points[1].cpu_ms, 500);
	CHECK_INT(samples.points[1].gpu_ms, 1000);
	CHECK_INT(samples.points[1].memory_bytes, 30);
	add(&samples, 3000, 9000, 99); /* no time has passed */
	CHECK_INT(samples.count, 2);
	add(&samples, 4000, 900, 5); /* a process has ended that nobody waited for */
	CHECK_INT(samples.points[2].cpu_ms, 0);
}

TEST(two_become_one_when_there_are_too_many)
{
	struct samples samples;

	samples_init(&samples, 1);
	look_for(&samples, STRATA_SAMPLES_MAX);
	CHECK_INT(samples.count, STRATA_SAMPLES_MAX);
	CHECK_INT(samples.interval_ms, 1000);
	add(&samples, (STRATA_SAMPLES_MAX + 1) * 1000, (STRATA_SAMPLES_MAX + 1) * 1000, 7);
	CHECK_INT(samples.count, STRATA_SAMPLES_MAX / 2 + 1);
	CHECK_INT(samples.interval_ms, 2000);
	CHECK_INT(samples.points[0].at_ms, 2000);
	CHECK_INT(samples.points[0].cpu_ms, 2000);
	CHECK_INT(samples.points[0].gpu_ms, 1000);
	CHECK_INT(samples.points[0].memory_bytes, 2000);
	CHECK_INT(samples.points[STRATA_SAMPLES_MAX / 2].cpu_ms, 1000);
}

TEST(a_month_costs_no_more_than_two_minutes)
{
	struct samples samples;
	int64_t cpu_ms = 0;

	samples_init(&samples, 0);
	look_for(&samples, INT64_C(31) * 86400);
	CHECK(samples.count > STRATA_SAMPLES_MAX / 3 && samples.count <= STRATA_SAMPLES_MAX);
	for (size_t i = 0; i < samples.count; i++)
		cpu_ms += samples.points[i].cpu_ms;
	CHECK_INT(cpu_ms, samples.points[samples.count - 1].at_ms);
	strata_arena_init(&arena, &memory, 0);
	const char *json;

	CHECK_OK(samples_print(&samples, &arena, &json, &err));
	CHECK(strlen(json) < SAMPLES_BYTES_MAX / 4);
	strata_arena_fini(&arena);
}

TEST(what_is_written_is_read)
{
	struct record_samples record;
	struct samples samples;
	const char *json;

	strata_arena_init(&arena, &memory, 0);
	samples_init(&samples, 2);
	add(&samples, 1000, 700, 10);
	add(&samples, 2000, 900, 20);
	CHECK_OK(samples_print(&samples, &arena, &json, &err));
	CHECK_OK(samples_read(json, strlen(json), &arena, &record, &err));
	CHECK_INT(record.gpus, 2);
	CHECK_INT(record.cpu_ms.count, 2);
	CHECK_INT(((const int64_t *)record.cpu_ms.items)[1], 200);
	CHECK_INT(((const int64_t *)record.gpu_memory_bytes.items)[0], 1000);
	samples.gpus = 0;
	CHECK_OK(samples_print(&samples, &arena, &json, &err));
	CHECK_OK(samples_read(json, strlen(json), &arena, &record, &err));
	CHECK_INT(record.gpu_ms.count, 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static int read_text(const char *json)
{
	struct record_samples record;

	return samples_read(json, strlen(json), &arena, &record, &err);
}

TEST(what_makes_no_sense_is_refused)
{
	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(read_text("{\"at_ms\":[1,2],\"cpu_ms\":[1],\"memory_bytes\":[1,2]}"), -EBADMSG,
		    "differ in length");
	CHECK_ERROR(read_text("{\"at_ms\":[2,2],\"cpu_ms\":[1,1],\"memory_bytes\":[1,2]}"),
		    -EBADMSG, "time 2 is not after 1");
	CHECK(read_text("{\"at_ms\":[-1],\"cpu_ms\":[1],\"memory_bytes\":[1]}") < 0);
	CHECK(read_text("{") < 0);
	strata_arena_fini(&arena);
}

TEST(points_are_limited)
{
	char json[8192] = "{\"at_ms\":[";

	strata_arena_init(&arena, &memory, 0);
	for (int count = STRATA_SAMPLES_MAX; count <= STRATA_SAMPLES_MAX + 1; count++) {
		static const char *const names[] = { "at_ms", "cpu_ms", "memory_bytes" };
		size_t used = 0;

		for (int column = 0; column < 3; column++) {
			used += (size_t)sprintf(json + used, "%c\"%s\":[", column ? ',' : '{',
						names[column]);
			for (int i = 0; i < count; i++)
				used += (size_t)sprintf(json + used, "%s%d", i ? "," : "", i + 1);
			used += (size_t)sprintf(json + used, "]");
		}
		sprintf(json + used, "}");
		CHECK(count > STRATA_SAMPLES_MAX ? read_text(json) < 0 : read_text(json) == 0);
	}
	strata_arena_fini(&arena);
}

TEST(others_read_the_whole_file_or_the_one_before)
{
	char *text;
	size_t length;
	int dir = open(test_temp_dir(), O_RDONLY | O_DIRECTORY);

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(samples_write(env_system(), dir, "1.1.samples", "one", &err));
	CHECK_OK(samples_write(env_system(), dir, "1.1.samples", "two", &err));
	CHECK_OK(env_read_file(env_system(), dir, "1.1.samples", 100, &arena, &text, &length, &err));
	CHECK_TEXT(text, "two");
	CHECK_ERROR(samples_write(env_system(), dir, "nosuch/1.1.samples", "x", &err), -ENOENT,
		    "cannot write");
	strata_arena_fini(&arena);
}
