/* Jobs as JSON; view.h says how. The command and some of the request are stored as JSON, and are
 * written as they are. */
#include "server/view.h"

#include "server/array_limits.h"
#include "server/json_text.h"
#include "server/nodes.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum kind {
	TEXT,     /* empty or NULL: null */
	NUMBER,   /* VIEW_NULL: null */
	OPTIONAL, /* a number; VIEW_NULL: the field is left out */
	MILLI,    /* … in thousandths */
	BOOL,
	FLAG,    /* a number that is a truth; VIEW_NULL: left out */
	TIME,    /* ns; 0: null */
	RAW,     /* JSON as it is; NULL: [] */
	SPEC,    /* that field of the request; none: the number 1 or null */
	NODES,   /* of a place … */
	GPUS,    /* … by node … */
	DOMAINS, /* … of those GPUs; nothing known: left out */
	SCORE,   /* … how good it is; not known: left out */
	PLACE,   /* … all of it */
};

struct field {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define OF(member) offsetof(struct view, member)

/* clang-format off */
static const struct field fields_all[] = {
	{ "id", NUMBER, OF(job.id) },
	{ "uuid", TEXT, OF(job.uuid) },
	{ "user", TEXT, OF(job.user) },
	{ "account", TEXT, OF(job.account) },
	{ "partition", TEXT, OF(job.partition) },
	{ "qos", TEXT, OF(job.qos) },
	{ "name", TEXT, OF(job.name) },
	{ "state", TEXT, OF(state) },
	{ "reason", TEXT, OF(reason) },
	{ "reason_text", TEXT, OF(reason_text) },
	{ "priority", TEXT, OF(priority) },
	{ "nice", NUMBER, OF(nice) },
	{ "tasks", SPEC, OF(job.request) },
	{ "nodes", SPEC, OF(job.request) },
	{ "cpus", NUMBER, OF(job.cpu_cores) },
	{ "memory_bytes", NUMBER, OF(job.memory_bytes) },
	{ "gpus", NUMBER, OF(job.gpu_count) },
	{ "gpu_type", TEXT, OF(job.gpu_type) },
	{ "gpu_share", SPEC, OF(job.request) },
	{ "command", RAW, OF(job.command) },
	{ "working_dir", TEXT, OF(job.working_dir) },
	{ "submitted_at", TIME, OF(job.created_ns) },
	{ "eligible_at", TIME, OF(job.eligible_ns) },
	{ "scheduled_at", TIME, OF(job.scheduled_ns) },
	{ "started_at", TIME, OF(job.started_ns) },
	{ "ended_at", TIME, OF(job.completed_ns) },
	{ "time_limit_s", NUMBER, OF(time_limit_s) },
	{ "attempt", NUMBER, OF(job.attempt) },
	{ "exit_code", NUMBER, OF(exit_code) },
	{ "exit_signal", NUMBER, OF(exit_signal) },
	{ "cpu_user_ms", NUMBER, OF(cpu_user_ms) },
	{ "cpu_system_ms", NUMBER, OF(cpu_system_ms) },
	{ "memory_peak_bytes", NUMBER, OF(memory_peak_bytes) },
	{ "array_id", NUMBER, OF(array_id) },
	{ "array_index", NUMBER, OF(array_index) },
	{ "array_throttle", OPTIONAL, OF(array_throttle) },
	{ "elements", OPTIONAL, OF(elements) },
	{ "index_step", OPTIONAL, OF(index_step) },
	{ "dependencies", SPEC, OF(job.request) },
	{ "comment", TEXT, OF(job.comment) },
	{ "preempted", NUMBER, OF(job.preempted) },
	{ "cancelled_by", TEXT, OF(job.cancelled_by) },
	{ "output", TEXT, OF(output) },
	{ "error", TEXT, OF(error) },
	{ "expected_start_at", TIME, OF(expected_start_ns) },
	{ "expected_node", TEXT, OF(expected_node) },
	{ "expected_node_count", OPTIONAL, OF(expected_node_count) },
	{ "promised", BOOL, OF(promised) },
	{ "expected_end_at", TIME, OF(expected_end_ns) },
	{ "node_names", NODES, OF(job.place) },
	{ "gpu_ids", GPUS, OF(job.place) },
	{ "gpu_domains", DOMAINS, OF(job.place) },
	{ "placement_score", SCORE, OF(job.place) },
	{ "place", PLACE, OF(job.place) },
	{ "uid", NUMBER, OF(job.uid) },
	{ "gid", NUMBER, OF(job.gid) },
	{ "request", RAW, OF(job.request) },
	{ "stopping", FLAG, OF(stopping) },
	{ "position", OPTIONAL, OF(position) },
	{ "cpus_used", MILLI, OF(cpus_used_milli) },
	{ "memory_used_bytes", OPTIONAL, OF(memory_used_bytes) },
	{ "gpus_used", MILLI, OF(gpus_used_milli) },
	{ "gpu_memory_used_bytes", OPTIONAL, OF(gpu_memory_used_bytes) },
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

/* An exit code is what a program that ran left behind; one that was never started, or vanished,
 * left none. */
static bool has_exit(const struct job *job)
{
	return job->completed_ns && job->attempt && job->started_ns &&
	       job->reason != STRATA_REASON_START_FAILED &&
	       job->reason != STRATA_REASON_NODE_FAILURE;
}

/* One that a signal ended has the reason of an exit status, but none. */
static const char *reason_text(const struct job *job, enum strata_reason reason)
{
	if (job->failure)
		return job->failure;
	if (reason == STRATA_REASON_EXIT_CODE && job->exit_signal)
		return "a signal ended it";
	return strata_reason_words(reason);
}

struct view view_of_job(const struct job *job)
{
	bool over = job->completed_ns != 0, ran = over && job->attempt && job->started_ns;
	struct view view = {
		.job = *job,
		.state = strata_job_state_name(job->state),
		.reason = strata_reason_name(job->reason),
		.reason_text = reason_text(job, job->reason),
		.priority = strata_band_name(job->band),
		.nice = -job->priority,
		.time_limit_s = job->time_limit_ns / STRATA_SECOND_NS,
		.exit_code = has_exit(job) ? job->exit_code : VIEW_NULL,
		.exit_signal = has_exit(job) ? job->exit_signal : VIEW_NULL,
		.cpu_user_ms = ran ? job->user_ns / STRATA_MS_NS : VIEW_NULL,
		.cpu_system_ms = ran ? job->system_ns / STRATA_MS_NS : VIEW_NULL,
		.memory_peak_bytes = ran && job->memory_peak_bytes ? job->memory_peak_bytes
								   : VIEW_NULL,
		.array_id = job->array_id ? job->array_id : VIEW_NULL,
		.array_index = job->array_id ? job->array_index : VIEW_NULL,
		.array_throttle = VIEW_NULL,
		.elements = VIEW_NULL,
		.index_step = VIEW_NULL,
		.stopping = VIEW_NULL,
		.position = VIEW_NULL,
		.cpus_used_milli = VIEW_NULL,
		.memory_used_bytes = VIEW_NULL,
		.gpus_used_milli = VIEW_NULL,
		.gpu_memory_used_bytes = VIEW_NULL,
		.expected_node_count = VIEW_NULL,
	};

	if (over) /* where it was */
		view.job.place = job->ran_on;
	return view;
}

struct view view_of_live(struct decider *decider, const struct live *live)
{
	struct view view = view_of_job(&live->job);
	struct strata_job_view job;

	if (strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &job, NULL))
		return view;
	view.state = strata_job_state_name(job.state);
	view.reason = strata_reason_name(job.reason);
	view.reason_text = reason_text(&live->job, job.reason);
	if (job.reason == STRATA_REASON_SUSPENDED && job.state == STRATA_JOB_PREEMPTED &&
	    live->held == JOB_NOT_HELD)
		view.reason_text = "it is frozen until what it had is free again";
	view.output = live->output;
	view.error = live->error ? live->error : live->output;
	if (live->job.array_id)
		view.array_throttle = array_limit_of(decider, live);
	view.stopping = job.stopping;
	view.expected_end_ns = job.expected_end_ns == STRATA_TIME_NONE ? 0 : job.expected_end_ns;
	/* what it was promised holds no more once it is held */
	view.promised = job.promised_ns != STRATA_TIME_NONE && job.reason != STRATA_REASON_HELD;
	view.expected_start_ns = view.promised ? job.promised_ns : 0;
	return view;
}

void view_set_forecast(const struct decider *decider, struct view *view,
		       const struct strata_forecast *forecast, size_t position,
		       struct strata_arena *arena)
{
	const char *node = decider->nodes[forecast->node].name;

