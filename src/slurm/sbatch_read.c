/*
 * How the value of each option reaches the request: one small reader per kind of value, named in
 * the rows of sbatch_rows.c. A reader checks its own value only; what follows from several
 * options together is settled at the end (sbatch_check.c).
 */
#include "slurm/sbatch_int.h"

#include "core/text.h"
#include "slurm/slurm_value.h"

#include <errno.h>
#include <string.h>

static struct sbatch_reading *batch(struct slurm_reading *reading)
{
	return container_of(reading, struct sbatch_reading, base);
}

static int fail_value(const struct slurm_row *row, struct strata_error *err)
{
	return strata_fail_at(err, -EINVAL, row->option.name, "Invalid --%s specification",
			      row->option.name);
}

static int keep_text(struct slurm_reading *reading, const char *value, const char **ret_text,
		     struct strata_error *err)
{
	const char *copy = strata_arena_text(reading->arena, value, strlen(value));

	if (!copy)
		return strata_fail_memory(err);
	*ret_text = copy;
	return 0;
}

/* A whole number from 1, as Slurm's parse_int; larger ones than it can hold are refused. */
static int parse_count(const struct slurm_row *row, const char *value, int64_t min,
		       int64_t *ret_count, struct strata_error *err)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	if (strata_int_parse(value, STRATA_TEXT_NUL, min, INT32_MAX, ret_count, NULL) == 0)
		return 0;
	text_excerpt(value, strlen(value), excerpt);
	return strata_fail_at(err, -EBADMSG, row->option.name,
			      "Invalid numeric value \"%s\" for --%s.", excerpt, row->option.name);
}

int sbatch_read_count(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	/* --ntasks-per-tres says gpu:N as well. */
	if (strncmp(value, "gpu:", 4) == 0 && strcmp(row->option.name, "ntasks-per-tres") == 0)
		value += 4;
	return parse_count(row, value, 1, slurm_row_field(reading, row), err);
}

int sbatch_read_memory(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err)
{
	int64_t *bytes = slurm_row_field(reading, row);
	int which = bytes == &batch(reading)->job.mem_bytes           ? SBATCH_MEM_NODE
		    : bytes == &batch(reading)->job.mem_per_cpu_bytes ? SBATCH_MEM_CPU
								      : SBATCH_MEM_GPU;

	if (strata_slurm_memory_parse(value, STRATA_TEXT_NUL, bytes, NULL))
		return fail_value(row, err);
	if (bytes == &batch(reading)->job.tmp_bytes)
		return 0;
	if (reading->from_env)
		batch(reading)->mem_by_env[which] = true;
	else
		batch(reading)->mem_by_word[which] = true;
	return 0;
}

int sbatch_read_limit(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	if (strata_slurm_time_parse(value, STRATA_TEXT_NUL, slurm_row_field(reading, row), NULL))
		return fail_value(row, err);
	return 0;
}

int sbatch_read_begin(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	if (*value == '\0')
		return fail_value(row, err);
	if (strata_begin_parse(value, STRATA_TEXT_NUL, batch(reading)->in->now_ns,
			       batch(reading)->in->zone_seconds, slurm_row_field(reading, row),
			       NULL) == 0)
		return 0;
	text_excerpt(value, strlen(value), excerpt);
	return strata_fail_at(err, -EINVAL, row->option.name,
			      "Invalid time specification (pos=0): %s; Invalid --%s specification",
			      excerpt, row->option.name);
}

int sbatch_read_nodes(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	int rc = slurm_nodes_parse(value, &batch(reading)->job.nodes,
				   &batch(reading)->job.nodes_max, err);

	if (rc == 0)
		batch(reading)->nodes_given = true;
	return rc;
}

/* GPUs, arrays and dependencies are looked into at the end: Slurm's client leaves them to others, so
 * that only the last value given counts and every other mistake is reported first. */
int sbatch_read_gpus(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	struct strata_sbatch_gpus *gpus = slurm_row_field(reading, row);

	return keep_text(reading, value, &gpus->text, err);
}

int sbatch_read_array(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	return keep_text(reading, value, &batch(reading)->array, err);
}

int sbatch_read_dependency(struct slurm_reading *reading, const struct slurm_row *row,
			   const char *value, struct strata_error *err)
{
	return keep_text(reading, value, &batch(reading)->dependency, err);
}

int sbatch_read_signal(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err)
{
	return slurm_signal_parse(value, &batch(reading)->job.signal) ? 0 : fail_value(row, err);
}

/* Several add up, as in Slurm. */
int sbatch_read_mail(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	unsigned types;

	if (!slurm_mail_parse(value, &types))
		return fail_value(row, err);
	batch(reading)->job.mail_types |= types;
	return 0;
}

