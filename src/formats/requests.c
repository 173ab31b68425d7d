/* The reader of requests.h: columns are found once, texts become numbers through maps, rows are
 * sorted at the end. */
#include "formats/requests.h"

#include "core/map.h"
#include "formats/csv.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Texts in the order of their first appearance. A map's values are not NULL: index + 1. */
struct texts {
	struct map_text map;
	const char **names; /* room for one per row */
	size_t count;
};

struct reader {
	struct csv csv;
	struct strata_arena *arena;
	int arrival, exec, user, account, model, shape, steps, images, priority, memory, deadline,
		cost;
	struct texts users, accounts, models, shapes;
};

static int number_text(struct reader *reader, struct texts *texts, const char *text, size_t length,
		       uint32_t *ret_number)
{
	uintptr_t known = (uintptr_t)map_text_get(&texts->map, text, length);

	if (!known) {
		char *copy = strata_arena_text(reader->arena, text, length);

		if (!copy)
			return -ENOMEM;
		texts->names[texts->count] = copy;
		known = ++texts->count;
		if (map_text_put(&texts->map, text, length, (void *)known, NULL))
			return -ENOMEM;
	}
	*ret_number = (uint32_t)(known - 1);
	return 0;
}

static int number_field(struct reader *reader, struct texts *texts, int column,
			uint32_t *ret_number)
{
	struct csv_field field = csv_field(&reader->csv, column);

	return number_text(reader, texts, field.text ? field.text : "", field.length, ret_number);
}

/* What may share a batch: the column, or else the sizes that a picture has. */
static int number_shape(struct reader *reader, uint32_t *ret_number)
{
	if (reader->shape != CSV_NONE)
		return number_field(reader, &reader->shapes, reader->shape, ret_number);
	struct csv_field steps = csv_field(&reader->csv, reader->steps);
	struct csv_field images = csv_field(&reader->csv, reader->images);
	const char *both = strata_arena_printf(reader->arena, "%.*s/%.*s", (int)steps.length,
					       steps.text ? steps.text : "", (int)images.length,
					       images.text ? images.text : "");

	return both ? number_text(reader, &reader->shapes, both, strlen(both), ret_number)
		    : -ENOMEM;
}

static void find_columns(struct reader *reader)
{
	const struct csv *csv = &reader->csv;

	reader->user = csv_find_optional(csv, "user");
	reader->account = csv_find_optional(csv, "account");
	reader->model = csv_find_optional(csv, "model");
	reader->shape = csv_find_optional(csv, "shape");
	reader->steps = csv_find_optional(csv, "steps");
	reader->images = csv_find_optional(csv, "n_images");
	reader->priority = csv_find_optional(csv, "priority");
	reader->memory = csv_find_optional(csv, "memory_mib");
	reader->deadline = csv_find_optional(csv, "deadline_s");
	reader->cost = csv_find_optional(csv, "cost_s");
}

/* Seconds above 0, or `otherwise` where the field is empty or not above 0. */
static int read_length(const struct reader *reader, int column, int64_t otherwise, int64_t *ret_ns,
		       struct strata_error *err)
{
	struct csv_field field = csv_field(&reader->csv, column);
	int64_t ns = 0;
	int rc = 0;

	if (field.length > 0 && field.text[0] != '-')
		rc = csv_seconds(&reader->csv, column, STRATA_TASK_COST_NS_MAX, &ns, err);
	if (rc == 0)
		*ret_ns = ns > 0 ? ns : otherwise;
	return rc;
}

static int read_texts(struct reader *reader, struct request *row, struct strata_error *err)
{
	int rc = number_field(reader, &reader->users, reader->user, &row->user);

	if (rc == 0)
		rc = number_field(reader, &reader->models, reader->model, &row->model);
	if (rc == 0)
		rc = number_shape(reader, &row->shape);
	row->account = UINT32_MAX;
	if (rc == 0 && csv_field(&reader->csv, reader->account).length > 0)
		rc = number_field(reader, &reader->accounts, reader->account, &row->account);
	return rc ? strata_fail_memory(err) : 0;
}

static int read_row(struct reader *reader, struct request *row, struct strata_error *err)
{
	const struct csv *csv = &reader->csv;
	int64_t steps = 0;
	int rc = csv_seconds(csv, reader->arrival, STRATA_DURATION_NS_MAX, &row->arrival_ns, err);

	if (rc == 0)
		rc = read_length(reader, reader->exec, STRATA_SECOND_NS, &row->exec_ns, err);
	if (rc == 0)
		rc = read_length(reader, reader->cost, row->exec_ns, &row->cost_ns, err);
	if (rc == 0)
		rc = read_length(reader, reader->deadline, 0, &row->deadline_ns, err);
	if (rc == 0)
		rc = csv_int_or(csv, reader->steps, 0, STRATA_TASK_STEPS_MAX, 0, &steps, err);
	if (rc == 0)
		rc = csv_int_or(csv, reader->priority, STRATA_PRIORITY_MIN, STRATA_PRIORITY_MAX,
				INT64_MIN, &row->priority, err);
	if (rc == 0)
		rc = csv_int_or(csv, reader->memory, 0, STRATA_TASK_MEMORY_BYTES_MAX >> 20, 0,
				&row->memory_mib, err);
	row->steps = (uint32_t)steps;
	return rc ? rc : read_texts(reader, row, err);
}