	view->expected_start_ns = forecast->start_ns;
	if (forecast->node_count)
		view->expected_node = strata_arena_text(arena, node, strlen(node));
	view->promised = forecast->promised;
	if (!forecast->apart)
		view->position = (int64_t)position;
	if (forecast->node_count > 1)
		view->expected_node_count = forecast->node_count;
}

static bool is_place(enum kind kind)
{
	return kind == NODES || kind == GPUS || kind == DOMAINS || kind == SCORE || kind == PLACE;
}

static bool is_text(enum kind kind)
{
	return kind == TEXT || kind == RAW || kind == SPEC;
}

/* Is it the text of an earlier field, which was copied then? */
static bool is_repeated(size_t field, uint64_t fields)
{
	for (size_t i = 0; i < field; i++)
		if ((fields >> i & 1) && fields_all[i].offset == fields_all[field].offset)
			return true;
	return false;
}

/* The copy of what a field points to; NULL: no memory. */
static const void *copy(enum kind kind, const void *from, struct strata_arena *arena)
{
	return is_place(kind) ? (const void *)job_place_copy(from, arena)
			      : strata_arena_text(arena, from, strlen(from));
}

bool view_copy(struct view *view, uint64_t fields, struct strata_arena *arena)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *field = &fields_all[i];
		const void **slot = (const void **)((char *)view + field->offset);

