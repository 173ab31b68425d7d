/*
 * Merging trace files. Each event is cut out of its file as text, parsed to see that it is one, and copied as text
 * with at most two patches: its process id, and the phase of a flow that an earlier file began. Copying the text keeps
 * what a parser would lose, above all the nanoseconds of "ts".
 *
 * What a file holds beside its events (otherData and the like) is collected and written behind the events.
 */
#include "core/trace_int.h"
#include "core/option.h"
#include "core/trace_merge_int.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge {
	struct strata_memory *memory; /* borrowed */
	struct trace_out *out;        /* owned */
	struct trace_source source;   /* its bytes are owned */
	size_t file;                  /* index of the one being read */
	struct buf text;              /* the event or value at hand */
	struct buf members;           /* of this file: "otherData":{…},… */
	struct buf left_out;          /* of this file: keys of members that were too large */
	struct buf files;             /* of all: what otherData will say of each */
	struct trace_pids pids;
	struct trace_flows flows;
	json_t *clock; /* the first that a file names, a string; owned */
	int64_t dropped_count;
	struct strata_trace_merged merged;
};

static int bad(struct merge *merge, uint64_t offset, struct strata_error *err, const char *what)
{
	return trace_source_fail(&merge->source, offset, -EBADMSG, err, "%s", what);
}

/* ---- parsing ---- */

static json_t *load(const char *text, size_t length, json_error_t *ret_why)
{
	/* Numbers as reals: ids of other programs may be past INT64_MAX, where jansson knows no integer. */
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL |
			     JSON_ALLOW_NUL;

	memset(ret_why, 0, sizeof(*ret_why));
	return json_loadb(text, length, flags, ret_why);
}

/* Parses a text that stands at an offset of the file. jansson calls a failure to allocate within a string a syntax
 * error; only a text that is wrong twice is wrong. */
static int parse(struct merge *merge, const char *text, size_t length, uint64_t offset,
		 json_t **ret_value, struct strata_error *err)
{
	json_error_t why;
	json_t *value = load(text, length, &why);

	if (!value)
		value = load(text, length, &why);
	if (!value && (json_error_code(&why) == json_error_out_of_memory || !why.text[0]))
		return strata_fail_memory(err);
	if (!value)
		return trace_source_fail(&merge->source, offset + (uint64_t)why.position, -EBADMSG,
					 err, "not valid JSON: %s", option_json_words(&why));
	*ret_value = value;
	return 0;
}

/* ---- events ---- */

/* A part of an event's text that is written differently. */
struct patch {
	size_t start, end;
	const char *text;
};

static bool is_id(const json_t *value)
{
	return json_is_string(value) ||
	       (json_is_real(value) && fabs(json_real_value(value)) <= 1e15 &&
		json_real_value(value) == trunc(json_real_value(value)));
}

static int check_event(struct merge *merge, const json_t *event, uint64_t offset,
		       struct strata_error *err)
{
	const json_t *phase = json_object_get(event, "ph"), *time = json_object_get(event, "ts");
	const json_t *pid = json_object_get(event, "pid"), *tid = json_object_get(event, "tid");

	if (!json_is_object(event))
		return bad(merge, offset, err, "an event that is not an object");
	if (!json_is_string(phase) || json_string_length(phase) != 1)
		return bad(merge, offset, err, "an event without a phase (\"ph\", one letter)");
	if (!json_is_real(time) && (time || json_string_value(phase)[0] != 'M'))
		return bad(merge, offset, err, "an event without a time (\"ts\", a number)");
	if (pid && !is_id(pid))
		return bad(merge, offset, err, "\"pid\" is neither a whole number nor a text");
	if (tid && !is_id(tid))
		return bad(merge, offset, err, "\"tid\" is neither a whole number nor a text");
	return 0;
}

/* The id of the event's process, as JSON in one spelling, and where it stands; without one readers take 0. */
static int read_pid(struct merge *merge, const json_t *event, uint64_t offset, char *id,
		    size_t room, struct patch *patch, struct strata_error *err)
{
	const json_t *pid = json_object_get(event, "pid");
	size_t length;

	*patch = (struct patch){ 1, 1, NULL };
	if (pid && !trace_find_member(merge->text.text, merge->text.length, "pid", &patch->start,
				      &patch->end))
		return bad(merge, offset, err, "\"pid\" is written with escapes");
	if (json_is_string(pid))
		length = json_dumpb(pid, id, room, JSON_ENCODE_ANY);
	else
		length = (size_t)snprintf(id, room, "%.0f", json_real_value(pid) + 0.0); /* no -0 */
	if (length >= room)
		return trace_source_fail(&merge->source, offset, -E2BIG, err,
					 "\"pid\" is longer than %d bytes", STRATA_NAME_BYTES_MAX);
	id[length] = '\0';
	return 0;
}

