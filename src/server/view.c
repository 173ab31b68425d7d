/* Jobs as JSON; view.h says how. The command and some of the request are stored as JSON, and are written as they are. */
#include "server/view.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum kind {
	TEXT,     /* empty or NULL: null */
	NUMBER,   /* VIEW_NULL: null */
	OPTIONAL, /* a number; VIEW_NULL: the field is left out */
	BOOL,
	FLAG, /* a number that is a truth; VIEW_NULL: left out */
	TIME, /* ns; 0: null */
	RAW,  /* JSON as it is; NULL: [] */
	SPEC, /* that field of the request; none: the number 1 or null */
	NODES,
	GPUS,
};

struct field {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define OF(member) offsetof(struct view, member)

/* clang-format off */
static const struct field fields_all[] = {
	{ "id", NUMBER, OF(row.id) },
	{ "uuid", TEXT, OF(row.uuid) },
	{ "user", TEXT, OF(row.user) },
	{ "account", TEXT, OF(row.account) },
	{ "partition", TEXT, OF(row.partition) },
	{ "qos", TEXT, OF(row.qos) },
	{ "name", TEXT, OF(row.name) },
	{ "state", TEXT, OF(state) },
	{ "reason", TEXT, OF(reason) },
	{ "reason_text", TEXT, OF(reason_text) },
	{ "priority", TEXT, OF(priority) },
	{ "nice", NUMBER, OF(nice) },
	{ "tasks", SPEC, OF(row.spec) },
	{ "nodes", SPEC, OF(row.spec) },
	{ "cpus", NUMBER, OF(row.cpu_cores) },
	{ "memory_bytes", NUMBER, OF(row.memory_bytes) },
	{ "gpus", NUMBER, OF(row.gpu_count) },
	{ "gpu_type", TEXT, OF(row.gpu_type) },
	{ "gpu_share", SPEC, OF(row.spec) },
	{ "command", RAW, OF(row.command) },
	{ "working_dir", TEXT, OF(row.working_dir) },
	{ "submitted_at", TIME, OF(row.created_ns) },
	{ "eligible_at", TIME, OF(row.eligible_ns) },
	{ "scheduled_at", TIME, OF(row.scheduled_ns) },
	{ "started_at", TIME, OF(row.started_ns) },
	{ "ended_at", TIME, OF(row.completed_ns) },
	{ "time_limit_s", NUMBER, OF(time_limit_s) },
	{ "attempt", NUMBER, OF(row.attempt) },
	{ "exit_code", NUMBER, OF(exit_code) },
	{ "exit_signal", NUMBER, OF(exit_signal) },
	{ "cpu_user_ms", NUMBER, OF(cpu_user_ms) },
	{ "cpu_system_ms", NUMBER, OF(cpu_system_ms) },
	{ "memory_peak_bytes", NUMBER, OF(memory_peak_bytes) },
	{ "array_id", NUMBER, OF(array_id) },
	{ "array_index", NUMBER, OF(array_index) },
	{ "dependencies", SPEC, OF(row.spec) },
	{ "comment", TEXT, OF(row.comment) },
	{ "preempted", NUMBER, OF(row.preempted) },
	{ "cancelled_by", TEXT, OF(row.cancelled_by) },
	{ "output", TEXT, OF(output) },
	{ "error", TEXT, OF(error) },
	{ "expected_start_at", TIME, OF(expected_start_ns) },
	{ "expected_node", TEXT, OF(expected_node) },
	{ "promised", BOOL, OF(promised) },
	{ "expected_end_at", TIME, OF(expected_end_ns) },
	{ "node_names", NODES, OF(row.place) },
	{ "gpu_ids", GPUS, OF(row.place) },
	{ "place", RAW, OF(row.place) },
	{ "uid", NUMBER, OF(row.uid) },
	{ "gid", NUMBER, OF(row.gid) },
	{ "request", RAW, OF(row.spec) },
	{ "stopping", FLAG, OF(stopping) },
	{ "position", OPTIONAL, OF(position) },
};
/* clang-format on */

enum { FIELD_COUNT = sizeof(fields_all) / sizeof(fields_all[0]) };
_Static_assert(FIELD_COUNT <= 64, "a bit for each");

int view_fields(const char *names, uint64_t *ret_fields, struct strata_error *err)
{
	uint64_t fields = names ? 0 : VIEW_ALL;

	for (const char *at = names; at && *at;) {
		size_t span = strcspn(at, ","), i = 0;

		while (i < FIELD_COUNT && (strncmp(fields_all[i].name, at, span) != 0 ||
					   fields_all[i].name[span] != '\0'))
			i++;
		if (i == FIELD_COUNT)
			return strata_fail_at(err, -EINVAL, "fields",
					      "a job has no field %.*s (docs/api.md lists them)",
					      span > 40 ? 40 : (int)span, at);
		fields |= UINT64_C(1) << i;
		at += span + (at[span] == ',');
	}
	*ret_fields = fields;
	return 0;
}

/* ---- taking ---- */

/* An exit code is what a program that ran left behind; one that was never started, or vanished, left none. */
static bool has_exit(const struct store_job *row, enum strata_reason reason)
{
	return row->completed_ns && row->attempt && row->started_ns &&
	       reason != STRATA_REASON_START_FAILED && reason != STRATA_REASON_NODE_FAILURE;
}

struct view view_of_row(const struct store_job *row)
{
	enum strata_reason reason = STRATA_REASON_NONE;
	bool over = row->completed_ns != 0;