		if (!(fields >> i & 1) || !(is_text(field->kind) || is_place(field->kind)) ||
		    !*slot || (field->kind != TEXT && is_repeated(i, fields)))
			continue;
		*slot = copy(field->kind, *slot, arena);
		if (!*slot)
			return false;
	}
	return true;
}

/* ---- writing ---- */

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

static void write_bits(struct buf *buf, uint32_t mask)
{
	const char *comma = "";

	buf_add_char(buf, '[');
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1) {
			buf_printf(buf, "%s%d", comma, i);
			comma = ",";
		}
	buf_add_char(buf, ']');
}

/* Where it is: names of nodes, or by node the numbers of GPUs or of their NUMA domains. */
static void write_place(struct buf *buf, const struct job_place *place, enum kind kind)
{
	bool named = kind == NODES;

	buf_add_char(buf, named ? '[' : '{');
	for (uint32_t i = 0; place && i < place->count; i++) {
		if (i)
			buf_add_char(buf, ',');
		json_text_add(buf, place->pieces[i].node);
		if (!named) {
			buf_add_char(buf, ':');
			write_bits(buf, kind == GPUS ? place->pieces[i].gpu_mask
						     : place->pieces[i].gpu_domains);
		}
	}
	buf_add_char(buf, named ? ']' : '}');
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
		number == VIEW_NULL ? buf_add(buf, "null") : json_text_add_number(buf, number);
		break;
	case MILLI:
		buf_printf(buf, "%" PRId64 ".%03" PRId64, number / 1000, number % 1000);
		break;
	case BOOL:
	case FLAG:
		buf_add(buf, number ? "true" : "false");
		break;
	case TIME:
		number == 0 ? buf_add(buf, "null") : write_time(buf, number);
		break;
	case TEXT:
		text &&*text ? json_text_add(buf, text) : buf_add(buf, "null");
		break;
	case RAW:
		buf_add(buf, text && *text ? text : "[]");
		break;
	case SPEC:
		write_spec(buf, text, field->name);
		break;
	case NODES:
	case GPUS:
	case DOMAINS:
		write_place(buf, *(const struct job_place *const *)value, field->kind);
		break;
	case SCORE:
		json_text_add_number(buf, (*(const struct job_place *const *)value)->score);
		break;
	case PLACE:
		if (*(const struct job_place *const *)value)
			job_place_print(*(const struct job_place *const *)value, buf);
		else
			buf_add(buf, "[]");
		break;
	}
}

static bool has_domains(const struct job_place *place)
{
	uint32_t domains = 0;

	for (uint32_t i = 0; place && i < place->count; i++)
		domains |= place->pieces[i].gpu_domains;
	return domains != 0;
}

static bool is_optional(enum kind kind)
{
	return kind == OPTIONAL || kind == MILLI || kind == FLAG || kind == DOMAINS ||
	       kind == SCORE;
}

/* Nothing is to be said. */
static bool is_empty(const struct field *field, const void *value)
{
	switch (field->kind) {
	case TEXT:
		return !*(const char *const *)value || !**(const char *const *)value;
	case NUMBER:
	case OPTIONAL:
	case MILLI:
	case FLAG:
		return *(const int64_t *)value == VIEW_NULL;
	case TIME:
		return *(const int64_t *)value == 0;
	case NODES:
	case GPUS:
		return !*(const struct job_place *const *)value;
	case DOMAINS:
		return !has_domains(*(const struct job_place *const *)value);
	case SCORE:
		return !*(const struct job_place *const *)value ||
		       !(*(const struct job_place *const *)value)->score;
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
		    ((fields != VIEW_ALL || is_optional(field->kind)) && is_empty(field, value)))
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

json_t *view_words(const char *text)
{
	json_t *list = json_array();

	while (text && *text) {
		size_t span = strcspn(text, ",");

		if (span)
			json_array_append_new(list, json_stringn(text, span));
		text += span + (text[span] != '\0');
	}
	return list;
}

json_t *view_time(int64_t ns)
{
	char text[STRATA_FORM_BYTES];

	return ns ? json_string(strata_time_print(ns - ns % STRATA_SECOND_NS, text)) : json_null();
}

json_t *view_exact_time(int64_t ns)
{
	char text[STRATA_FORM_BYTES];

	return ns ? json_string(strata_time_print(ns, text)) : json_null();
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

json_t *view_job(const struct job *job)
{
	struct view view = view_of_job(job);

	return view_json(&view);
}

json_t *view_row(const struct store_job *row)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job job;

	strata_arena_init(&arena, &memory, 0);
	json_t *json = job_from_row(row, &arena, &job) == 0 ? view_job(&job) : NULL;

	strata_arena_fini(&arena);
	return json;
}

json_t *view_live(struct decider *decider, const struct live *live)
{
	struct view view = view_of_live(decider, live);

	return view_json(&view);
}
