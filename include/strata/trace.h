/*
 * Trace. Every level writes the same events, so that one file shows a job, its tasks, their steps and the layers
 * coming and going underneath. The file is JSON in the Trace Event Format, which ui.perfetto.dev and
 * chrome://tracing open.
 *
 * A trace has lanes, each of which is a track of the picture. There are two kinds of trace, and whoever adds events need not know which one it is:
 * - strata_trace_new: in memory, for a process that lives long. Each thread adds to a lane of its own, a ring that keeps the newest events.
 *   Adding takes no lock and allocates nothing. strata_trace_write writes what the rings hold, any number of times.
 * - strata_trace_open: straight into a file, for a simulator or a timeline, which has more events than should be in memory. Nothing is kept,
 *   and times need no order. One thread at a time.
 * A NULL lane is tracing switched off: one comparison.
 *
 * Time is an argument, in nanoseconds. Files that name the same clock line up, and strata_trace_merge puts them together. So a live process names
 * "realtime" (since 1970): it may count in its monotonic clock, and says in offset_ns, taken once, what makes realtime of it.
 *
 * A flow is a number that ties events together across threads and processes, such as a job's id: Perfetto draws an
 * arrow from each slice or instant of a flow to the next one in time.
 */
#ifndef STRATA_TRACE_H
#define STRATA_TRACE_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct strata_trace;
struct strata_trace_lane;

/* Flows of jobs have the jobs' numbers; what else is counted has its numbers behind these. */
#define STRATA_TRACE_TASK_FLOWS (UINT64_C(1) << 48) /* generation tasks */
#define STRATA_TRACE_STEP_FLOWS (UINT64_C(1) << 49) /* steps of a pipeline */

/* An argument of an event, shown beside it: "gpus": 8. */
enum strata_trace_arg_kind {
	STRATA_TRACE_ARG_NONE,
	STRATA_TRACE_ARG_INT,
	STRATA_TRACE_ARG_REAL,
	STRATA_TRACE_ARG_TEXT,
};

struct strata_trace_arg {
	enum strata_trace_arg_kind kind;
	/* a ring keeps the pointer: must outlive the trace, as a string literal does */
	const char *key;
	union {
		int64_t integer;
		double real;      /* one that is not finite is written as null */
		const char *text; /* copied; a ring cuts it to STRATA_TRACE_TEXT_BYTES_MAX */
	};
};

enum strata_trace_kind {
	STRATA_TRACE_BEGIN,
	STRATA_TRACE_END,
	STRATA_TRACE_INSTANT,
	STRATA_TRACE_COUNTER,
	STRATA_TRACE_FLOW,
	STRATA_TRACE_SLICE,
};

/* What strata_trace_add takes; the inline functions below fill it. All pointers are borrowed during the call, but for a name and keys in a ring. */
struct strata_trace_event {
	enum strata_trace_kind kind;
	bool copy_name; /* false: a ring keeps `name` as a pointer, which must outlive the trace */
	/* No event of this flow came before. A trace into a file cannot look back and has to be told, with a slice;
	 * rings are looked through when they are written. */
	bool flow_first;
	int64_t time_ns;
	int64_t end_ns;   /* of a slice, which began at time_ns */
	const char *name; /* not NULL, but for an end or a flow, which have none */
	uint64_t flow;    /* 0: none */
	const struct strata_trace_arg *args; /* none of them STRATA_TRACE_ARG_NONE */
	size_t arg_count;                    /* at most STRATA_TRACE_ARG_COUNT_MAX */
};

struct strata_trace_conf {
	uint32_t pid;
	const char *process_name; /* copied; shown as the process's title */
	const char *clock_name;   /* copied; what times in the file count: "realtime", "virtual" */
	int64_t offset_ns;        /* added to the time of every event as it is written */
};

struct strata_trace_lane_conf {
	uint32_t pid; /* 0: the trace's */
	uint32_t tid;
	const char *name; /* copied; the track's title; NULL: none, as for curves */
	/* copied; of another pid than the trace's, with the first of its lanes; else NULL */
	const char *process_name;
	size_t event_count; /* that a ring keeps; of no meaning in a trace into a file */
};

/* Where a file's bytes go: 0, or a negative errno code, which ends the call that was writing and is returned by it. */
struct strata_trace_sink {
	int (*write)(void *context, const char *bytes, size_t count);
	void *context; /* borrowed during the call */
};

/* One file of a merge. `read` gives the number of bytes it stored, 0 at the end, or a negative errno code. */
struct strata_trace_input {
	const char *name; /* for errors and the merged file's list; borrowed during the call */
	ssize_t (*read)(void *context, char *bytes, size_t room);
	void *context; /* borrowed during the call */
};