static void read_values(const struct csv *csv, double *values)
{
	for (size_t i = 0; i < csv->column_count; i++) {
		struct csv_field field = csv_field(csv, (int)i);

		if (field.length == 0 ||
		    strata_real_parse(field.text, field.length, &values[i], NULL))
			values[i] = (double)NAN;
	}
}

static int by_arrival(const void *a_any, const void *b_any)
{
	const struct request *a = a_any, *b = b_any;

	if (a->arrival_ns != b->arrival_ns)
		return a->arrival_ns < b->arrival_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static void sort_rows(struct requests *requests)
{
	qsort(requests->rows, requests->count, sizeof(requests->rows[0]), by_arrival);
	for (size_t i = requests->count; i-- > 0;)
		requests->rows[i].arrival_ns -= requests->rows[0].arrival_ns;
}

static int read_rows(struct reader *reader, struct requests *requests, struct strata_error *err)
{
	struct csv *csv = &reader->csv;
	bool more;
	int rc;

	while ((rc = csv_next(csv, &more, err)) == 0 && more) {
		struct request *row = &requests->rows[requests->count];

		rc = read_row(reader, row, err);
		if (rc)
			return rc;
		row->row = (uint32_t)requests->count;
		read_values(csv, requests->values + requests->count * csv->column_count);
		requests->count++;
	}
	return rc;
}

/* Arrays for as many rows as there are. */
static int make_arrays(struct reader *reader, struct requests *requests)
{
	struct texts *const all[] = { &reader->users, &reader->accounts, &reader->models,
				      &reader->shapes };
	struct csv *csv = &reader->csv;
	size_t rows = csv->row_count;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i]->names = strata_arena_array(reader->arena, rows, sizeof(char *));
		if (!all[i]->names)
			return -ENOMEM;
	}
	requests->rows = strata_arena_array(reader->arena, rows, sizeof(struct request));
	requests->values =
		strata_arena_array(reader->arena, rows * csv->column_count, sizeof(double));
	requests->columns = strata_arena_array(reader->arena, csv->column_count, sizeof(char *));
	requests->column_count = csv->column_count;
	if (!requests->rows || !requests->values || !requests->columns)
		return -ENOMEM;
	for (size_t i = 0; i < csv->column_count; i++) {
		requests->columns[i] =
			strata_arena_text(reader->arena, csv->names[i].text, csv->names[i].length);
		if (!requests->columns[i])
			return -ENOMEM;
	}
	return 0;
}

static int read_table(struct reader *reader, const char *text, size_t length,
		      struct requests *requests, struct strata_error *err)
{
	int rc = csv_init(&reader->csv, text, length, reader->arena, err);

	if (rc == 0)
		rc = csv_find(&reader->csv, "arrival_s", &reader->arrival, err);
	if (rc == 0)
		rc = csv_find(&reader->csv, "exec_s", &reader->exec, err);
	if (rc)
		return rc;
	find_columns(reader);
	if (make_arrays(reader, requests))
		return strata_fail_memory(err);
	return read_rows(reader, requests, err);
}

int requests_read(const char *text, size_t length, struct strata_arena *arena,
		  struct requests *ret_requests, struct strata_error *err)
{
	struct reader reader = { .arena = arena };
	struct texts *const all[] = { &reader.users, &reader.accounts, &reader.models,
				      &reader.shapes };
	struct requests requests = { 0 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		map_text_init(&all[i]->map, arena->memory);
	int rc = read_table(&reader, text, length, &requests, err);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		map_text_fini(&all[i]->map);
	if (rc)
		return rc;
	sort_rows(&requests);
	requests.users = reader.users.names;
	requests.user_count = reader.users.count;
	requests.accounts = reader.accounts.names;
	requests.account_count = reader.accounts.count;
	requests.shape_count = reader.shapes.count;
	*ret_requests = requests;
	return 0;
}

double requests_load(const struct requests *requests, int64_t workers)
{
	double work = 0;

	for (size_t i = 0; i < requests->count; i++)
		work += (double)requests->rows[i].exec_ns;
	double span = requests->count ? (double)requests->rows[requests->count - 1].arrival_ns : 0;

	return span > 0 ? work / span / (double)workers : 0;
}

void requests_scale(struct requests *requests, int64_t workers, double load)
{
	double now = requests_load(requests, workers), factor = load > 0 ? now / load : 1;

	for (size_t i = 0; i < requests->count; i++)
		requests->rows[i].arrival_ns =
			(int64_t)((double)requests->rows[i].arrival_ns * factor + 0.5);
}

bool requests_number(const struct requests *requests, const struct request *request,
		     const char *name, double *ret_value)
{
	for (size_t i = 0; i < requests->column_count; i++) {
		if (strcmp(requests->columns[i], name) != 0)
			continue;
		double value = requests->values[request->row * requests->column_count + i];

		if (isnan(value))
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}