static int map_pid(struct merge *merge, uint64_t offset, const char *id,
		   const struct trace_pid **ret_row, struct strata_error *err)
{
	struct strata_error why;
	int rc = trace_pids_map(&merge->pids, merge->file, id, ret_row, &why);

	return rc < 0 ? trace_source_fail(&merge->source, offset, rc, err, "%s", why.text) : 0;
}

static bool member_is(const json_t *event, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(event, key));

	return value && strcmp(value, text) == 0;
}

/* Makes the begin of a flow of ours a step when an earlier file has begun it. */
static int patch_flow(struct merge *merge, const json_t *event, struct patch *patch,
		      bool *ret_patched, struct strata_error *err)
{
	const char *id = json_string_value(json_object_get(event, "id"));

	if (!member_is(event, "ph", "s") || !member_is(event, "cat", TRACE_FLOW_CATEGORY) ||
	    !member_is(event, "name", TRACE_FLOW_NAME) || !id)
		return 0;
	size_t began_in = merge->file;
	int rc = trace_flows_begin(&merge->flows, strtoull(id, NULL, 16), merge->file, &began_in,
				   err);

	if (rc == 0 && began_in != merge->file) {
		patch->text = "\"t\"";
		*ret_patched = trace_find_member(merge->text.text, merge->text.length, "ph",
						 &patch->start, &patch->end);
	}
	return rc;
}

static void write_patched(struct merge *merge, struct patch *patches, size_t count)
{
	size_t at = 0;

	if (count == 2 && patches[1].start < patches[0].start) {
		struct patch first = patches[1];

		patches[1] = patches[0];
		patches[0] = first;
	}
	trace_out_text(merge->out, merge->merged.event_count++ ? ",\n" : "\n");
	for (size_t i = 0; i < count; i++) {
		trace_out_bytes(merge->out, merge->text.text + at, patches[i].start - at);
		trace_out_text(merge->out, patches[i].text);
		at = patches[i].end;
	}
	trace_out_bytes(merge->out, merge->text.text + at, merge->text.length - at);
}

static int copy_event(struct merge *merge, const json_t *event, uint64_t offset,
		      struct strata_error *err)
{
	char id[STRATA_NAME_BYTES_MAX + 1], inserted[STRATA_NAME_BYTES_MAX + 40];
	const struct trace_pid *pid = NULL;
	struct patch patches[2];
	size_t count = 0;
	bool flow_patched = false;
	int rc = read_pid(merge, event, offset, id, sizeof(id), &patches[0], err);

	if (rc == 0)
		rc = map_pid(merge, offset, id, &pid, err);
	if (rc < 0)
		return rc;
	assert(pid);
	if (strcmp(pid->from, pid->to) != 0) {
		bool absent = patches[0].start == patches[0].end;

		snprintf(inserted, sizeof(inserted), absent ? "\"pid\":%s," : "%s", pid->to);
		patches[count++].text = inserted;
	}
	rc = patch_flow(merge, event, &patches[count], &flow_patched, err);
	if (rc < 0)
		return rc;
	write_patched(merge, patches, count + flow_patched);
	return merge->out->rc < 0 ? trace_out_finish(merge->out, err) : 0;
}

static int merge_event(struct merge *merge, struct strata_error *err)
{
	uint64_t offset = merge->source.offset;
	json_t *event = NULL;
	bool fits;
	int rc = trace_source_cut(&merge->source, &merge->text, STRATA_TRACE_EVENT_BYTES_MAX, &fits,
				  err);

	if (rc == 0 && !fits)
		rc = trace_source_fail(&merge->source, offset, -E2BIG, err,
				       "an event of more than %d bytes",
				       STRATA_TRACE_EVENT_BYTES_MAX);
	if (rc == 0)
		rc = parse(merge, merge->text.text, merge->text.length, offset, &event, err);
	if (rc == 0)
		rc = check_event(merge, event, offset, err);
	if (rc == 0)
		rc = copy_event(merge, event, offset, err);
	json_decref(event);
	return rc;
}

/* The events, from behind '['. The format lets the closing bracket be missing, but for the object form, which goes on
 * behind it (and there the missing '}' is found). */
static int merge_events(struct merge *merge, struct strata_error *err)
{
	bool more = true;

	for (bool first = true;; first = false) {
		int rc = trace_source_next_item(&merge->source, ']', first, &more, err);

		if (rc == 0 && more)
			rc = merge_event(merge, err);
		if (rc < 0 || !more)
			return rc;
	}
}

/* ---- what is beside the events ---- */

