/*
 * Reading: walks over a table in the order of its key, pages of the history, single rows. A walk
 * goes in chunks, each of which begins behind the key of the last row, so that neither side keeps a
 * large result and no read holds up a writer. Conditions are put together as text, values never
 * are.
 */
#include "store/store_int.h"

#include "core/text.h"
#include "store/uuid.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { CHUNK_ROWS = 1000 };

/* A statement in the making: its text and its parameters. */
struct request {
	const struct store_table *table;
	struct buf sql;
	struct store_value values[STORE_VALUES_MAX];
	size_t count;
	bool limited; /* a condition was added: the next goes behind AND */
	char pattern[2 * STRATA_NAME_BYTES_MAX + 1]; /* of LIKE */
};

static void request_init(struct request *request, struct store *store, enum store_row kind)
{
	*request = (struct request){ .table = store_table(kind) };
	buf_init(&request->sql, store->memory, 0);
	buf_add(&request->sql, "SELECT ");
	store_add_columns(&request->sql, request->table, request->table->column_count);
	buf_printf(&request->sql, " FROM %s", request->table->name);
}

static void add_where(struct request *request)
{
	buf_add(&request->sql, request->limited ? " AND " : " WHERE ");
	request->limited = true;
}

static void add_value(struct request *request, struct store_value value)
{
	assert(request->count < STORE_VALUES_MAX);
	request->values[request->count++] = value;
	buf_printf(&request->sql, "$%zu", request->count);
}

/* "column = $n", with any comparison. */
static void add_condition(struct request *request, const char *comparison, struct store_value value)
{
	add_where(request);
	buf_printf(&request->sql, "%s ", comparison);
	add_value(request, value);
}

static void add_order(struct request *request, bool descending, size_t limit)
{
	buf_add(&request->sql, " ORDER BY ");
	for (size_t i = 0; i < request->table->key_count; i++)
		buf_printf(&request->sql, "%s%s%s", i ? ", " : "", request->table->columns[i].name,
			   descending ? " DESC" : "");
	buf_add(&request->sql, " LIMIT ");
	add_value(request, STORE_INT_OF((int64_t)limit));
}

/* A row of any kind. */
union row {
	struct store_blob blob;
	struct store_job job;
	struct store_step step;
	struct store_array array;
	struct store_event event;
	struct store_usage usage;
	struct store_entity entity;
	struct store_token token;
	struct store_node node;
	struct store_reservation reservation;
	struct store_checkpoint checkpoint;
	struct store_task task;
	struct store_model model;
	struct store_result result;
	struct store_worker worker;
	struct store_delivery delivery;
	struct store_samples samples;
	struct store_figure figure;
};

struct walk {
	const struct store_table *table;
	store_each *each;
	void *context;
	size_t count;                   /* rows so far */
	const struct store_query *page; /* of jobs: elements of ranges are rows of it */
	size_t given;                   /* rows of the page so far */
	bool keep_key;                  /* of the last row of a full chunk */
	struct buf keys[3];             /* the texts of that key */
	int64_t numbers[3];             /* and its numbers */
};

