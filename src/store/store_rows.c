/*
 * The tables as data: for each kind of row its columns, their types and where they lie in the
 * struct. From this come the statements that put and delete a row, its values on the way in and its
 * fields on the way out, so a new column is one line here, one field in store.h and one migration.
 */
#include "store/store_int.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COLUMN(row, field, column, type, required)                          \
	{                                                                   \
		column, offsetof(struct store_##row, field), type, required \
	}
#define INT(row, field, column) COLUMN(row, field, column, STORE_INT, false)
#define ID(row, field, column) COLUMN(row, field, column, STORE_INT, true)
#define REAL(row, field, column) COLUMN(row, field, column, STORE_REAL, false)
#define TEXT(row, field, column) COLUMN(row, field, column, STORE_TEXT, true)
#define MAYBE(row, field, column) COLUMN(row, field, column, STORE_TEXT, false)

/* clang-format off */
static const struct store_column blob_columns[] = {
	TEXT(blob, hash, "hash"),
	COLUMN(blob, bytes, "bytes", STORE_BYTES, true),
};

static const struct store_column job_columns[] = {
	ID(job, id, "id"),
	TEXT(job, uuid, "uuid"),
	TEXT(job, user, "user_id"),
	INT(job, uid, "uid"),
	INT(job, gid, "gid"),
	MAYBE(job, account, "account"),
	MAYBE(job, partition, "partition_name"),
	MAYBE(job, qos, "qos"),
	MAYBE(job, name, "job_name"),
	TEXT(job, state, "state"),
	MAYBE(job, reason, "reason"),
	INT(job, band, "band"),
	INT(job, priority, "priority"),
	INT(job, gpu_count, "gpu_count"),
	MAYBE(job, gpu_type, "gpu_type"),
	INT(job, cpu_cores, "cpu_cores"),
	INT(job, memory_bytes, "memory_bytes"),
	TEXT(job, command, "command"),
	MAYBE(job, working_dir, "working_dir"),
	INT(job, created_ns, "created_at"),
	INT(job, eligible_ns, "eligible_at"),
	INT(job, scheduled_ns, "scheduled_at"),
	INT(job, started_ns, "started_at"),
	INT(job, completed_ns, "completed_at"),
	INT(job, time_limit_ns, "time_limit"),
	INT(job, attempt, "attempt"),
	INT(job, exit_code, "exit_code"),
	INT(job, exit_signal, "exit_signal"),
	INT(job, array_id, "array_id"),
	INT(job, array_index, "array_index"),
	INT(job, gang_id, "gang_id"),
	MAYBE(job, spec, "spec"),
	MAYBE(job, script, "script"),
	MAYBE(job, environment, "environment"),
	MAYBE(job, place, "place"),
	MAYBE(job, request_key, "request_key"),
	MAYBE(job, comment, "comment"),
	MAYBE(job, stopping, "stopping"),
	INT(job, preempted, "preempted"),
	MAYBE(job, ran_on, "ran_on"),
	MAYBE(job, cancelled_by, "cancelled_by"),
	MAYBE(job, failure, "failure"),
	INT(job, user_ns, "cpu_user"),
	INT(job, system_ns, "cpu_system"),
	INT(job, memory_peak_bytes, "memory_peak"),
	INT(job, elements, "elements"),
	INT(job, index_step, "index_step"),
};

static const struct store_column step_columns[] = {
	ID(step, job, "job"),
	INT(step, number, "number"),
	MAYBE(step, name, "name"),
	TEXT(step, state, "state"),
	MAYBE(step, command, "command"),
	MAYBE(step, place, "place"),
	INT(step, started_ns, "started_at"),
	INT(step, completed_ns, "completed_at"),
	INT(step, exit_code, "exit_code"),
	INT(step, exit_signal, "exit_signal"),
	INT(step, user_ns, "cpu_user"),
	INT(step, system_ns, "cpu_system"),
	INT(step, memory_peak_bytes, "memory_peak"),
};

static const struct store_column array_columns[] = {
	ID(array, id, "id"),
	TEXT(array, user, "user_id"),
	INT(array, task_count, "task_count"),
	INT(array, running_max, "running_max"),
	INT(array, created_ns, "created_at"),
	MAYBE(array, indexes, "indexes"),
};

static const struct store_column event_columns[] = {
	ID(event, sequence, "sequence"),
	INT(event, at_ns, "happened_at"),
	INT(event, job, "job"),
	TEXT(event, kind, "kind"),
	MAYBE(event, about, "about"),
};

static const struct store_column usage_columns[] = {
	TEXT(usage, account, "account"),
	TEXT(usage, user, "user_id"),
	INT(usage, from_ns, "from_at"),
	REAL(usage, amount, "amount"),
	REAL(usage, gpu_seconds, "gpu_seconds"),
	REAL(usage, cpu_seconds, "cpu_seconds"),
	REAL(usage, memory_byte_seconds, "memory_byte_seconds"),
	INT(usage, job_count, "job_count"),
	INT(usage, updated_ns, "updated_at"),
};

static const struct store_column entity_columns[] = {
	TEXT(entity, kind, "kind"),
	TEXT(entity, name, "name"),
	MAYBE(entity, parent, "parent"),
	MAYBE(entity, settings, "settings"),
};

static const struct store_column token_columns[] = {
	TEXT(token, id, "id"),
	TEXT(token, hash, "hash"),
	TEXT(token, user, "user_id"),
	TEXT(token, role, "role"),
	INT(token, created_ns, "created_at"),
	INT(token, expires_ns, "expires_at"),
	INT(token, revoked_ns, "revoked_at"),
	INT(token, used_ns, "used_at"),
	MAYBE(token, comment, "comment"),
	MAYBE(token, made_by, "made_by"),
};

static const struct store_column node_columns[] = {
	TEXT(node, name, "name"),
	TEXT(node, state, "state"),
	MAYBE(node, reason, "reason"),
	INT(node, since_ns, "since_at"),
	MAYBE(node, settings, "settings"),
};

static const struct store_column reservation_columns[] = {
	TEXT(reservation, name, "name"),
	INT(reservation, begin_ns, "begin_at"),
	INT(reservation, end_ns, "end_at"),
	MAYBE(reservation, settings, "settings"),
};

static const struct store_column checkpoint_columns[] = {
	ID(checkpoint, job, "job"),
	INT(checkpoint, rank, "rank"),
	TEXT(checkpoint, path, "path"),
	INT(checkpoint, size_bytes, "size_bytes"),
	INT(checkpoint, at_ns, "taken_at"),
	INT(checkpoint, step, "step"),
};

static const struct store_column answer_columns[] = {
	TEXT(answer, user, "user_id"),
	TEXT(answer, request_key, "request_key"),
	TEXT(answer, request, "request"),
	INT(answer, created_ns, "created_at"),
	COLUMN(answer, body, "body", STORE_BYTES, true),
};

static const struct store_column task_columns[] = {
	ID(task, id, "id"),
	TEXT(task, user, "user_id"),
	INT(task, uid, "uid"),
	MAYBE(task, account, "account"),
	TEXT(task, model, "model"),
	TEXT(task, status, "status"),
	TEXT(task, parameters, "parameters"),
	INT(task, priority, "priority"),
	INT(task, deadline_ns, "deadline_at"),
	INT(task, created_ns, "created_at"),
	INT(task, started_ns, "started_at"),
	INT(task, ended_ns, "ended_at"),
	INT(task, steps, "steps"),
	INT(task, steps_done, "steps_done"),
	INT(task, attempts, "attempts"),
	INT(task, seed, "seed"),
	MAYBE(task, error, "error"),
	MAYBE(task, cancelled_by, "cancelled_by"),
	INT(task, cost_ns, "cost"),
	MAYBE(task, images, "images"),
};

static const struct store_column model_columns[] = {
	TEXT(model, name, "name"),
	TEXT(model, settings, "settings"),
	INT(model, paused, "paused"),
	INT(model, created_ns, "created_at"),
};

static const struct store_column result_columns[] = {
	TEXT(result, hash, "hash"),
	ID(result, task, "task"),
	INT(result, size_bytes, "size_bytes"),
};

static const struct store_column worker_columns[] = {
	ID(worker, job, "job"),
	TEXT(worker, model, "model"),
	INT(worker, created_ns, "created_at"),
};

static const struct store_column delivery_columns[] = {
	TEXT(delivery, id, "id"),
	TEXT(delivery, user, "user_id"),
	TEXT(delivery, event, "event"),
	TEXT(delivery, url, "url"),
	TEXT(delivery, body, "body"),
	MAYBE(delivery, error, "error"),
	INT(delivery, attempts, "attempts"),
	INT(delivery, created_ns, "created_at"),
	INT(delivery, due_ns, "due_at"),
};

static const struct store_column samples_columns[] = {
	ID(samples, job, "job"),
	INT(samples, attempt, "attempt"),
	INT(samples, started_ns, "started_at"),
	TEXT(samples, points, "points"),
};

static const struct store_column figure_columns[] = {
	TEXT(figure, kind, "kind"),
	TEXT(figure, of, "of_what"),
	INT(figure, day, "day"),
	REAL(figure, median, "median"),
	REAL(figure, low, "low"),
	REAL(figure, high, "high"),
	INT(figure, count, "value_count"),
	MAYBE(figure, sketch, "sketch"),
};

#define OF_LIVE_JOBS "job IN (SELECT id FROM jobs WHERE completed_at = 0)"
#define TABLE(row, keys, ...) { \
	.row_bytes = sizeof(struct store_##row), .columns = row##_columns, \
	.column_count = COUNT(row##_columns), .key_count = (keys), __VA_ARGS__ }

static const struct store_table tables[STORE_ROW_COUNT] = {
	[STORE_BLOB] = TABLE(blob, 1, .name = "blobs", .kept = true, .immutable = true),
	[STORE_JOB] = TABLE(job, 1, .name = "jobs", .kept = true, .live = "completed_at = 0"),
	[STORE_STEP] = TABLE(step, 2, .name = "steps", .job = "job", .live = OF_LIVE_JOBS),
	[STORE_ARRAY] = TABLE(array, 1, .name = "arrays", .kept = true,
			.live = "id IN (SELECT array_id FROM jobs WHERE completed_at = 0 AND array_id > 0)"),
	[STORE_EVENT] = TABLE(event, 1, .name = "events", .kept = true, .job = "job", .live = OF_LIVE_JOBS),
	[STORE_USAGE] = TABLE(usage, 3, .name = "usage"),
	[STORE_ENTITY] = TABLE(entity, 2, .name = "parties"),
	[STORE_TOKEN] = TABLE(token, 1, .name = "tokens"),
	[STORE_NODE] = TABLE(node, 1, .name = "nodes"),
	[STORE_RESERVATION] = TABLE(reservation, 1, .name = "reservations"),
	[STORE_CHECKPOINT] = TABLE(checkpoint, 2, .name = "checkpoints", .job = "job", .live = OF_LIVE_JOBS),
	[STORE_ANSWER] = TABLE(answer, 2, .name = "answers", .kept = true),
	[STORE_TASK] = TABLE(task, 1, .name = "tasks", .kept = true, .live = "ended_at = 0"),
	[STORE_MODEL] = TABLE(model, 1, .name = "models"),
	[STORE_RESULT] = TABLE(result, 2, .name = "results"),
	[STORE_WORKER] = TABLE(worker, 1, .name = "workers"),
	[STORE_DELIVERY] = TABLE(delivery, 1, .name = "deliveries"),
	[STORE_SAMPLES] = TABLE(samples, 1, .name = "samples", .job = "job", .live = OF_LIVE_JOBS),
	[STORE_FIGURE] = TABLE(figure, 3, .name = "figures"),
};
/* clang-format on */

_Static_assert(COUNT(job_columns) <= STORE_VALUES_MAX, "a job fits into the values of a statement");

const struct store_table *store_table(enum store_row kind)
{
	return &tables[kind];
}

/* ---- values ---- */

struct store_value store_text_of(const char *text)
{
	return (struct store_value){ .type = STORE_TEXT,
				     .null = !text,
				     .bytes = text,
				     .size_bytes = text ? strlen(text) : 0 };
}

static struct store_value value_of(const struct store_column *column, const void *row)
{
	const char *field = (const char *)row + column->offset;
	struct store_value value = { .type = column->type };

	switch (column->type) {
	case STORE_INT:
		value.number = *(const int64_t *)(const void *)field;
		break;
	case STORE_REAL:
		value.real = *(const double *)(const void *)field;
		break;
	case STORE_TEXT:
		return store_text_of(*(const char *const *)(const void *)field);
	case STORE_BYTES:
		value.bytes = *(const void *const *)(const void *)field;
		value.size_bytes = *(const size_t *)(const void *)(field + sizeof(void *));
		if (!value.bytes)
			value.bytes = "";
		break;
	}
	return value;
}
_Static_assert(offsetof(struct store_blob, size_bytes) ==
		       offsetof(struct store_blob, bytes) + sizeof(void *),
	       "the length lies behind the pointer");
_Static_assert(offsetof(struct store_answer, body_bytes) ==
		       offsetof(struct store_answer, body) + sizeof(void *),
	       "the length lies behind the pointer");

static int check_value(const struct store_column *column, const struct store_value *value,
		       struct strata_error *err)
{
	size_t most = column->type == STORE_BYTES ? STRATA_STORE_BLOB_BYTES_MAX
						  : STRATA_STORE_TEXT_BYTES_MAX;

	if (column->required && value->null)
		return strata_fail_at(err, -EINVAL, column->name, "%s is missing", column->name);
	if (column->required && column->type == STORE_INT && value->number <= 0)
		return strata_fail_at(err, -EINVAL, column->name,
				      "%s is %lld; expected more than 0", column->name,
				      (long long)value->number);
	if (value->size_bytes > most)
		return strata_fail_at(err, -E2BIG, column->name,
				      "%s has %zu bytes; expected up to %zu", column->name,
				      value->size_bytes, most);
	if (column->type == STORE_TEXT && !value->null &&
	    !text_valid(value->bytes, value->size_bytes))
		return strata_fail_at(err, -EINVAL, column->name, "%s is not valid UTF-8",
				      column->name);
	if (column->type == STORE_REAL && !__builtin_isfinite(value->real))
		return strata_fail_at(err, -EINVAL, column->name, "%s is not a finite number",
				      column->name);
	return 0;
}

int store_check(const struct store_table *table, const void *row, size_t count,
		struct strata_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct store_value value = value_of(&table->columns[i], row);
		int rc = check_value(&table->columns[i], &value, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

void store_values(const struct store_table *table, const void *row, size_t count,
		  struct store_value *ret_values)
{
	for (size_t i = 0; i < count; i++)
		ret_values[i] = value_of(&table->columns[i], row);
}

void store_fill(const struct store_table *table, const struct store_value *cells, void *ret_row)
{
	for (size_t i = 0; i < table->column_count; i++) {
		void *field = (char *)ret_row + table->columns[i].offset;

		switch (table->columns[i].type) {
		case STORE_INT:
			*(int64_t *)field = cells[i].number;
			break;
		case STORE_REAL:
			*(double *)field = cells[i].real;
			break;
		case STORE_BYTES:
			*(size_t *)(void *)((char *)field + sizeof(void *)) = cells[i].size_bytes;
			/* fall through */
		case STORE_TEXT:
			*(const void **)field = cells[i].null ? NULL : cells[i].bytes;
			break;
		}
	}
}

void *store_row_copy(enum store_row kind, const void *row, struct strata_arena *arena)
{
	const struct store_table *table = &tables[kind];
	char *copy = strata_arena_get(arena, table->row_bytes);

	if (!copy)
		return NULL;
	memcpy(copy, row, table->row_bytes);
	for (size_t i = 0; i < table->column_count; i++) {
		struct store_value value = value_of(&table->columns[i], row);

		if (value.type == STORE_INT || value.type == STORE_REAL || value.null)
			continue;
		char *bytes = strata_arena_text(arena, value.bytes, value.size_bytes);

		if (!bytes)
			return NULL;
		*(const char **)(void *)(copy + table->columns[i].offset) = bytes;
	}
	return copy;
}

/* ---- statements ---- */

void store_add_columns(struct buf *buf, const struct store_table *table, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(buf, "%s%s", i ? ", " : "", table->columns[i].name);
}

int store_put_sql(struct buf *buf, const struct store_table *table, struct strata_error *err)
{
	buf_printf(buf, "INSERT INTO %s (", table->name);
	store_add_columns(buf, table, table->column_count);
	buf_add(buf, ") VALUES (");
	for (size_t i = 0; i < table->column_count; i++)
		buf_printf(buf, "%s$%zu", i ? ", " : "", i + 1);
	buf_add(buf, ") ON CONFLICT (");
	store_add_columns(buf, table, table->key_count);
	buf_add(buf, table->immutable ? ") DO NOTHING" : ") DO UPDATE SET ");
	for (size_t i = table->key_count; i < table->column_count && !table->immutable; i++)
		buf_printf(buf, "%s%s = excluded.%s", i > table->key_count ? ", " : "",
			   table->columns[i].name, table->columns[i].name);
	return buf_check(buf, err);
}

int store_delete_sql(struct buf *buf, const struct store_table *table, struct strata_error *err)
{
	buf_printf(buf, "DELETE FROM %s WHERE ", table->name);
	for (size_t i = 0; i < table->key_count; i++)
		buf_printf(buf, "%s%s = $%zu", i ? " AND " : "", table->columns[i].name, i + 1);
	return buf_check(buf, err);
}
