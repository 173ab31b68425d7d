/*
 * A trace as JSON, in the object form of the Trace Event Format. What readers make of it shaped the details:
 *
 * - Perfetto reads "ts" (microseconds) as text, so three decimals keep every nanosecond.
 * - "displayTimeUnit" is not written: old importers took "ns" to be the unit of "ts".
 * - An end has neither name nor category, and so matches whatever is open.
 * - Arrows are flow events of phase s (first) and t (every further one), each right behind its slice or instant, which
 *   is the one it binds to. Their id, category and name must be the same everywhere. Only one s per id may be in a
 *   file: the earliest, which is found before anything is written. Phase f is not used: a file cannot know that a
 *   flow is over, and an f in the middle would cut the chain in two.
 * - There is no newline behind the last brace: importers that get it as a chunk of its own refuse it.
 */
#include "core/trace_int.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- output ---- */

void trace_out_init(struct trace_out *out, const struct strata_trace_sink *sink)
{
	out->sink = sink;
	out->rc = 0;
	out->offset_ns = 0;
	out->used_bytes = 0;
}

static void flush(struct trace_out *out)
{
	if (out->rc == 0 && out->used_bytes)
		out->rc = out->sink->write(out->sink->context, out->bytes, out->used_bytes);
	out->used_bytes = 0;
}

void trace_out_bytes(struct trace_out *out, const char *bytes, size_t count)
{
	while (count) {
		size_t room = TRACE_OUT_BYTES - out->used_bytes;
		size_t now = count < room ? count : room;

		memcpy(out->bytes + out->used_bytes, bytes, now);
		out->used_bytes += now;
		bytes += now;
		count -= now;
		if (out->used_bytes == TRACE_OUT_BYTES)
			flush(out);
	}
}

void trace_out_text(struct trace_out *out, const char *text)
{
	trace_out_bytes(out, text, strlen(text));
}

/* At least so many digits. Files have millions of numbers: printf is too slow for them. */
static void out_digits(struct trace_out *out, uint64_t value, int digits)
{
	char text[24], *end = text + sizeof(text), *at = end;

	for (; value > 0 || digits > 0; value /= 10, digits--)
		*--at = (char)('0' + value % 10);
	trace_out_bytes(out, at, (size_t)(end - at));
}