static int keep_key(struct walk *walk, const struct store_value *cells, struct strata_error *err)
{
	for (size_t i = 0; i < walk->table->key_count; i++) {
		walk->numbers[i] = cells[i].number;
		if (cells[i].type != STORE_TEXT)
			continue;
		buf_reset(&walk->keys[i]);
		buf_add_bytes(&walk->keys[i], cells[i].bytes, cells[i].size_bytes);
		int rc = buf_check(&walk->keys[i], err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- ranges ---- */

static int64_t first_of(const struct store_job *row)
{
	return row->elements > 1 ? row->id - row->elements + 1 : row->id;
}

/* The element with this id, of the row that stands for it. */
static struct store_job element_of(const struct store_job *row, int64_t id,
				   char uuid[UUID_TEXT_BYTES])
{
	struct store_job element = *row;

	if (row->elements < 2)
		return element;
	element.elements = element.index_step = 0;
	element.id = id;
	element.uuid = uuid_move(row->uuid, id - row->id, uuid);
	element.array_index -= (row->id - id) * row->index_step;
	return element;
}

/* Each element of the row that the page wants, in its order. */
static int give_elements(struct walk *walk, const struct store_job *row, struct strata_error *err)
{
	const struct store_query *page = walk->page;
	int64_t first = first_of(row), last = row->id;
	char uuid[UUID_TEXT_BYTES];
	int rc = 0;

	if (page->after && page->descending && last >= page->after)
		last = page->after - 1;
	if (page->after && !page->descending && first <= page->after)
		first = page->after + 1;
	for (int64_t i = 0; rc == 0 && i <= last - first && walk->given < page->limit; i++) {
		struct store_job element =
			element_of(row, page->descending ? last - i : first + i, uuid);

		walk->given++;
		rc = walk->each(walk->context, &element, err);
	}
	return rc;
}

static int give_row(void *context, const struct store_value *cells, size_t count,
		    struct strata_error *err)
{
	struct walk *walk = context;
	union row row = { 0 };

	assert(count == walk->table->column_count);
	store_fill(walk->table, cells, &row);
	walk->count++;
	int rc = walk->page ? give_elements(walk, &row.job, err)
			    : walk->each(walk->context, &row, err);

	if (rc == 0 && walk->keep_key && walk->count % CHUNK_ROWS == 0)
		rc = keep_key(walk, cells, err);
	return rc;
}

/* Runs the request and ends it. */
static int request_run(struct request *request, struct store *store, struct walk *walk,
		       struct strata_error *err)
{
	enum store_type types[STORE_VALUES_MAX];

	for (size_t i = 0; i < request->table->column_count; i++)
		types[i] = request->table->columns[i].type;
	walk->table = request->table;
	int rc = buf_check(&request->sql, err);

	if (rc == 0)
		rc = store_ask(store, request->sql.text, request->values, request->count, types,
			       request->table->column_count, give_row, walk, err);
	buf_fini(&request->sql);
	return rc;
}

/* ---- walks ---- */

/* "(a, b) > ($1, $2)" */
static void add_beyond(struct request *request, const struct walk *walk)
{
	const struct store_table *table = request->table;

	add_where(request);
	buf_add(&request->sql, "(");
	store_add_columns(&request->sql, table, table->key_count);
	buf_add(&request->sql, ") > (");
	for (size_t i = 0; i < table->key_count; i++) {
		buf_add(&request->sql, i ? ", " : "");
		add_value(request, table->columns[i].type == STORE_TEXT
					   ? store_text_of(walk->keys[i].text)
					   : STORE_INT_OF(walk->numbers[i]));
	}
	buf_add(&request->sql, ")");
}

static int load_chunk(struct store *store, enum store_row kind, const struct store_filter *filter,
		      struct walk *walk, struct strata_error *err)
{
	const struct store_table *table = store_table(kind);
	struct request request;

	request_init(&request, store, kind);
	if (filter->live && table->live) {
		add_where(&request);
		buf_add(&request.sql, table->live);
	}
	if (filter->job && table->job)
		add_condition(&request, "job =", STORE_INT_OF(filter->job));
	if (walk->count > 0)
		add_beyond(&request, walk);
	add_order(&request, false, CHUNK_ROWS);
	return request_run(&request, store, walk, err);
}

int store_load(struct store *store, enum store_row kind, const struct store_filter *filter,
	       store_each *each, void *context, struct strata_error *err)
{
	static const struct store_filter all = { 0 };
	struct walk walk = { .each = each, .context = context, .keep_key = true };
	size_t wanted = 0;
	int rc = 0;

	assert(kind != STORE_BLOB);
	for (size_t i = 0; i < 3; i++)
		buf_init(&walk.keys[i], store->memory, 0);
	while (rc == 0 && walk.count == wanted) { /* the last chunk was full */
		wanted += CHUNK_ROWS;
		rc = load_chunk(store, kind, filter ? filter : &all, &walk, err);
	}
	for (size_t i = 0; i < 3; i++)
		buf_fini(&walk.keys[i]);
	return rc;
}

int store_last(struct store *store, enum store_row kind, int64_t *ret_number,
	       struct strata_error *err)
{
	const struct store_table *table = store_table(kind);
	char sql[96] = "SELECT max(";

	assert(kind == STORE_JOB || kind == STORE_ARRAY || kind == STORE_EVENT ||
	       kind == STORE_TASK);
	strcat(sql, table->columns[0].name);
	strcat(sql, ") FROM ");
	strcat(sql, table->name);
	return store_ask_number(store, sql, ret_number, err);
}

/* ---- pages ---- */

static int check_limit(size_t limit, struct strata_error *err)
{
	if (limit < 1 || limit > STRATA_STORE_PAGE_MAX)
		return strata_fail_at(err, -ERANGE, "limit", "limit is %zu; expected 1 to %d",
				      limit, STRATA_STORE_PAGE_MAX);
	return 0;
}

/* SQLite would find nothing, PostgreSQL refuse it in its own words. */
static int check_text(const char *name, const char *text, struct strata_error *err)
{
	if (text && !text_valid(text, strlen(text)))
		return strata_fail_at(err, -EINVAL, name, "%s is not valid UTF-8", name);
	return 0;
}

static int check_query(const struct store_query *query, struct strata_error *err)
{
	int rc = check_limit(query->limit, err);

	if (rc == 0 && query->state_count > STRATA_STORE_STATES_MAX)
		return strata_fail_at(err, -ERANGE, "states", "%zu states; expected up to %d",
				      query->state_count, STRATA_STORE_STATES_MAX);
	for (size_t i = 0; i < query->state_count && rc == 0; i++)
		rc = check_text("states", query->states[i], err);
	if (rc == 0)
		rc = check_text("user", query->user, err);
	if (rc == 0)
		rc = check_text("account", query->account, err);
	if (rc == 0)
		rc = check_text("name", query->name, err);
	if (rc == 0 && query->name && strlen(query->name) > STRATA_NAME_BYTES_MAX)
		rc = strata_fail_at(err, -ERANGE, "name", "name has %zu bytes; expected up to %d",
				    strlen(query->name), STRATA_NAME_BYTES_MAX);
	return rc < 0 ? rc : check_text("partition", query->partition, err);
}

/* The wildcards of people as those of LIKE. */
static void add_name(struct request *request, const char *wanted)
{
	size_t at = 0;

	for (; *wanted && at + 2 < sizeof(request->pattern); wanted++) {
		if (strchr("%_\\", *wanted))
			request->pattern[at++] = '\\';
		request->pattern[at++] = (char)(*wanted == '*' ? '%' : *wanted);
	}
	request->pattern[at] = '\0';
	add_condition(request, "lower(job_name) LIKE lower(", store_text_of(request->pattern));
	buf_add(&request->sql, ") ESCAPE '\\'");
}

static void add_query(struct request *request, const struct store_query *query, int64_t beyond)
{
	if (query->user)
		add_condition(request, "user_id =", store_text_of(query->user));
	if (query->account)
		add_condition(request, "account =", store_text_of(query->account));
	if (query->partition)
		add_condition(request, "partition_name =", store_text_of(query->partition));
	if (query->name)
		add_name(request, query->name);
	if (query->since_ns)
		add_condition(request, "created_at >=", STORE_INT_OF(query->since_ns));
	if (query->until_ns)
		add_condition(request, "created_at <", STORE_INT_OF(query->until_ns));
	if (query->array_id)
		add_condition(request,
			      "array_id > 0 AND array_id =", STORE_INT_OF(query->array_id));
	if (query->after)
		add_condition(request, query->descending ? "id <" : "id >", STORE_INT_OF(beyond));
	add_order(request, query->descending, query->limit);
}

/* A part of the text once more. */
static void add_again(struct request *request, size_t start, size_t length)
{
	for (size_t i = 0; i < length && !request->sql.failed; i++)
		buf_add_char(&request->sql, request->sql.text[start + i]);
}

/*
 * A page of several states: that many of each, already in order by its index, and of those the
 * first. Asked for all states at once, a database would sort all that was ever in one of them for
 * every page.
 */
static void add_states(struct request *request, const struct store_query *query, int64_t beyond)
{
	size_t rest = 0, rest_end = 0;
	int limit = 0;

	buf_add(&request->sql, " WHERE id IN (");
	for (size_t i = 0; i < query->state_count; i++) {
		buf_add(&request->sql, i ? " UNION ALL " : "");
		buf_add(&request->sql, "SELECT id FROM (SELECT id FROM jobs");
		request->limited = false;
		add_condition(request, "state =", store_text_of(query->states[i]));
		if (i == 0) {
			rest = request->sql.length;
			add_query(request, query, beyond);
			rest_end = request->sql.length;
			limit = (int)request->count; /* the last value of it */
		} else {                             /* the same text, the same values */
			add_again(request, rest, rest_end - rest);
		}
		buf_printf(&request->sql, ") AS s%zu", i);
	}
	buf_printf(&request->sql, ") ORDER BY id%s LIMIT $%d", query->descending ? " DESC" : "",
		   limit);
}

static int note_beyond(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	int64_t *beyond = context, id = cells[0].number, elements = cells[1].number;

	(void)count, (void)err;
	if (elements > 1 && id - elements + 1 < *beyond)
		*beyond = id + 1;
	return 0;
}

/* Downwards a page begins with rows whose ids are below this: the row of a range has the highest of
 * its ids. */
static int find_beyond(struct store *store, int64_t after, int64_t *ret_beyond,
		       struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT, STORE_INT };

	*ret_beyond = after;
	return store_ask(store, "SELECT id, elements FROM jobs WHERE id >= $1 ORDER BY id LIMIT 1",
			 &STORE_INT_OF(after), 1, types, 2, note_beyond, ret_beyond, err);
}

static void add_task_query(struct request *request, const struct store_task_query *query)
{
	if (query->user)
		add_condition(request, "user_id =", store_text_of(query->user));
	if (query->model)
		add_condition(request, "model =", store_text_of(query->model));
	if (query->status_count) {
		add_where(request);
		buf_add(&request->sql, "status IN (");
		for (size_t i = 0; i < query->status_count; i++) {
			buf_add(&request->sql, i ? ", " : "");
			add_value(request, store_text_of(query->statuses[i]));
		}
		buf_add(&request->sql, ")");
	}
	if (query->after)
		add_condition(request, query->descending ? "id <" : "id >",
			      STORE_INT_OF(query->after));
	add_order(request, query->descending, query->limit);
}

int store_tasks_page(struct store *store, const struct store_task_query *query, store_each *each,
		     void *context, struct strata_error *err)
{
	struct walk walk = { .each = each, .context = context };
	struct request request;
	int rc = check_limit(query->limit, err);

	if (rc == 0 && query->status_count > STRATA_STORE_STATES_MAX)
		return strata_fail_at(err, -ERANGE, "statuses", "%zu statuses; expected up to %d",
				      query->status_count, STRATA_STORE_STATES_MAX);
	for (size_t i = 0; i < query->status_count && rc == 0; i++)
		rc = check_text("statuses", query->statuses[i], err);
	if (rc == 0)
		rc = check_text("user", query->user, err);
	if (rc == 0)
		rc = check_text("model", query->model, err);
	if (rc < 0)
		return rc;
	request_init(&request, store, STORE_TASK);
	add_task_query(&request, query);
	return request_run(&request, store, &walk, err);
}

int store_jobs_page(struct store *store, const struct store_query *query, store_each *each,
		    void *context, struct strata_error *err)
{
	struct walk walk = { .each = each, .context = context, .page = query };
	struct request request;
	int64_t beyond = query->after;
	int rc = check_query(query, err);

	if (rc == 0 && query->after && query->descending)
		rc = find_beyond(store, query->after, &beyond, err);
	if (rc < 0)
		return rc;
	request_init(&request, store, STORE_JOB);
	if (query->state_count > 1) {
		add_states(&request, query, beyond);
	} else {
		if (query->state_count == 1)
			add_condition(&request, "state =", store_text_of(query->states[0]));
		add_query(&request, query, beyond);
	}
	return request_run(&request, store, &walk, err);
}

int store_events_page(struct store *store, int64_t after, size_t limit, store_each *each,
		      void *context, struct strata_error *err)
{
	struct walk walk = { .each = each, .context = context };
	struct request request;
	int rc = check_limit(limit, err);

	if (rc < 0)
		return rc;
	request_init(&request, store, STORE_EVENT);
	add_condition(&request, "sequence >", STORE_INT_OF(after));
	add_order(&request, false, limit);
	return request_run(&request, store, &walk, err);
}

/* ---- one row ---- */

struct keep {
	enum store_row kind;
	struct strata_arena *arena;
	void *row; /* the copy; NULL: none was found */
};

static int keep_row(void *context, const void *row, struct strata_error *err)
{
	struct keep *keep = context;

	keep->row = store_row_copy(keep->kind, row, keep->arena);
	return keep->row ? 0 : strata_fail_memory(err);
}

/* The row that meets one or two conditions, on the arena; NULL when there is none. */
static int get_row(struct store *store, struct keep *keep, const char *const *conditions,
		   const struct store_value *values, size_t count, struct strata_error *err)
{
	struct walk walk = { .each = keep_row, .context = keep };
	struct request request;

	request_init(&request, store, keep->kind);
	for (size_t i = 0; i < count; i++)
		add_condition(&request, conditions[i], values[i]);
	return request_run(&request, store, &walk, err);
}

/* The first row in the order of a column that meets a condition on it; NULL when there is none. */
static int get_first(struct store *store, struct keep *keep, const char *condition,
		     struct store_value value, const char *column, struct strata_error *err)
{
	struct walk walk = { .each = keep_row, .context = keep };
	struct request request;

	request_init(&request, store, keep->kind);
	add_condition(&request, condition, value);
	buf_printf(&request.sql, " ORDER BY %s LIMIT 1", column);
	return request_run(&request, store, &walk, err);
}

static int give_element(const struct store_job *row, int64_t id, struct strata_arena *arena,
			struct store_job *ret_job, struct strata_error *err)
{
	char *uuid = strata_arena_get(arena, UUID_TEXT_BYTES);

	if (!uuid)
		return strata_fail_memory(err);
	*ret_job = element_of(row, id, uuid);
	return 0;
}

static int note_number(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	(void)count, (void)err;
	*(int64_t *)context = cells[0].number;
	return 0;
}

int store_job_get(struct store *store, int64_t id, struct strata_arena *arena,
		  struct store_job *ret_job, struct strata_error *err)
{
	struct keep keep = { .kind = STORE_JOB, .arena = arena };
	int rc = get_first(store, &keep, "id >=", STORE_INT_OF(id), "id", err);
	const struct store_job *row = keep.row;

	if (rc < 0)
		return rc;
	if (!row || first_of(row) > id)
		return strata_fail(err, -ENOENT, "there is no job %lld", (long long)id);
	return give_element(row, id, arena, ret_job, err);
}

int store_job_last(struct store *store, int64_t first, int64_t last, int64_t *ret_id,
		   struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT };
	struct store_value values[] = { STORE_INT_OF(first), STORE_INT_OF(last) };

	*ret_id = 0;
	return store_ask(store, "SELECT max(id) FROM jobs WHERE id >= $1 AND id <= $2", values, 2,
			 types, 1, note_number, ret_id, err);
}

int store_job_find(struct store *store, const char *uuid, struct strata_arena *arena,
		   struct store_job *ret_job, struct strata_error *err)
{
	struct keep keep = { .kind = STORE_JOB, .arena = arena };
	struct store_value value = store_text_of(uuid);
	char excerpt[TEXT_EXCERPT_BYTES];

	/* A text that is not valid is no job's, and PostgreSQL would refuse it in its own words. */
	if (text_valid(uuid, value.size_bytes)) {
		int rc = get_first(store, &keep, "uuid >=", value, "uuid", err);

		if (rc < 0)
			return rc;
	}
	const struct store_job *row = keep.row;
	int64_t before = 0;

	if (!row || (strcmp(row->uuid, uuid) != 0 &&
		     (!uuid_distance(uuid, row->uuid, &before) || before >= row->elements)))
		return strata_fail(err, -ENOENT, "there is no job %s",
				   text_excerpt(uuid, value.size_bytes, excerpt));
	return give_element(row, row->id - before, arena, ret_job, err);
}

int store_job_requested(struct store *store, const char *user, const char *request_key,
			struct strata_arena *arena, struct store_job *ret_job,
			struct strata_error *err)
{
	static const char *const conditions[] = { "user_id =", "request_key =" };
	struct store_value values[] = { store_text_of(user), store_text_of(request_key) };
	struct keep keep = { .kind = STORE_JOB, .arena = arena };

	if (text_valid(user, values[0].size_bytes) &&
	    text_valid(request_key, values[1].size_bytes)) {
		int rc = get_row(store, &keep, conditions, values, 2, err);

		if (rc < 0)
			return rc;
	}
	if (!keep.row)
		return strata_fail(err, -ENOENT, "there is no job with this idempotency key");
	*ret_job = *(const struct store_job *)keep.row;
	return 0;
}

int store_task_get(struct store *store, int64_t id, struct strata_arena *arena,
		   struct store_task *ret_task, struct strata_error *err)
{
	struct keep keep = { .kind = STORE_TASK, .arena = arena };
	int rc = get_row(store, &keep, (const char *const[]){ "id =" }, &STORE_INT_OF(id), 1, err);

	if (rc < 0)
		return rc;
	if (!keep.row)
		return strata_fail(err, -ENOENT, "there is no task %lld", (long long)id);
	*ret_task = *(const struct store_task *)keep.row;
	return 0;
}

struct giving {
	store_each *each;
	void *context;
	struct strata_arena arena;
};

static int give_result(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	struct giving *giving = context;
	const struct store_result row = {
		.hash = strata_arena_text(&giving->arena, cells[0].bytes, cells[0].size_bytes),
		.task = cells[1].number,
		.size_bytes = cells[2].number,
	};

	(void)count;
	return row.hash ? giving->each(giving->context, &row, err) : strata_fail_memory(err);
}

int store_task_results(struct store *store, int64_t task, store_each *each, void *context,
		       struct strata_error *err)
{
	static const enum store_type types[] = { STORE_TEXT, STORE_INT, STORE_INT };
	struct store_value value = STORE_INT_OF(task);
	struct giving giving = { .each = each, .context = context };

	strata_arena_init(&giving.arena, store->memory, 0);
	int rc = store_ask(
		store, "SELECT hash, task, size_bytes FROM results WHERE task = $1 ORDER BY hash",
		&value, 1, types, 3, give_result, &giving, err);

	strata_arena_fini(&giving.arena);
	return rc;
}

int store_result_used(struct store *store, const char *hash, bool *ret_used,
		      struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT };
	struct store_value value = store_text_of(hash);
	int64_t task = 0;
	int rc = store_ask(store, "SELECT task FROM results WHERE hash = $1 LIMIT 1", &value, 1,
			   types, 1, note_number, &task, err);

	if (rc == 0)
		*ret_used = task != 0;
	return rc;
}

