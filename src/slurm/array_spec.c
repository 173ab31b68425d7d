/*
 * Arrays of jobs as text (<strata/slurm.h>). The numbers are collected in a set of bits, which sorts
 * them and drops repetitions for free; ranges are read off the set. The form with one step over the
 * whole set is Slurm's own choice when it prints an array, and is how most arrays are written.
 */
#include <strata/slurm.h>

#include "core/bitset.h"
#include "core/text.h"
#include "slurm/slurm_value.h"

#include <errno.h>
#include <inttypes.h>

/* Slurm writes sets narrower than this as runs even when they have one step: "1,3,5". */
enum { STEP_SPAN_MIN = 11 };

static int fail_form(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -EINVAL,
			 "is not an array; expected numbers and ranges such as 0-9, 1,3,5-7, "
			 "0-20:4 or 1-100%8");
}

static int read_number(struct scan *scan, int64_t *ret_value, struct strata_error *err)
{
	uint64_t value;

	if (!scan_digits(scan, 1, SIZE_MAX, &value))
		return fail_form(scan, err);
	if (value > STRATA_ARRAY_INDEX_MAX)
		return strata_fail(err, -ERANGE,
				   "%llu is too much: an array has tasks 0 to %d and runs at most "
				   "that many at once",
				   (unsigned long long)value, STRATA_ARRAY_INDEX_MAX);
	*ret_value = (int64_t)value;
	return 0;
}

/* The numbers met so far. */
struct tasks {
	struct bitset set;
	int64_t first, last; /* the smallest and the largest */
	int64_t named;       /* how many were written, repetitions counted */
};

/* N, N-M or N-M:STEP. */
static int read_range(struct scan *scan, struct tasks *tasks, struct strata_error *err)
{
	int64_t first = 0, last, step = 1;
	int rc = read_number(scan, &first, err);

	last = first;
	if (rc == 0 && scan_char(scan, '-')) {
		rc = read_number(scan, &last, err);
		if (rc == 0 && scan_char(scan, ':'))
			rc = read_number(scan, &step, err);
	}
	if (rc)
		return rc;
	if (last < first || step < 1)
		return fail_form(scan, err);
	last -= (last - first) % step;
	tasks->named += (last - first) / step + 1;
	if (tasks->named > STRATA_ARRAY_NAMED_MAX) /* or a short text would be long work */
		return strata_fail(err, -E2BIG,
				   "an array names at most %d tasks, repetitions counted",
				   STRATA_ARRAY_NAMED_MAX);
	for (int64_t task = first; task <= last; task += step)
		bitset_set(&tasks->set, (size_t)task);
	tasks->first = first < tasks->first ? first : tasks->first;
	tasks->last = last > tasks->last ? last : tasks->last;
	return 0;
}

static int read_all(struct scan *scan, struct tasks *tasks, int64_t *limit,
		    struct strata_error *err)
{
	int rc = read_range(scan, tasks, err);

	while (rc == 0 && scan_char(scan, ','))
		rc = read_range(scan, tasks, err);
	if (rc == 0 && scan_char(scan, '%')) {
		rc = read_number(scan, limit, err);
		if (rc == 0 && *limit == 0)
			rc = fail_form(scan, err);
	}
	if (rc == 0 && !scan_ended(scan))
		rc = fail_form(scan, err);
	return rc;
}

/* The one step of the whole set, or 1 when it has none that Slurm would print. */
static int64_t common_step(const struct tasks *tasks)
{
	int64_t step = 0, before = tasks->first;

	if (tasks->last - tasks->first < STEP_SPAN_MIN)
		return 1;
	for (int64_t task = tasks->first + 1; task <= tasks->last; task++) {
		if (!bitset_test(&tasks->set, (size_t)task))
			continue;
		if (step == 0)
			step = task - before;
		if (task - before != step)
			return 1;
		before = task;
	}
	return step;
}

/* Counts the ranges, and stores them where there is room. */
static size_t list_ranges(const struct tasks *tasks, int64_t step,
			  struct strata_array_range *ranges)
{
	size_t count = 0;
	int64_t start = tasks->first;

	for (int64_t task = start; task <= tasks->last; task += step) {
		if (!bitset_test(&tasks->set, (size_t)task)) {
			start = task + 1;
			continue;
		}
		if (task < tasks->last && bitset_test(&tasks->set, (size_t)(task + step)))
			continue;
		if (ranges)
			ranges[count] = (struct strata_array_range){ start, task, step };
		count++;
	}
	return count;
}

int strata_array_parse(const char *text, size_t length, struct strata_arena *arena,
		       struct strata_array *ret_array, struct strata_error *err)
{
	enum { BITS = STRATA_ARRAY_INDEX_MAX + 1 };
	uint64_t words[BITSET_WORDS(BITS)];
	struct tasks tasks = { .first = BITS, .last = -1 };
	struct strata_array array = { 0 };
	struct scan scan;

	bitset_init_on(&tasks.set, words, BITS);
	scan_init(&scan, text, length);
	int rc = read_all(&scan, &tasks, &array.limit, err);

	if (rc)
		return rc;
	int64_t step = common_step(&tasks);

	array.range_count = list_ranges(&tasks, step, NULL);
	array.ranges = strata_arena_array(arena, array.range_count, sizeof(*array.ranges));
	if (!array.ranges)
		return strata_fail_memory(err);
	list_ranges(&tasks, step, array.ranges);
	for (size_t i = 0; i < array.range_count; i++)
		array.task_count += (array.ranges[i].last - array.ranges[i].first) / step + 1;
	*ret_array = array;
	return 0;
}

int strata_array_print(const struct strata_array *array, struct strata_arena *arena,
		       const char **ret_text, struct strata_error *err)
{
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	for (size_t i = 0; i < array->range_count; i++) {
		const struct strata_array_range *range = &array->ranges[i];

		buf_printf(&buf, "%s%" PRId64, i ? "," : "", range->first);
		if (range->last > range->first)
			buf_printf(&buf, "-%" PRId64, range->last);
		if (range->last > range->first && range->step > 1)
			buf_printf(&buf, ":%" PRId64, range->step);
	}
	if (array->limit)
		buf_printf(&buf, "%%%" PRId64, array->limit);
	return slurm_keep(&buf, arena, ret_text, err);
}

int64_t strata_array_next(const struct strata_array *array, int64_t after)
{
	size_t low = 0, high = array->range_count;

	while (low < high) { /* the first range that reaches past `after` */
		size_t middle = low + (high - low) / 2;

		if (array->ranges[middle].last > after)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == array->range_count)
		return -1;
	const struct strata_array_range *range = &array->ranges[low];

	if (after < range->first)
		return range->first;
	return range->first + ((after - range->first) / range->step + 1) * range->step;
}

int64_t strata_array_step(const struct strata_array *array)
{
	const struct strata_array_range *ranges = array->ranges;

	if (array->range_count < 2)
		return array->task_count > 1 ? ranges[0].step : 1;
	int64_t step = ranges[1].first - ranges[0].last;

	for (size_t i = 0; i < array->range_count; i++)
		if (ranges[i].first != ranges[i].last ||
		    (i && ranges[i].first - ranges[i - 1].last != step))
			return 1;
	return step;
}