void trace_out_int(struct trace_out *out, int64_t value)
{
	if (value < 0)
		trace_out_bytes(out, "-", 1);
	out_digits(out, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

int trace_out_finish(struct trace_out *out, struct strata_error *err)
{
	flush(out);
	if (out->rc < 0)
		return strata_fail(err, out->rc, "the trace could not be written: %s",
				   strerror(-out->rc));
	return 0;
}

/* Bytes of the well-formed UTF-8 character at text, 0 if there is none. No overlong forms, no surrogates. */
static size_t character_bytes(const unsigned char *text)
{
	static const struct {
		unsigned char lead_min, lead_max, second_min, second_max, bytes;
	} forms[] = {
		{ 0x20, 0x7E, 0x00, 0xFF, 1 }, { 0xC2, 0xDF, 0x80, 0xBF, 2 },
		{ 0xE0, 0xE0, 0xA0, 0xBF, 3 }, { 0xE1, 0xEC, 0x80, 0xBF, 3 },
		{ 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 },
		{ 0xF0, 0xF0, 0x90, 0xBF, 4 }, { 0xF1, 0xF3, 0x80, 0xBF, 4 },
		{ 0xF4, 0xF4, 0x80, 0x8F, 4 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (text[0] < forms[i].lead_min || text[0] > forms[i].lead_max)
			continue;
		if (text[1] < forms[i].second_min || text[1] > forms[i].second_max)
			return 0;
		for (size_t k = 2; k < forms[i].bytes; k++)
			if ((text[k] & 0xC0) != 0x80)
				return 0;
		return forms[i].bytes;
	}
	return 0;
}

/* Writes one character that cannot stand as it is; 8 bytes do. DEL may stand, says JSON, but not in Perfetto. */
static size_t escape_character(unsigned char c, char *bytes)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *place = memchr(from, c, sizeof(from) - 1);

	if (c > 0x7F)
		return (size_t)snprintf(bytes, 8, "\xEF\xBF\xBD");
	if (place)
		return (size_t)snprintf(bytes, 8, "\\%c", to[place - from]);
	return (size_t)snprintf(bytes, 8, "\\u%04x", c);
}

size_t trace_escape(const char **text, char *bytes, size_t room)
{
	const unsigned char *at = (const unsigned char *)*text;
	size_t used = 0;

	while (*at && room - used >= 8) {
		size_t count = *at == '"' || *at == '\\' ? 0 : character_bytes(at);

		if (count)
			memcpy(bytes + used, at, count);
		used += count ? count : escape_character(*at, bytes + used);
		at += count ? count : 1;
	}
	*text = (const char *)at;
	return used;
}

void trace_out_string(struct trace_out *out, const char *text)
{
	char bytes[128];
	size_t count;

	trace_out_bytes(out, "\"", 1);
	while ((count = trace_escape(&text, bytes, sizeof(bytes))))
		trace_out_bytes(out, bytes, count);
	trace_out_bytes(out, "\"", 1);
}

static void out_real(struct trace_out *out, double value)
{
	char text[40], *end = text;

	if (!isfinite(value)) {
		trace_out_text(out, "null");
		return;
	}
	if (value == trunc(value) && fabs(value) < 1e15 && !signbit(value)) {
		trace_out_int(out, (int64_t)value);
		return;
	}
	snprintf(text, sizeof(text), "%.17g", value);
	/* The host program's locale may have put anything in place of the point. */
	for (const char *from = text; *from;) {
		if (strchr("0123456789+-e", *from)) {
			*end++ = *from++;
			continue;
		}
		*end++ = '.';
		while (*from && !strchr("0123456789", *from))
			from++;
	}
	trace_out_bytes(out, text, (size_t)(end - text));
}

/* In microseconds, as the format has it. */
static void out_duration(struct trace_out *out, uint64_t size_ns)
{
	out_digits(out, size_ns / 1000, 1);
	trace_out_bytes(out, ".", 1);
	out_digits(out, size_ns % 1000, 3);
}

static void out_time(struct trace_out *out, int64_t time_ns)
{
	if (__builtin_add_overflow(time_ns, out->offset_ns, &time_ns))
		time_ns = out->offset_ns < 0 ? INT64_MIN : INT64_MAX;
	trace_out_text(out, ",\"ts\":");
	if (time_ns < 0)
		trace_out_bytes(out, "-", 1);
	out_duration(out, time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns);
}

/* ---- what is written ---- */

enum { KIND_LEFT_OUT = 0xFE };

static void leave_out(uint64_t *words)
{
	words[0] = (words[0] & ~(uint64_t)0xFF) | KIND_LEFT_OUT;
}

/* A curve has numbers only. */
static bool is_drawn(const struct strata_trace_event *event)
{
	for (size_t i = 0; i < event->arg_count; i++) {
		const struct strata_trace_arg *arg = &event->args[i];

		if (event->kind == STRATA_TRACE_COUNTER && arg->kind != STRATA_TRACE_ARG_INT &&
		    (arg->kind != STRATA_TRACE_ARG_REAL || !isfinite(arg->real)))
			return false;
	}
	return event->kind != STRATA_TRACE_COUNTER || event->arg_count > 0;
}

/* Leaves out, in the copy, what is too old or has lost its partner, and makes the times of the rest ascend, but for slices, which are told of at
 * their end and stay as they are. Returns the number of events that belong to a flow. */
static size_t prepare(struct trace_snapshot *snapshot, int64_t since_ns)
{
	struct trace_row row;
	int64_t latest_ns = INT64_MIN;
	size_t depth = 0, flow_count = 0;

	for (size_t slot = 0; slot < snapshot->slot_count; slot += row.slot_count) {
		uint64_t *words = snapshot->words + slot * TRACE_SLOT_WORDS;

		trace_row_read(snapshot, slot, &row);
		enum strata_trace_kind kind = row.event.kind;
		int64_t told_ns = kind == STRATA_TRACE_SLICE ? row.event.end_ns : row.event.time_ns;
		bool too_old = told_ns < since_ns && latest_ns < since_ns;
		bool alone = depth == 0 && (kind == STRATA_TRACE_END || kind == STRATA_TRACE_FLOW);

		if (too_old || alone || !is_drawn(&row.event)) {
			leave_out(words);
			continue;
		}
		if (told_ns > latest_ns)
			latest_ns = told_ns;
		if (kind != STRATA_TRACE_SLICE)
			words[1] = (uint64_t)latest_ns;
		depth += kind == STRATA_TRACE_BEGIN;
		depth -= kind == STRATA_TRACE_END;
		flow_count += row.event.flow != 0;
	}
	return flow_count;
}

/* Where each flow is first seen, in time and then in file order. */
struct flow_first {
	uint64_t flow; /* 0: free */
	int64_t time_ns;
	size_t lane, slot;
};

struct flow_table {
	struct flow_first *rows;
	size_t row_count; /* a power of two, at least twice the number of events */
};

static struct flow_first *find_flow(const struct flow_table *table, uint64_t flow)
{
	size_t at = (flow * 0x9E3779B97F4A7C15u >> 20) & (table->row_count - 1);

	while (table->rows[at].flow && table->rows[at].flow != flow)
		at = (at + 1) & (table->row_count - 1);
	return &table->rows[at];
}

static void note_flows(struct flow_table *table, const struct trace_snapshot *snapshot, size_t lane)
{
	struct trace_row row;

	for (size_t slot = 0; slot < snapshot->slot_count; slot += row.slot_count) {
		trace_row_read(snapshot, slot, &row);
		if (row.event.flow == 0 || (int)row.event.kind == KIND_LEFT_OUT)
			continue;
		struct flow_first *first = find_flow(table, row.event.flow);

		if (first->flow == 0 || row.event.time_ns < first->time_ns)
			*first = (struct flow_first){ row.event.flow, row.event.time_ns, lane,
						      slot };
	}
}

static int find_first_of_flows(struct trace_snapshot *snapshots, size_t count, int64_t since_ns,
			       struct strata_arena *arena, struct flow_table *table,
			       struct strata_error *err)
{
	size_t flow_count = 0;

	for (size_t i = 0; i < count; i++)
		flow_count += prepare(&snapshots[i], since_ns);
	table->row_count = 2;
	while (table->row_count < flow_count * 2)
		table->row_count *= 2;
	table->rows = strata_arena_array(arena, table->row_count, sizeof(struct flow_first));
	if (!table->rows)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		note_flows(table, &snapshots[i], i);
	return 0;
}

/* ---- the file ---- */

static void out_open(struct trace_out *out, const char *phase, uint32_t pid, uint32_t tid)
{
	trace_out_text(out, ",\n{\"ph\":\"");
	trace_out_text(out, phase);
	trace_out_text(out, "\",\"pid\":");
	trace_out_int(out, pid);
	trace_out_text(out, ",\"tid\":");
	trace_out_int(out, tid);
}

static void out_arg(struct trace_out *out, const struct strata_trace_arg *arg)
{
	trace_out_string(out, arg->key);
	trace_out_text(out, ":");
	if (arg->kind == STRATA_TRACE_ARG_INT)
		trace_out_int(out, arg->integer);
	else if (arg->kind == STRATA_TRACE_ARG_REAL)
		out_real(out, arg->real);
	else if (arg->kind == STRATA_TRACE_ARG_TEXT)
		trace_out_string(out, arg->text);
}

static void out_args(struct trace_out *out, uint64_t flow, const struct strata_trace_arg *args,
		     size_t count)
{
	if (flow == 0 && count == 0)
		return;
	trace_out_text(out, ",\"args\":{");
	if (flow) {
		char text[40];

		/* past INT64_MAX many readers cannot take a number */
		snprintf(text, sizeof(text),
			 flow > INT64_MAX ? "\"flow\":\"%" PRIu64 "\"" : "\"flow\":%" PRIu64, flow);
		trace_out_text(out, text);
	}
	for (size_t i = 0; i < count; i++) {
		trace_out_text(out, flow || i ? "," : "");
		out_arg(out, &args[i]);
	}
	trace_out_text(out, "}");
}

/* An event of its own, right behind the slice or instant that the flow goes through. */
static void out_flow(struct trace_out *out, uint64_t flow, int64_t time_ns, bool first,
		     uint32_t pid, uint32_t tid)
{
	char text[80];

	out_open(out, first ? "s" : "t", pid, tid);
	out_time(out, time_ns);
	snprintf(text, sizeof(text),
		 ",\"id\":\"0x%" PRIx64 "\",\"cat\":\"" TRACE_FLOW_CATEGORY
		 "\",\"name\":\"" TRACE_FLOW_NAME "\"}",
		 flow);
	trace_out_text(out, text);
}

static void out_whole_event(struct trace_out *out, const struct strata_trace_event *event,
			    uint32_t pid, uint32_t tid)
{
	static const char phases[][2] = { "B", "E", "i", "C", "", "X" };

	out_open(out, phases[event->kind], pid, tid);
	out_time(out, event->time_ns);
	if (event->kind == STRATA_TRACE_SLICE) {
		trace_out_text(out, ",\"dur\":");
		out_duration(out, event->end_ns > event->time_ns
					  ? (uint64_t)event->end_ns - (uint64_t)event->time_ns
					  : 0);
	}
	if (event->kind == STRATA_TRACE_INSTANT)
		trace_out_text(out, ",\"s\":\"t\"");
	if (event->name) {
		trace_out_text(out, ",\"name\":");
		trace_out_string(out, event->name);
	}
	out_args(out, event->flow, event->args, event->arg_count);
	trace_out_text(out, "}");
}

void trace_out_event(struct trace_out *out, const struct strata_trace_event *event, bool flow_first,
		     uint32_t pid, uint32_t tid)
{
	if (!is_drawn(event))
		return;
	if (event->kind != STRATA_TRACE_FLOW)
		out_whole_event(out, event, pid, tid);
	if (event->flow)
		out_flow(out, event->flow, event->time_ns, flow_first, pid, tid);
}

static void out_process(struct trace_out *out, uint32_t pid, const char *name)
{
	trace_out_text(out, "{\"ph\":\"M\",\"pid\":");
	trace_out_int(out, pid);
	trace_out_text(out, ",\"name\":\"process_name\",\"args\":{\"name\":");
	trace_out_string(out, name);
	trace_out_text(out, "}}");
}

void trace_out_names(struct trace_out *out, uint32_t pid, uint32_t tid, const char *process_name,
		     const char *name)
{
	if (process_name) {
		trace_out_text(out, ",\n");
		out_process(out, pid, process_name);
	}
	if (name) {
		out_open(out, "M", pid, tid);
		trace_out_text(out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
		trace_out_string(out, name);
		trace_out_text(out, "}}");
	}
}

static void out_lane(struct trace_out *out, const struct trace_snapshot *snapshot, size_t lane,
		     const struct flow_table *table)
{
	struct trace_row row;

	trace_out_names(out, snapshot->pid, snapshot->tid, snapshot->process_name, snapshot->name);
	for (size_t slot = 0; slot < snapshot->slot_count; slot += row.slot_count) {
		trace_row_read(snapshot, slot, &row);
		if ((int)row.event.kind == KIND_LEFT_OUT)
			continue;
		const struct flow_first *first = row.event.flow ? find_flow(table, row.event.flow)
								: NULL;

		trace_out_event(out, &row.event,
				first && first->lane == lane && first->slot == slot, snapshot->pid,
				snapshot->tid);
	}
}

void trace_out_head(struct trace_out *out, const struct strata_trace_conf *conf, uint64_t dropped)
{
	out->offset_ns = conf->offset_ns;
	trace_out_text(out, "{\"otherData\":{\"source\":\"strata " STRATA_VERSION "\",\"clock\":");
	trace_out_string(out, conf->clock_name);
	trace_out_text(out, ",\"dropped\":");
	trace_out_int(out, (int64_t)dropped);
	trace_out_text(out, "},\n\"traceEvents\":[\n");
	out_process(out, conf->pid, conf->process_name);
}

void trace_out_tail(struct trace_out *out)
{
	trace_out_text(out, "\n]}");
}

static void out_file(struct trace_out *out, const struct strata_trace *trace,
		     const struct trace_snapshot *snapshots, size_t count,
		     const struct flow_table *table)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < count; i++)
		dropped += snapshots[i].dropped_count;
	trace_out_head(out, trace_conf(trace), dropped);
	for (size_t i = 0; i < count; i++)
		out_lane(out, &snapshots[i], i, table);
	trace_out_tail(out);
}

/* As the lanes count it. */
static int64_t in_lane_time(const struct strata_trace *trace, int64_t since_ns)
{
	int64_t offset_ns = trace_conf(trace)->offset_ns, ns;

	if (__builtin_sub_overflow(since_ns, offset_ns, &ns))
		return offset_ns < 0 ? INT64_MAX : INT64_MIN;
	return ns;
}

int strata_trace_write(struct strata_trace *trace, int64_t since_ns, struct strata_arena *arena,
		       const struct strata_trace_sink *sink, struct strata_error *err)
{
	struct trace_out *out = strata_arena_get(arena, sizeof(*out));
	struct trace_snapshot *snapshots;
	struct flow_table table;
	size_t count;

	if (!out)
		return strata_fail_memory(err);
	trace_out_init(out, sink);
	int rc = trace_snapshot(trace, arena, &snapshots, &count, err);

	if (rc == 0)
		rc = find_first_of_flows(snapshots, count, in_lane_time(trace, since_ns), arena,
					 &table, err);
	if (rc < 0)
		return rc;
	out_file(out, trace, snapshots, count, &table);
	return trace_out_finish(out, err);
}