/* Keeps a member of the file, whose value comes next, or notes that it is left out. */
static int keep_member(struct merge *merge, const char *key, struct strata_error *err)
{
	size_t kept = merge->members.length + strlen(key) + 2;
	size_t room = kept < STRATA_TRACE_OTHER_BYTES_MAX ? STRATA_TRACE_OTHER_BYTES_MAX - kept : 0;
	uint64_t offset = merge->source.offset;
	json_t *value = NULL;
	bool fits;
	int rc = trace_source_cut(&merge->source, &merge->text, room, &fits, err);

	if (rc < 0)
		return rc;
	if (!fits) {
		merge->merged.left_out_count++;
		buf_printf(&merge->left_out, "%s%s", merge->left_out.length ? "," : "", key);
		return buf_check(&merge->left_out, err);
	}
	rc = parse(merge, merge->text.text, merge->text.length, offset, &value, err);
	if (rc < 0)
		return rc;
	json_decref(value);
	buf_printf(&merge->members, "%s%s:%s", merge->members.length ? "," : "", key,
		   merge->text.text);
	return buf_check(&merge->members, err);
}

/* A key, as JSON text with its quotes, and its colon. */
static int read_key(struct merge *merge, char *key, size_t room, struct strata_error *err)
{
	uint64_t offset = merge->source.offset;
	json_t *value = NULL;
	bool fits;
	int c = trace_source_peek(&merge->source, err);

	if (c < 0)
		return c;
	if (c != '"')
		return bad(merge, offset, err, "expected a key in quotes");
	int rc = trace_source_cut(&merge->source, &merge->text, room - 1, &fits, err);

	if (rc == 0 && !fits)
		rc = bad(merge, offset, err, "a key that is too long");
	if (rc == 0)
		rc = parse(merge, merge->text.text, merge->text.length, offset, &value, err);
	json_decref(value);
	if (rc < 0)
		return rc;
	snprintf(key, room, "%s", merge->text.text);
	c = trace_source_peek(&merge->source, err);
	if (c < 0)
		return c;
	if (c != ':')
		return bad(merge, merge->source.offset, err, "expected ':' behind a key");
	trace_source_skip(&merge->source);
	c = trace_source_peek(&merge->source, err);
	return c == TRACE_SOURCE_END
		       ? bad(merge, merge->source.offset, err, "the file ends before a value")
		       : (c < 0 ? c : 0);
}

static int merge_object(struct merge *merge, struct strata_error *err)
{
	char key[STRATA_NAME_BYTES_MAX + 3];
	bool more = true, has_events = false;

	for (bool first = true;; first = false) {
		int rc = trace_source_next_item(&merge->source, '}', first, &more, err);

		if (rc < 0)
			return rc;
		if (!more)
			break;
		rc = read_key(merge, key, sizeof(key), err);
		if (rc == 0 && strcmp(key, "\"traceEvents\"") != 0)
			rc = keep_member(merge, key, err);
		else if (rc == 0) {
			if (has_events || trace_source_peek(&merge->source, err) != '[')
				return bad(merge, merge->source.offset, err,
					   "\"traceEvents\" is not one array");
			has_events = true;
			trace_source_skip(&merge->source);
			rc = merge_events(merge, err);
		}
		if (rc < 0)
			return rc;
	}
	return has_events
		       ? 0
		       : bad(merge, merge->source.offset, err, "the file has no \"traceEvents\"");
}

/* ---- files ---- */

/* Takes the clock and the number of dropped events out of a file's otherData. */
static void note_other(struct merge *merge, json_t *members)
{
	json_t *other = json_object_get(members, "otherData");
	json_t *clock = json_object_get(other, "clock"),
	       *dropped = json_object_get(other, "dropped");

	if (json_is_real(dropped) && json_real_value(dropped) >= 0 &&
	    json_real_value(dropped) <= 1e15)
		merge->dropped_count += (int64_t)json_real_value(dropped);
	if (json_is_string(clock) && !merge->clock)
		merge->clock = json_incref(clock);
	else if (json_is_string(clock) && !json_equal(clock, merge->clock))
		merge->merged.clocks_differ = true;
}

static void describe_name(struct buf *files, const char *name)
{
	char bytes[128];
	size_t count;

	buf_printf(files, "%s\n{\"file\":\"", files->length ? "," : "");
	while ((count = trace_escape(&name, bytes, sizeof(bytes))))
		buf_add_bytes(files, bytes, count);
	buf_add(files, "\"");
}