int store_answer_get(struct store *store, const char *user, const char *request_key,
		     struct strata_arena *arena, struct store_answer *ret_answer,
		     struct strata_error *err)
{
	static const char *const conditions[] = { "user_id =", "request_key =" };
	struct store_value values[] = { store_text_of(user), store_text_of(request_key) };
	struct keep keep = { .kind = STORE_ANSWER, .arena = arena };
	int rc = get_row(store, &keep, conditions, values, 2, err);

	if (rc < 0)
		return rc;
	if (!keep.row)
		return strata_fail(err, -ENOENT, "no request with this key was answered");
	*ret_answer = *(const struct store_answer *)keep.row;
	return 0;
}

int store_blob_get(struct store *store, const char *hash, struct strata_arena *arena,
		   struct store_blob *ret_blob, struct strata_error *err)
{
	struct keep keep = { .kind = STORE_BLOB, .arena = arena };
	struct store_value value = store_text_of(hash);
	char found[STORE_HASH_BYTES], excerpt[TEXT_EXCERPT_BYTES];

	if (text_valid(hash, value.size_bytes)) {
		int rc = get_row(store, &keep, (const char *const[]){ "hash =" }, &value, 1, err);

		if (rc < 0)
			return rc;
	}
	if (!keep.row)
		return strata_fail(err, -ENOENT, "there is no blob %s",
				   text_excerpt(hash, value.size_bytes, excerpt));
	struct store_blob blob = *(const struct store_blob *)keep.row;

	store_blob_hash(blob.bytes, blob.size_bytes, found);
	if (strcmp(found, hash) != 0)
		return strata_fail(err, -EBADMSG,
				   "the blob %s is damaged: its contents have the hash %s", hash,
				   found);
	*ret_blob = blob;
	return 0;
}