	for (int i = 0; row->reason && i < STRATA_REASON_COUNT; i++)
		if (strcmp(strata_reason_name((enum strata_reason)i), row->reason) == 0)
			reason = (enum strata_reason)i;
	bool ran = over && row->attempt && row->started_ns;
	struct view view = {
		.row = *row,
		.state = row->state,
		.reason = strata_reason_name(reason),
		.reason_text = row->failure ? row->failure : strata_reason_words(reason),
		.priority = strata_band_name((enum strata_band)row->band),
		.nice = -row->priority,
		.time_limit_s = row->time_limit_ns / STRATA_SECOND_NS,
		.exit_code = has_exit(row, reason) ? row->exit_code : VIEW_NULL,
		.exit_signal = has_exit(row, reason) ? row->exit_signal : VIEW_NULL,
		.cpu_user_ms = ran ? row->user_ns / STRATA_MS_NS : VIEW_NULL,
		.cpu_system_ms = ran ? row->system_ns / STRATA_MS_NS : VIEW_NULL,
		.memory_peak_bytes = ran && row->memory_peak_bytes ? row->memory_peak_bytes
								   : VIEW_NULL,
		.array_id = row->array_id ? row->array_id : VIEW_NULL,
		.array_index = row->array_id ? row->array_index : VIEW_NULL,
		.stopping = VIEW_NULL,
		.position = VIEW_NULL,
	};

	if (over) /* where it was */
		view.row.place = row->ran_on;
	return view;
}

struct view view_of_live(struct server *server, const struct live *live)
{
	struct view view = view_of_row(&live->row);
	struct strata_job_view job;

	if (strata_cluster_job(server->cluster, (uint64_t)live->row.id, &job, NULL))
		return view;
	view.state = strata_job_state_name(job.state);
	view.reason = strata_reason_name(job.reason);
	view.reason_text = live->row.failure ? live->row.failure : strata_reason_words(job.reason);
	view.output = live->output;
	view.error = live->error ? live->error : live->output;
	view.stopping = job.stopping;
	view.expected_end_ns = job.expected_end_ns;
	view.expected_start_ns = job.promised_ns;
	view.promised = job.promised_ns != 0;
	return view;
}

void view_set_forecast(const struct server *server, struct view *view,
		       const struct strata_forecast *forecast, size_t position,
		       struct strata_arena *arena)
{
	const char *node = server->nodes[forecast->node].name;

	view->expected_start_ns = forecast->start_ns;
	view->expected_node = strata_arena_text(arena, node, strlen(node));
	view->promised = forecast->promised;
	view->position = (int64_t)position;
}

static bool is_text(enum kind kind)
{
	return kind == TEXT || kind == RAW || kind == SPEC || kind == NODES || kind == GPUS;
}

/* Is it the text of an earlier field, which was copied then? */
static bool is_repeated(size_t field, uint64_t fields)
{
	for (size_t i = 0; i < field; i++)
		if ((fields >> i & 1) && fields_all[i].offset == fields_all[field].offset)
			return true;
	return false;
}

bool view_copy(struct view *view, uint64_t fields, struct strata_arena *arena)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const char **text = (const char **)((char *)view + fields_all[i].offset);

		if (!(fields >> i & 1) || !is_text(fields_all[i].kind) || !*text ||
		    (fields_all[i].kind != TEXT && is_repeated(i, fields)))
			continue;
		*text = strata_arena_text(arena, *text, strlen(*text));
		if (!*text)
			return false;
	}
	return true;
}

/* ---- writing ---- */

static void write_text(struct buf *buf, const char *text)
{
	buf_add_char(buf, '"');
	while (*text) {
		size_t plain = 0;

		while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		buf_add_bytes(buf, text, plain);
		text += plain;
		if (*text == '"' || *text == '\\') {
			buf_add_char(buf, '\\');
			buf_add_char(buf, *text++);
		} else if (*text) {
			buf_printf(buf, "\\u%04x", (unsigned)*text++);
		}
	}
	buf_add_char(buf, '"');
}

static void write_number(struct buf *buf, int64_t number)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--at = '-';
	buf_add_bytes(buf, at, (size_t)(digits + sizeof(digits) - at));
}