/* Writes what the merged otherData will say of this file. */
static int describe_file(struct merge *merge, struct strata_error *err)
{
	struct buf *files = &merge->files;
	const char *comma = "";
	json_t *members = NULL;

	buf_reset(&merge->text);
	buf_printf(&merge->text, "{%s}", merge->members.text);
	int rc = buf_check(&merge->text, err);

	if (rc == 0)
		rc = parse(merge, merge->text.text, merge->text.length, 0, &members, err);
	if (rc < 0)
		return rc;
	note_other(merge, members);
	json_decref(members);
	describe_name(files, merge->source.input->name);
	buf_add(files, ",\"renumbered\":[");
	for (size_t i = 0; i < merge->pids.count; i++) {
		const struct trace_pid *row = &merge->pids.rows[i];

		if (row->file != merge->file || strcmp(row->from, row->to) == 0)
			continue;
		buf_printf(files, "%s[%s,%s]", comma, row->from, row->to);
		merge->merged.renumbered_count++;
		comma = ",";
	}
	buf_printf(files, "],\"left_out\":[%s],\"members\":%s}", merge->left_out.text,
		   merge->text.text);
	return buf_check(files, err);
}

static int merge_file(struct merge *merge, const struct strata_trace_input *input,
		      struct strata_error *err)
{
	merge->source = (struct trace_source){ .input = input, .bytes = merge->source.bytes };
	buf_reset(&merge->members);
	buf_reset(&merge->left_out);
	int c = trace_source_peek(&merge->source, err);

	if (c < 0)
		return c;
	if (c != '[' && c != '{')
		return bad(merge, merge->source.offset, err,
			   c == TRACE_SOURCE_END ? "the file is empty"
						 : "not a trace: expected '{' or '['");
	trace_source_skip(&merge->source);
	int rc = c == '[' ? merge_events(merge, err) : merge_object(merge, err);

	if (rc < 0)
		return rc;
	c = trace_source_peek(&merge->source, err);
	if (c < 0)
		return c;
	if (c != TRACE_SOURCE_END)
		return bad(merge, merge->source.offset, err,
			   "something follows the end of the trace");
	return describe_file(merge, err);
}

static int merge_files(struct merge *merge, const struct strata_trace_input *inputs, size_t count,
		       struct strata_error *err)
{
	trace_out_text(merge->out, "{\"traceEvents\":[");
	for (merge->file = 0; merge->file < count; merge->file++) {
		int rc = merge_file(merge, &inputs[merge->file], err);

		if (rc < 0)
			return rc;
	}
	trace_out_text(merge->out, "\n],\n\"otherData\":{\"source\":\"strata " STRATA_VERSION "\"");
	if (merge->clock && !merge->merged.clocks_differ) {
		trace_out_text(merge->out, ",\"clock\":");
		trace_out_string(merge->out, json_string_value(merge->clock));
	}
	trace_out_text(merge->out, ",\"dropped\":");
	trace_out_int(merge->out, merge->dropped_count);
	trace_out_text(merge->out, ",\"files\":[");
	trace_out_bytes(merge->out, merge->files.text, merge->files.length);
	trace_out_text(merge->out, "\n]}}");
	return trace_out_finish(merge->out, err);
}

static void fini(struct merge *merge)
{
	strata_memory_put(merge->memory, merge->out, sizeof(*merge->out));
	strata_memory_put(merge->memory, merge->source.bytes, TRACE_SOURCE_BYTES);
	json_decref(merge->clock);
	trace_pids_fini(&merge->pids);
	trace_flows_fini(&merge->flows);
	buf_fini(&merge->text);
	buf_fini(&merge->members);
	buf_fini(&merge->left_out);
	buf_fini(&merge->files);
}

int strata_trace_merge(const struct strata_trace_input *inputs, size_t input_count,
		       struct strata_memory *memory, const struct strata_trace_sink *sink,
		       struct strata_trace_merged *ret_merged, struct strata_error *err)
{
	struct merge merge = { .memory = memory };

	if (input_count > STRATA_TRACE_FILE_COUNT_MAX)
		return strata_fail(err, -E2BIG, "%zu files to merge; expected at most %d",
				   input_count, STRATA_TRACE_FILE_COUNT_MAX);
	trace_pids_init(&merge.pids, memory);
	trace_flows_init(&merge.flows, memory);
	buf_init(&merge.text, memory, 0);
	buf_init(&merge.members, memory, 0);
	buf_init(&merge.left_out, memory, STRATA_TRACE_OTHER_BYTES_MAX);
	buf_init(&merge.files, memory, 0);
	merge.out = strata_memory_get(memory, sizeof(*merge.out));
	merge.source.bytes = strata_memory_get(memory, TRACE_SOURCE_BYTES);
	int rc;

	if (merge.out && merge.source.bytes) {
		trace_out_init(merge.out, sink);
		rc = merge_files(&merge, inputs, input_count, err);
	} else {
		rc = strata_fail_memory(err);
	}
	merge.merged.process_count = merge.pids.count;
	fini(&merge);
	if (rc == 0)
		*ret_merged = merge.merged;
	return rc;
}