/* What a merge did. */
struct strata_trace_merged {
	uint64_t event_count;
	size_t process_count;    /* of all files together */
	size_t renumbered_count; /* processes that got another id because an earlier file had theirs */
	size_t left_out_count; /* members of files, such as "systemTraceEvents", too large to keep */
	bool clocks_differ;    /* two files name different clocks: their times do not line up */
};

/*
 * A trace without lanes. Its memory comes from `memory`, which it borrows until strata_trace_free and uses under its
 * own lock; give it one that nothing else uses, with the limit that tracing may take.
 * -EINVAL when a name is NULL.
 */
int strata_trace_new(struct strata_memory *memory, const struct strata_trace_conf *conf,
		     struct strata_trace **ret_trace, struct strata_error *err);

/* Frees the trace and its lanes; no thread may still use one. NULL is nothing. */
void strata_trace_free(struct strata_trace *trace);

/*
 * A trace straight into a file, whose beginning is written. The sink's context is borrowed until strata_trace_close. Failure is sticky: add as you
 * like and hear of it at the end. -EINVAL when a name is NULL.
 */
int strata_trace_open(struct strata_memory *memory, const struct strata_trace_conf *conf,
		      const struct strata_trace_sink *sink, struct strata_trace **ret_trace,
		      struct strata_error *err);

/* Ends the file, and frees the trace and its lanes either way; what the sink returned first, if it failed. NULL is nothing. */
int strata_trace_close(struct strata_trace *trace, struct strata_error *err);

/*
 * A lane, which lives as long as the trace. With a ring, only one thread may add to it, and any may call this, also while another writes the trace
 * out. The ring keeps the newest event_count events of 48 bytes each; a slice or an event with two arguments takes two places, and a copied name or
 * text up to three more.
 *
 * Of a ring: -EINVAL for an event_count of 0 or past STRATA_TRACE_LANE_EVENTS_MAX, -EEXIST when the thread has a lane, -E2BIG past
 * STRATA_TRACE_LANE_COUNT_MAX lanes. A trace into a file may have any number, and does not look whether two are the same.
 */
int strata_trace_add_lane(struct strata_trace *trace, const struct strata_trace_lane_conf *conf,
			  struct strata_trace_lane **ret_lane, struct strata_error *err);

/* Adds an event; in a ring that is full, over the oldest. Use the inline functions below. */
void strata_trace_add(struct strata_trace_lane *lane, const struct strata_trace_event *event);

/*
 * Of strata_trace_new: writes what the lanes hold as one JSON file: {"otherData":{…},"traceEvents":[…]}. Events before since_ns, of the file's clock,
 * are left out (INT64_MIN: none are). otherData has the clock and the number of events that were overwritten before they could
 * be written ("dropped").
 *
 * Any thread may call it while others add events: each lane is copied as it stands at some moment of the call, and
 * events that are overwritten meanwhile count as dropped. The copy (as large as the lanes) is on `arena`.
 *
 * An end whose begin is not in the file is left out. A begin without an end stays: Perfetto draws it to the end of
 * the trace. A time before that of the lane's previous event is written as the latter, since begins and ends must nest;
 * a slice counts as told of when it ended.
 */
int strata_trace_write(struct strata_trace *trace, int64_t since_ns, struct strata_arena *arena,
		       const struct strata_trace_sink *sink, struct strata_error *err);

/*
 * Merges trace files, in the object form or the array form, into one in the object form. Event by event: memory does
 * not grow with the files. Events are copied as they are (their order in the file means nothing to Perfetto, so none
 * is made), but for process ids: one that an earlier file uses is given a number no Linux process has, in all of its
 * file. A flow of ours that an earlier file began is continued; so name the file in which flows begin first.
 * Flow ids of other programs are left alone. Each file's otherData is kept, under its name, in the merged one's.
 *
 * -EBADMSG for what is not a trace, with the file and the byte; -E2BIG for an event past
 * STRATA_TRACE_EVENT_BYTES_MAX or too many processes; what `read` or `write` returned. On failure the sink has got
 * part of a file. Thread-safe, as long as the memory is not shared.
 */
int strata_trace_merge(const struct strata_trace_input *inputs, size_t input_count,
		       struct strata_memory *memory, const struct strata_trace_sink *sink,
		       struct strata_trace_merged *ret_merged, struct strata_error *err);

static inline struct strata_trace_arg strata_trace_none(void)
{
	struct strata_trace_arg arg;

	arg.kind = STRATA_TRACE_ARG_NONE;
	arg.key = NULL;
	arg.integer = 0;
	return arg;
}

static inline struct strata_trace_arg strata_trace_int(const char *key, int64_t value)
{
	struct strata_trace_arg arg;

	arg.kind = STRATA_TRACE_ARG_INT;
	arg.key = key;
	arg.integer = value;
	return arg;
}

