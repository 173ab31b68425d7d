/* The points of samples.h: added, thinned, written and read. */
#include "exec/samples.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_INTERVAL_MS = 1000, NAME_BYTES = 80 };

/* ---- points ---- */

void samples_init(struct samples *samples, int64_t gpus)
{
	*samples = (struct samples){ .interval_ms = FIRST_INTERVAL_MS, .gpus = gpus };
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Two neighbours become one: what was used adds up, what was seen at once is the larger. */
static void thin(struct samples *samples)
{
	size_t count = 0;

	for (size_t i = 0; i + 1 < samples->count; i += 2, count++) {
		const struct samples_point *a = &samples->points[i], *b = a + 1;

		samples->points[count] = (struct samples_point){
			.at_ms = b->at_ms,
			.cpu_ms = a->cpu_ms + b->cpu_ms,
			.memory_bytes = larger(a->memory_bytes, b->memory_bytes),
			.gpu_ms = a->gpu_ms + b->gpu_ms,
			.gpu_memory_bytes = larger(a->gpu_memory_bytes, b->gpu_memory_bytes),
		};
	}
	samples->count = count;
	samples->interval_ms *= 2;
}

void samples_add(struct samples *samples, const struct samples_look *look)
{
	int64_t before_ms = 0, used_ms = 0;

	if (samples->count == STRATA_SAMPLES_MAX)
		thin(samples);
	for (size_t i = 0; i < samples->count; i++)
		used_ms += samples->points[i].cpu_ms;
	if (samples->count)
		before_ms = samples->points[samples->count - 1].at_ms;
	if (look->at_ms <= before_ms)
		return;
	int64_t cpu_ms = look->cpu_ms - used_ms;

	samples->points[samples->count++] = (struct samples_point){
		.at_ms = look->at_ms,
		.cpu_ms = larger(cpu_ms, 0), /* a process may end between two looks */
		.memory_bytes = larger(look->memory_bytes, 0),
		.gpu_ms = (look->at_ms - before_ms) * look->gpu_milli / 1000,
		.gpu_memory_bytes = look->gpu_memory_bytes,
	};
}

/* ---- as text ---- */

/* clang-format off */
static const struct strata_option number = { .name = "number", .type = STRATA_INT, .integer = { 0, 0, INT64_MAX } };
#define COLUMN(field) \
	{ #field, STRATA_LIST, offsetof(struct record_samples, field), .list = { &number, STRATA_SAMPLES_MAX }, .help = "see samples.h" }

static const struct strata_option options[] = {
	{ "gpus", STRATA_INT, offsetof(struct record_samples, gpus), .integer = { 0, 0, UINT32_MAX }, .help = "see samples.h" },
	COLUMN(at_ms),
	COLUMN(cpu_ms),
	COLUMN(memory_bytes),
	COLUMN(gpu_ms),
	COLUMN(gpu_memory_bytes),
	{ 0 },
};
/* clang-format on */

const struct strata_schema record_samples_schema = { .name = "samples",
						     .conf_size = sizeof(struct record_samples),
						     .options = options };

static int fill_column(const struct samples *samples, size_t field, struct strata_arena *arena,
		       struct strata_list *column)
{
	int64_t *items = strata_arena_array(arena, samples->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < samples->count; i++)
		memcpy(&items[i], (const char *)&samples->points[i] + field, sizeof(*items));
	column->items = items;
	column->count = samples->count;
	return items ? 0 : -ENOMEM;
}

int samples_print(const struct samples *samples, struct strata_arena *arena, const char **ret_json,
		  struct strata_error *err)
{
	struct record_samples record = { .gpus = samples->gpus };

#define FILL(column) \
	fill_column(samples, offsetof(struct samples_point, column), arena, &record.column)
	if (FILL(at_ms) || FILL(cpu_ms) || FILL(memory_bytes) || FILL(gpu_ms) ||
	    FILL(gpu_memory_bytes))
		return strata_fail_memory(err);
#undef FILL
	if (!record.gpus)
		record.gpu_ms.count = record.gpu_memory_bytes.count = 0;
	return strata_schema_write_json(&record_samples_schema, &record, arena, ret_json, err);
}

int samples_read(const char *json, size_t length, struct strata_arena *arena,
		 struct record_samples *ret_record, struct strata_error *err)
{
	struct record_samples record;
	int rc = strata_schema_defaults(&record_samples_schema, arena, &record, err);

	if (rc == 0)
		rc = strata_schema_read_json(&record_samples_schema, json, length, arena, &record,
					     err);
	if (rc)
		return rc;
	size_t count = record.at_ms.count, gpu_count = record.gpus ? count : 0;
	const int64_t *at_ms = record.at_ms.items;

	if (record.cpu_ms.count != count || record.memory_bytes.count != count ||
	    record.gpu_ms.count != gpu_count || record.gpu_memory_bytes.count != gpu_count)
		return strata_fail(err, -EBADMSG, "samples: columns differ in length");
	for (size_t i = 0; i < count; i++)
		if (at_ms[i] <= (i ? at_ms[i - 1] : 0))
			return strata_fail(err, -EBADMSG, "samples: time %zu is not after %zu",
					   i + 1, i);
	*ret_record = record;
	return 0;
}

int samples_write(const struct env *env, int dir, const char *name, const char *json,
		  struct strata_error *err)
{
	char temp[NAME_BYTES];
	size_t left = strlen(json);

	snprintf(temp, sizeof(temp), ".%s.tmp", name);
	int fd = env->open(env->context, dir, temp,
			   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 ? fd : 0;

	while (rc == 0 && left) {
		ssize_t done = env->write(env->context, fd, json, left);

		if (done > 0) {
			json += done;
			left -= (size_t)done;
		} else if (done != -EINTR) {
			rc = done ? (int)done : -EIO;
		}
	}
	if (fd >= 0)
		env->close(env->context, fd);
	if (rc == 0)
		rc = env->rename(env->context, dir, temp, name);
	if (rc && fd >= 0)
		env->unlink(env->context, dir, temp);
	return rc ? strata_fail(err, rc, "cannot write %s: %s", name, strerror(-rc)) : 0;
}
