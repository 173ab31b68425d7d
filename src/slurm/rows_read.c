/*
 * Values of options into the fields of a struct, as their rows say; variables first, so that words win. An option without effect is
 * remembered, once, so that the command can warn of it.
 */
#include "slurm/rows.h"

#include "core/text.h"
#include "slurm/slurm_value.h"

#include <errno.h>
#include <string.h>

int slurm_reading_init(struct slurm_reading *reading, const struct slurm_syntax *syntax,
		       struct strata_arena *arena, void *into, struct strata_error *err)
{
	size_t count = 1;

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));)
		count++;
	*reading = (struct slurm_reading){ .syntax = syntax, .arena = arena, .into = into };
	reading->ignored = strata_arena_array(arena, count, sizeof(*reading->ignored));
	return reading->ignored ? 0 : strata_fail_memory(err);
}

/* Its last value counts. */
static int remember_ignored(struct slurm_reading *reading, const struct slurm_row *row,
			    const char *value, struct strata_error *err)
{
	const char *copy = value ? strata_arena_text(reading->arena, value, strlen(value)) : NULL;
	size_t i = 0;

	if (value && !copy)
		return strata_fail_memory(err);
	while (i < reading->ignored_count && reading->ignored[i].name != row->option.name)
		i++;
	reading->ignored[i] = (struct strata_sbatch_ignored){ row->option.name, copy };
	reading->ignored_count += i == reading->ignored_count;
	return 0;
}

int slurm_row_read(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		   struct strata_error *err)
{
	if (value && strlen(value) > STRATA_SLURM_VALUE_BYTES_MAX)
		return strata_fail_at(err, -E2BIG, row->option.name,
				      "--%s has a value of more than %d bytes", row->option.name,
				      STRATA_SLURM_VALUE_BYTES_MAX);
	if (row->option.effect == STRATA_SLURM_REFUSED && !row->read)
		return strata_fail_at(err, -EOPNOTSUPP, row->option.name,
				      "--%s is not supported here; --help lists what is",
				      row->option.name);
	int rc = row->read ? row->read(reading, row, value, err) : 0;

	if (rc == 0 && row->option.effect == STRATA_SLURM_IGNORED)
		rc = remember_ignored(reading, row, value, err);
	return rc;
}

/* ---- variables ---- */

static const char *variable(const char *const *env, const char *name)
{
	size_t length = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
			return *env + length + 1;
	return NULL;
}

/* Of options without a value: nothing, yes or a number other than 0 means that it is set. */
static bool means_yes(const char *value)
{
	int64_t number;

	return *value == '\0' || text_same(value, strlen(value), "yes") ||
	       (strata_int_parse(value, STRATA_TEXT_NUL, INT64_MIN, INT64_MAX, &number, NULL) ==
			0 &&
		number != 0);
}

static int read_variable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	if (row->option.argument == STRATA_SLURM_NONE) {
		bool set = !reading->syntax->env_tells || means_yes(value);

		return set ? slurm_row_read(reading, row, NULL, err) : 0;
	}
	if (row->option.argument == STRATA_SLURM_OPTIONAL && *value == '\0')
		value = NULL;
	return slurm_row_read(reading, row, value, err);
}

int slurm_rows_read_env(struct slurm_reading *reading, const char *const *env,
			struct strata_error *err)
{
	int rc = 0;

	reading->from_env = true;
	for (const struct slurm_row *row = NULL;
	     rc == 0 && (row = slurm_row_next(reading->syntax, row));) {
		const char *value = row->option.env ? variable(env, row->option.env) : NULL;

		if (value)
			rc = read_variable(reading, row, value, err);
	}
	reading->from_env = false;
	return rc;
}

/* ---- words ---- */

int slurm_rows_read_words(struct slurm_reading *reading, const char *const *list, size_t count,
			  struct strata_error *err)
{
	struct slurm_words words = { .syntax = reading->syntax, .words = list, .count = count };
	const struct slurm_row *row;
	const char *value;

	reading->operands = strata_arena_array(reading->arena, count, sizeof(*words.operands));
	if (!reading->operands)
		return strata_fail_memory(err);
	if (!reading->syntax->stops)
		words.operands = reading->operands;
	do {
		int rc = slurm_words_next(&words, &row, &value, err);

		if (rc == 0 && row)
			rc = slurm_row_read(reading, row, value, err);
		if (rc)
			return rc;
	} while (row && !reading->ended);
	while (words.at < count)
		reading->operands[words.operand_count++] = list[words.at++];
	reading->operand_count = words.operand_count;
	return 0;
}

int slurm_rows_warning(const struct slurm_reading *reading, const char **ret_text,
		       struct strata_error *err)
{
	struct buf buf;

	if (reading->ignored_count == 0) {
		*ret_text = NULL;
		return 0;
	}
	buf_init(&buf, reading->arena->memory, 0);
	for (size_t i = 0; i < reading->ignored_count; i++)
		buf_printf(&buf, "%s--%s", i ? ", " : "no effect here: ", reading->ignored[i].name);
	return slurm_keep(&buf, reading->arena, ret_text, err);
}

/* ---- readers ---- */

int slurm_read_text(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		    struct strata_error *err)
{
	const char *text = value ? value : row->text, *copy = NULL;

	if (text) {
		copy = strata_arena_text(reading->arena, text, strlen(text));
		if (!copy)
			return strata_fail_memory(err);
	}
	*(const char **)slurm_row_field(reading, row) = copy;
	return 0;
}

int slurm_read_flag(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		    struct strata_error *err)
{
	*(bool *)slurm_row_field(reading, row) = true;
	return 0;
}

int slurm_read_tally(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	++*(int64_t *)slurm_row_field(reading, row);
	return 0;
}

int slurm_read_end(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		   struct strata_error *err)
{
	reading->ended = row;
	return 0;
}
