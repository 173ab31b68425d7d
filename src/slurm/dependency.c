/*
 * Dependencies between jobs as text (<strata/slurm.h>): kinds with their jobs behind colons, joined
 * by commas (all) or question marks (any). Which jobs exist is not asked here: Slurm takes a
 * dependency on a job it does not know as met.
 */
#include <strata/slurm.h>

#include "core/text.h"
#include "slurm/slurm_value.h"

#include <errno.h>
#include <inttypes.h>

/* By number. Slurm knows expand and afterburstbuffer as well, which need what we do not have. */
static const char *const kind_names[] = {
	[STRATA_SLURM_AFTER] = "after",         [STRATA_SLURM_AFTERANY] = "afterany",
	[STRATA_SLURM_AFTERCORR] = "aftercorr", [STRATA_SLURM_AFTERNOTOK] = "afternotok",
	[STRATA_SLURM_AFTEROK] = "afterok",     [STRATA_SLURM_SINGLETON] = "singleton",
};

const char *strata_slurm_dependency_name(enum strata_slurm_dependency_kind kind)
{
	return kind_names[kind];
}

static int fail_form(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -EINVAL,
			 "is not a dependency; expected a form such as afterok:12:13, "
			 "after:12+5?afterany:14 or singleton");
}

static int read_kind(struct scan *scan, enum strata_slurm_dependency_kind *ret_kind,
		     struct strata_error *err)
{
	for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++)
		if (scan_word(scan, kind_names[i])) {
			*ret_kind = (enum strata_slurm_dependency_kind)i;
			return 0;
		}
	return fail_form(scan, err);
}

/* JOB, JOB_TASK or JOB_*, and of an "after" +MINUTES. */
static int read_job(struct scan *scan, struct strata_slurm_dependency *item,
		    struct strata_error *err)
{
	uint64_t number, minutes;

	if (!scan_digits(scan, 1, SIZE_MAX, &number) || number == 0 || number > UINT32_MAX)
		return fail_form(scan, err);
	item->job = (int64_t)number;
	if (scan_char(scan, '_')) {
		if (scan_char(scan, '*'))
			item->task = STRATA_TASK_ALL;
		else if (scan_digits(scan, 1, SIZE_MAX, &number) &&
			 number <= STRATA_ARRAY_INDEX_MAX)
			item->task = (int64_t)number;
		else
			return fail_form(scan, err);
	}
	if (item->kind == STRATA_SLURM_AFTER && scan_char(scan, '+')) {
		if (!scan_digits(scan, 1, SIZE_MAX, &minutes) ||
		    minutes > STRATA_DURATION_NS_MAX / STRATA_MINUTE_NS)
			return fail_form(scan, err);
		item->delay_ns = (int64_t)minutes * STRATA_MINUTE_NS;
	}
	return 0;
}

/* A kind and the jobs behind it. */
static int read_items(struct scan *scan, struct strata_slurm_dependencies *all,
		      struct strata_error *err)
{
	enum strata_slurm_dependency_kind kind = STRATA_SLURM_AFTER;
	int rc = read_kind(scan, &kind, err);

	if (rc)
		return rc;
	do {
		if (all->count == STRATA_DEPENDENCY_COUNT_MAX)
			return strata_fail(err, -E2BIG, "a job waits for at most %d others",
					   STRATA_DEPENDENCY_COUNT_MAX);
		struct strata_slurm_dependency *item = &all->items[all->count];

		*item = (struct strata_slurm_dependency){ .kind = kind, .task = STRATA_TASK_NONE };
		if (kind != STRATA_SLURM_SINGLETON) {
			if (!scan_char(scan, ':'))
				return fail_form(scan, err);
			rc = read_job(scan, item, err);
			if (rc)
				return rc;
		}
		all->count++;
	} while (kind != STRATA_SLURM_SINGLETON && !scan_ended(scan) && *scan->at == ':');
	return 0;
}

int strata_slurm_dependencies_parse(const char *text, size_t length, struct strata_arena *arena,
				    struct strata_slurm_dependencies *ret_dependencies,
				    struct strata_error *err)
{
	struct strata_slurm_dependencies all = { 0 };
	struct scan scan;
	size_t room = 1;

	scan_init(&scan, text, length);
	for (const char *p = scan.at; p < scan.end && room < STRATA_DEPENDENCY_COUNT_MAX; p++)
		room += *p == ':' || *p == ',' || *p == '?';
	all.items = strata_arena_array(arena, room, sizeof(*all.items));
	if (!all.items)
		return strata_fail_memory(err);
	for (bool first = true;; first = false) {
		int rc = read_items(&scan, &all, err);

		if (rc)
			return rc;
		if (scan_ended(&scan))
			break;
		bool any = *scan.at == '?';

		if ((!any && *scan.at != ',') || (!first && any != all.any))
			return fail_form(&scan, err);
		all.any = any;
		scan.at++;
	}
	*ret_dependencies = all;
	return 0;
}

int strata_slurm_dependencies_print(const struct strata_slurm_dependencies *dependencies,
				    struct strata_arena *arena, const char **ret_text,
				    struct strata_error *err)
{
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	for (size_t i = 0; i < dependencies->count; i++) {
		const struct strata_slurm_dependency *item = &dependencies->items[i];

		buf_printf(&buf, "%s%s",
			   i == 0              ? ""
			   : dependencies->any ? "?"
					       : ",",
			   kind_names[item->kind]);
		if (item->job)
			buf_printf(&buf, ":%" PRId64, item->job);
		if (item->task >= 0)
			buf_printf(&buf, "_%" PRId64, item->task);
		else if (item->task == STRATA_TASK_ALL)
			buf_add(&buf, "_*");
		if (item->delay_ns)
			buf_printf(&buf, "+%" PRId64, item->delay_ns / STRATA_MINUTE_NS);
	}
	return slurm_keep(&buf, arena, ret_text, err);
}