int sbatch_read_exclusive(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	if (!value || text_same(value, strlen(value), "exclusive"))
		batch(reading)->job.share = STRATA_SBATCH_EXCLUSIVE;
	else if (text_same(value, strlen(value), "user"))
		batch(reading)->job.share = STRATA_SBATCH_EXCLUSIVE_USER;
	else if (text_same(value, strlen(value), "mcs"))
		batch(reading)->job.share = STRATA_SBATCH_EXCLUSIVE_MCS;
	else
		return fail_value(row, err);
	return 0;
}

int sbatch_read_oversubscribe(struct slurm_reading *reading, const struct slurm_row *row,
			      const char *value, struct strata_error *err)
{
	batch(reading)->job.share = STRATA_SBATCH_SHARE_NODE;
	return 0;
}

int sbatch_read_requeue(struct slurm_reading *reading, const struct slurm_row *row,
			const char *value, struct strata_error *err)
{
	batch(reading)->job.requeue = 1;
	return 0;
}

int sbatch_read_no_requeue(struct slurm_reading *reading, const struct slurm_row *row,
			   const char *value, struct strata_error *err)
{
	batch(reading)->job.requeue = 0;
	return 0;
}

int sbatch_read_nice(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	const int64_t most = 2147483645, without_value = 100;
	int64_t nice = without_value;
	int rc = value ? strata_int_parse(value, STRATA_TEXT_NUL, -most, most, &nice, NULL) : 0;

	if (rc == -ERANGE)
		return strata_fail_at(err, -EINVAL, row->option.name,
				      "Invalid --nice value, out of range (+/- 2147483645)");
	if (rc)
		return fail_value(row, err);
	batch(reading)->job.nice = nice;
	batch(reading)->job.nice_given = true;
	return 0;
}

int sbatch_read_priority(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	if (text_same(value, strlen(value), "top"))
		batch(reading)->job.priority = STRATA_SBATCH_PRIORITY_TOP;
	else if (strata_int_parse(value, STRATA_TEXT_NUL, 0, STRATA_SBATCH_PRIORITY_TOP - 1,
				  &batch(reading)->job.priority, NULL))
		return fail_value(row, err);
	return 0;
}

int sbatch_read_open_mode(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	if (*value == 'a' || *value == 'A')
		batch(reading)->job.open_mode = STRATA_SBATCH_OPEN_APPEND;
	else if (*value == 't' || *value == 'T')
		batch(reading)->job.open_mode = STRATA_SBATCH_OPEN_TRUNCATE;
	else
		return fail_value(row, err);
	return 0;
}

int sbatch_read_yes_no(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err)
{
	bool yes = text_same(value, strlen(value), "yes");

	if (!yes && !text_same(value, strlen(value), "no"))
		return fail_value(row, err);
	batch(reading)->job.kill_on_invalid_dep = yes;
	batch(reading)->job.kill_on_invalid_dep_given = true;
	return 0;
}

/* Without a value it is yes. */
int sbatch_read_not_zero(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	*(bool *)slurm_row_field(reading, row) = !value || strcmp(value, "0") != 0;
	return 0;
}

/* Where the item of a list of variables ends: at a comma outside quotes. */
static size_t item_length(const char *text)
{
	size_t length = 0;
	char quote = 0;

	for (; text[length] && (quote || text[length] != ','); length++) {
		if (quote && text[length] == quote)
			quote = 0;
		else if (!quote && (text[length] == '"' || text[length] == '\''))
			quote = text[length];
	}
	return length;
}

/* ALL, NONE (or NIL), and names or assignments; a list without ALL exports only what it names. */
int sbatch_read_export(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err)
{
	struct strata_sbatch *job = &batch(reading)->job;
	size_t room = 1;

	for (const char *p = value; *p; p++)
		room += *p == ',';
	const char **items = strata_arena_array(reading->arena, room, sizeof(*items));

	if (!items)
		return strata_fail_memory(err);
	job->export_items = items;
	job->export_count = 0;
	job->export_mode = STRATA_SBATCH_EXPORT_NONE;
	for (const char *item = value;; item++) {
		size_t length = item_length(item);

		if (text_same(item, length, "all"))
			job->export_mode = STRATA_SBATCH_EXPORT_ALL;
		else if (length > 0 && !text_same(item, length, "none") &&
			 !text_same(item, length, "nil")) {
			items[job->export_count] = strata_arena_text(reading->arena, item, length);
			if (!items[job->export_count++])
				return strata_fail_memory(err);
		}
		item += length;
		if (*item == '\0')
			return 0;
	}
}

int sbatch_read_input(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	batch(reading)->job.input = NULL;
	return text_same(value, strlen(value), "none")
		       ? 0
		       : keep_text(reading, value, &batch(reading)->job.input, err);
}

int sbatch_check_count(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err)
{
	int64_t count;

	return parse_count(row, value, 1, &count, err);
}

int sbatch_check_wait_all(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	int64_t count;
	int rc = parse_count(row, value, 0, &count, err);

	return rc == 0 && count > 1 ? fail_value(row, err) : rc;
}