static inline struct strata_trace_arg strata_trace_real(const char *key, double value)
{
	struct strata_trace_arg arg;

	arg.kind = STRATA_TRACE_ARG_REAL;
	arg.key = key;
	arg.real = value;
	return arg;
}

static inline struct strata_trace_arg strata_trace_text(const char *key, const char *value)
{
	struct strata_trace_arg arg;

	arg.kind = STRATA_TRACE_ARG_TEXT;
	arg.key = key;
	arg.text = value;
	return arg;
}

static inline void strata_trace_add_if(struct strata_trace_lane *lane, enum strata_trace_kind kind,
				       int64_t time_ns, const char *name, bool copy_name,
				       uint64_t flow, struct strata_trace_arg arg)
{
	struct strata_trace_event event;

	if (!lane)
		return;
	event.kind = kind;
	event.copy_name = copy_name;
	event.flow_first = false;
	event.time_ns = event.end_ns = time_ns;
	event.name = name;
	event.flow = flow;
	event.args = &arg;
	event.arg_count = arg.kind != STRATA_TRACE_ARG_NONE;
	strata_trace_add(lane, &event);
}

/* Something that took from time_ns to end_ns, told of when it is over. Slices of a lane nest or lie apart; `kind` is filled in here. */
static inline void strata_trace_slice(struct strata_trace_lane *lane,
				      struct strata_trace_event slice)
{
	if (!lane)
		return;
	slice.kind = STRATA_TRACE_SLICE;
	strata_trace_add(lane, &slice);
}

/* The same in two calls, for what should be seen while it goes on: a slice from here to the matching end; slices of a lane nest. `name` is a string
 * literal or lives as long. */
static inline void strata_trace_begin(struct strata_trace_lane *lane, int64_t time_ns,
				      const char *name, uint64_t flow, struct strata_trace_arg arg)
{
	strata_trace_add_if(lane, STRATA_TRACE_BEGIN, time_ns, name, false, flow, arg);
}

/* The same under a name that is made up at run time, such as a job's; it is copied. */
static inline void strata_trace_begin_copy(struct strata_trace_lane *lane, int64_t time_ns,
					   const char *name, uint64_t flow,
					   struct strata_trace_arg arg)
{
	strata_trace_add_if(lane, STRATA_TRACE_BEGIN, time_ns, name, true, flow, arg);
}

/* Ends the innermost slice. */
static inline void strata_trace_end(struct strata_trace_lane *lane, int64_t time_ns)
{
	strata_trace_add_if(lane, STRATA_TRACE_END, time_ns, NULL, false, 0, strata_trace_none());
}

/* Something that happens at one moment. */
static inline void strata_trace_instant(struct strata_trace_lane *lane, int64_t time_ns,
					const char *name, uint64_t flow,
					struct strata_trace_arg arg)
{
	strata_trace_add_if(lane, STRATA_TRACE_INSTANT, time_ns, name, false, flow, arg);
}

static inline void strata_trace_instant_copy(struct strata_trace_lane *lane, int64_t time_ns,
					     const char *name, uint64_t flow,
					     struct strata_trace_arg arg)
{
	strata_trace_add_if(lane, STRATA_TRACE_INSTANT, time_ns, name, true, flow, arg);
}

/* Curves of the process, one per value, each titled by name and key. None is drawn if a value is not a finite number. */
static inline void strata_trace_counters(struct strata_trace_lane *lane, int64_t time_ns,
					 const char *name, const struct strata_trace_arg *values,
					 size_t count)
{
	struct strata_trace_event event;

	if (!lane)
		return;
	event.kind = STRATA_TRACE_COUNTER;
	event.copy_name = event.flow_first = false;
	event.time_ns = event.end_ns = time_ns;
	event.name = name;
	event.flow = 0;
	event.args = values;
	event.arg_count = count;
	strata_trace_add(lane, &event);
}

/* The same of one value: ("queue", strata_trace_int("length", 12)). */
static inline void strata_trace_counter(struct strata_trace_lane *lane, int64_t time_ns,
					const char *name, struct strata_trace_arg value)
{
	strata_trace_counters(lane, time_ns, name, &value, value.kind != STRATA_TRACE_ARG_NONE);
}

/* The innermost open slice belongs to this flow too: a batch belongs to each of its tasks. Without an open slice
 * there is nothing to tie, and it is left out. */
static inline void strata_trace_flow(struct strata_trace_lane *lane, int64_t time_ns, uint64_t flow)
{
	strata_trace_add_if(lane, STRATA_TRACE_FLOW, time_ns, NULL, false, flow,
			    strata_trace_none());
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