/* Behind a value of compact JSON, which is known to be well-formed. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			at += *at == '"';
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			depth--;
			at++;
		} else {
			at += 1 + strcspn(at + 1, depth ? "\"{}[]" : ",}");
		}
	} while (depth > 0 && *at);
	return at;
}

/* The value of a key of {"a":1,…}; NULL: it is not there. */
static const char *find_value(const char *json, const char *key, size_t *ret_length)
{
	size_t length = strlen(key);

	for (const char *at = json + 1; *at == '"';) {
		bool found = strncmp(at + 1, key, length) == 0 && at[length + 1] == '"';
		const char *value = skip_value(at) + 1, *end = skip_value(value);

		if (found) {
			*ret_length = (size_t)(end - value);
			return value;
		}
		at = end + (*end == ',');
	}
	return NULL;
}

static void write_spec(struct buf *buf, const char *spec, const char *key)
{
	size_t length;
	const char *value = spec && *spec == '{' ? find_value(spec, key, &length) : NULL;

	if (value)
		buf_add_bytes(buf, value, length);
	else
		buf_add(buf, strcmp(key, "tasks") == 0 || strcmp(key, "nodes") == 0 ? "1" : "null");
}

/* Where it is: names of nodes, or numbers of GPUs by node. */
static void write_place(struct buf *buf, const char *place, bool gpus)
{
	json_t *list = place ? json_loads(place, 0, NULL) : NULL, *piece;
	size_t index;

	buf_add_char(buf, gpus ? '{' : '[');
	json_array_foreach(list, index, piece)
	{
		const char *node = json_string_value(json_object_get(piece, "node"));
		json_int_t mask = json_integer_value(json_object_get(piece, "gpu_mask"));
		const char *comma = "";

		if (index)
			buf_add_char(buf, ',');
		write_text(buf, node ? node : "");
		if (!gpus)
			continue;
		buf_add(buf, ":[");
		for (int i = 0; i < 16; i++)
			if (mask >> i & 1) {
				buf_printf(buf, "%s%d", comma, i);
				comma = ",";
			}
		buf_add_char(buf, ']');
	}
	buf_add_char(buf, gpus ? '}' : ']');
	json_decref(list);
}

static void write_time(struct buf *buf, int64_t ns)
{
	char text[STRATA_FORM_BYTES];

	buf_add_char(buf, '"');
	buf_add(buf, strata_time_print(ns - ns % STRATA_SECOND_NS, text));
	buf_add_char(buf, '"');
}

static void write_field(const struct field *field, const void *value, struct buf *buf)
{
	int64_t number = field->kind == BOOL ? *(const bool *)value : *(const int64_t *)value;
	const char *text = *(const char *const *)value;

	switch (field->kind) {
	case NUMBER:
	case OPTIONAL:
		number == VIEW_NULL ? buf_add(buf, "null") : write_number(buf, number);
		break;
	case BOOL:
	case FLAG:
		buf_add(buf, number ? "true" : "false");
		break;
	case TIME:
		number == 0 ? buf_add(buf, "null") : write_time(buf, number);
		break;
	case TEXT:
		text &&*text ? write_text(buf, text) : buf_add(buf, "null");
		break;
	case RAW:
		buf_add(buf, text && *text ? text : "[]");
		break;
	case SPEC:
		write_spec(buf, text, field->name);
		break;
	case NODES:
	case GPUS:
		write_place(buf, text, field->kind == GPUS);
		break;
	}
}

/* Nothing is to be said. */
static bool is_empty(const struct field *field, const void *value)
{
	switch (field->kind) {
	case TEXT:
		return !*(const char *const *)value || !**(const char *const *)value;
	case NUMBER:
	case OPTIONAL:
	case FLAG:
		return *(const int64_t *)value == VIEW_NULL;
	case TIME:
		return *(const int64_t *)value == 0;
	case NODES:
	case GPUS:
		return !*(const char *const *)value;
	default:
		return false;
	}
}

void view_write(const struct view *view, uint64_t fields, struct buf *buf)
{
	char before = '{';

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *field = &fields_all[i];
		const void *value = (const char *)view + field->offset;

		if (!(fields >> i & 1) ||
		    ((fields != VIEW_ALL || field->kind == OPTIONAL || field->kind == FLAG) &&
		     is_empty(field, value)))
			continue;
		buf_add_char(buf, before);
		buf_add_char(buf, '"');
		buf_add(buf, field->name);
		buf_add_bytes(buf, "\":", 2);
		write_field(field, value, buf);
		before = ',';
	}
	if (before == '{')
		buf_add_char(buf, '{');
	buf_add_char(buf, '}');
}

/* ---- trees ---- */

json_t *view_time(int64_t ns)
{
	char text[STRATA_FORM_BYTES];

	return ns ? json_string(strata_time_print(ns - ns % STRATA_SECOND_NS, text)) : json_null();
}

json_t *view_json(const struct view *view)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	view_write(view, VIEW_ALL, &buf);
	json_t *json = buf.failed ? NULL : json_loadb(buf.text, buf.length, 0, NULL);

	buf_fini(&buf);
	return json;
}

json_t *view_row(const struct store_job *row)
{
	struct view view = view_of_row(row);

	return view_json(&view);
}

json_t *view_job(struct server *server, const struct live *live)
{
	struct view view = view_of_live(server, live);

	return view_json(&view);
}
