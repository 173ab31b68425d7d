/*
 * The trace and its lanes. A lane is a ring of 48-byte places with one writer. An event takes one place; a copied name
 * or text follows it in places of its own, so that texts come and go with their events and need no table.
 *
 * How a lane is read while its thread writes: every word of the ring is an atomic, and `written` counts the places
 * that are complete. The reader takes `written` (h1), copies the places before it, and takes `written` again (h2).
 * Meanwhile the writer may have begun to overwrite old places, at most EVENT_SLOTS_MAX beyond h2. Words are stored
 * with release and read with acquire: a reader that saw any word of a later event also sees, in h2, the count from
 * before that event. So what lies at or after h2 + EVENT_SLOTS_MAX - slot_count is whole, the rest is dropped.
 * The writer never waits, and never knows that it is read. No fence, no lock, no torn event.
 *
 * The list of lanes has a lock; adding a lane and writing a file are rare.
 */
#include "core/trace_int.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "lanes need lock-free 64-bit words");
_Static_assert(TRACE_SLOT_WORDS * sizeof(uint64_t) <= 64, "an event is at most a cache line");

enum {
	TEXT_WORDS = TRACE_SLOT_WORDS -
		     1, /* of a place that holds text; its first word is the header */
	TEXT_SLOTS_MAX = STRATA_TRACE_TEXT_BYTES_MAX / (TEXT_WORDS * 8),
	EVENT_SLOTS_MAX = 1 + 2 * TEXT_SLOTS_MAX,
	KIND_TEXT = 0xFF,       /* beside enum strata_trace_kind */
	ARG_NAME_COPIED = 0x80, /* flag beside enum strata_trace_arg_kind */
	ORDINAL_SHIFT = 16,
};
_Static_assert(STRATA_TRACE_TEXT_BYTES_MAX % (TEXT_WORDS * 8) == 0, "texts fill their places");

/* The words of an event. Header: kind, argument kind and flag, and 48 bits of the event's number in its lane. */
enum {
	HEADER,
	TIME,
	NAME /* pointer, or length if copied */,
	FLOW,
	KEY,
	VALUE /* or the text's length */
};

struct strata_trace_lane {
	/* the writer's own */
	size_t slot;       /* where the next event goes */
	uint64_t ordinal;  /* its number */
	uint64_t position; /* == written */

	_Atomic uint64_t written; /* complete places so far */

	/* constant */
	_Atomic uint64_t *words; /* slot_count × TRACE_SLOT_WORDS; owned */
	size_t slot_count;
	uint32_t tid;
	char *name;                     /* owned */
	struct strata_trace_lane *next; /* under the trace's lock */
};

struct strata_trace {
	struct strata_memory *memory; /* borrowed; used under the lock */
	pthread_mutex_t lock;
	struct strata_trace_lane *first, *last; /* oldest first; owned */
	size_t lane_count;
	uint32_t pid;
	char *process_name; /* owned */
	char *clock_name;   /* owned */
};

static char *copy_text(struct strata_memory *memory, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = strata_memory_get(memory, size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

static void free_text(struct strata_memory *memory, char *text)
{
	if (text)
		strata_memory_put(memory, text, strlen(text) + 1);
}

int strata_trace_new(struct strata_memory *memory, const struct strata_trace_conf *conf,
		     struct strata_trace **ret_trace, struct strata_error *err)
{
	if (!conf->process_name || !conf->clock_name)
		return strata_fail(err, -EINVAL, "a trace has no %s name; expected one",
				   conf->process_name ? "clock" : "process");
	struct strata_trace *trace = strata_memory_get(memory, sizeof(*trace));

	if (!trace)
		return strata_fail_memory(err);
	trace->memory = memory;
	trace->pid = conf->pid;
	pthread_mutex_init(&trace->lock, NULL);
	trace->process_name = copy_text(memory, conf->process_name);
	trace->clock_name = copy_text(memory, conf->clock_name);
	if (!trace->process_name || !trace->clock_name) {
		strata_trace_free(trace);
		return strata_fail_memory(err);
	}
	*ret_trace = trace;
	return 0;
}

static size_t ring_bytes(const struct strata_trace_lane *lane)
{
	return lane->slot_count * TRACE_SLOT_WORDS * sizeof(uint64_t);
}

static void free_lane(struct strata_memory *memory, struct strata_trace_lane *lane)
{
	strata_memory_put(memory, lane->words, ring_bytes(lane));
	free_text(memory, lane->name);
	strata_memory_put(memory, lane, sizeof(*lane));
}

void strata_trace_free(struct strata_trace *trace)
{
	if (!trace)
		return;
	for (struct strata_trace_lane *lane = trace->first, *next; lane; lane = next) {
		next = lane->next;
		free_lane(trace->memory, lane);
	}
	free_text(trace->memory, trace->process_name);
	free_text(trace->memory, trace->clock_name);
	pthread_mutex_destroy(&trace->lock);
	strata_memory_put(trace->memory, trace, sizeof(*trace));
}

static int new_lane(struct strata_memory *memory, uint32_t tid, const char *name,
		    size_t event_count, struct strata_trace_lane **ret_lane,
		    struct strata_error *err)
{
	struct strata_trace_lane *lane = strata_memory_get(memory, sizeof(*lane));

	if (!lane)
		return strata_fail_memory(err);
	lane->tid = tid;
	lane->slot_count = event_count +
			   EVENT_SLOTS_MAX; /* so that event_count whole ones can be read */
	lane->name = copy_text(memory, name);
	lane->words = lane->name ? strata_memory_get(memory, ring_bytes(lane)) : NULL;
	if (!lane->words) {
		free_lane(memory, lane);
		return strata_fail_memory(err);
	}
	*ret_lane = lane;
	return 0;
}

static int add_lane_locked(struct strata_trace *trace, uint32_t tid, const char *name,
			   size_t event_count, struct strata_trace_lane **ret_lane,
			   struct strata_error *err)
{
	if (trace->lane_count == STRATA_TRACE_LANE_COUNT_MAX)
		return strata_fail(err, -E2BIG,
				   "the trace has %d lanes; expected at most that many",
				   STRATA_TRACE_LANE_COUNT_MAX);
	for (struct strata_trace_lane *lane = trace->first; lane; lane = lane->next)
		if (lane->tid == tid)
			return strata_fail(err, -EEXIST, "thread %u has a trace lane already (%s)",
					   tid, lane->name);
	int rc = new_lane(trace->memory, tid, name, event_count, ret_lane, err);

	if (rc < 0)
		return rc;
	if (trace->last)
		trace->last->next = *ret_lane;
	else
		trace->first = *ret_lane;
	trace->last = *ret_lane;
	trace->lane_count++;
	return 0;
}

int strata_trace_add_lane(struct strata_trace *trace, uint32_t tid, const char *name,
			  size_t event_count, struct strata_trace_lane **ret_lane,
			  struct strata_error *err)
{
	if (event_count < 1 || event_count > STRATA_TRACE_LANE_EVENTS_MAX)
		return strata_fail(err, -EINVAL, "a trace lane of %zu events; expected 1 to %d",
				   event_count, STRATA_TRACE_LANE_EVENTS_MAX);
	pthread_mutex_lock(&trace->lock);
	int rc = add_lane_locked(trace, tid, name, event_count, ret_lane, err);

	pthread_mutex_unlock(&trace->lock);
	return rc;
}

/* Length of a text cut to the limit, at a character's edge. */
static size_t cut_length(const char *text)
{
	size_t length = strnlen(text, STRATA_TRACE_TEXT_BYTES_MAX + 1);

	if (length <= STRATA_TRACE_TEXT_BYTES_MAX)
		return length;
	length = STRATA_TRACE_TEXT_BYTES_MAX;
	for (int i = 0; i < 3 && ((unsigned char)text[length] & 0xC0) == 0x80; i++)
		length--;
	return length;
}

static inline void put_slot(struct strata_trace_lane *lane, const uint64_t *words)
{
	_Atomic uint64_t *slot = lane->words + lane->slot * TRACE_SLOT_WORDS;

	for (int i = 0; i < TRACE_SLOT_WORDS; i++)
		atomic_store_explicit(&slot[i], words[i], memory_order_release);
	lane->slot = lane->slot + 1 == lane->slot_count ? 0 : lane->slot + 1;
	lane->position++;
}

static void put_text(struct strata_trace_lane *lane, const char *text, size_t length)
{
	for (size_t done = 0; done < length; done += TEXT_WORDS * 8) {
		uint64_t words[TRACE_SLOT_WORDS] = { KIND_TEXT | lane->ordinal << ORDINAL_SHIFT };
		size_t count = length - done < TEXT_WORDS * 8 ? length - done : TEXT_WORDS * 8;

		memcpy(words + 1, text + done, count);
		put_slot(lane, words);
	}
}

void strata_trace_add(struct strata_trace_lane *lane, const struct strata_trace_event *event)
{
	const struct strata_trace_arg *arg = &event->arg;
	bool has_text = arg->kind == STRATA_TRACE_ARG_TEXT;
	size_t name_length = event->copy_name ? cut_length(event->name) : 0;
	size_t text_length = has_text ? cut_length(arg->text) : 0;
	uint64_t words[TRACE_SLOT_WORDS];

	assert(event->name || event->kind == STRATA_TRACE_END || event->kind == STRATA_TRACE_FLOW);
	words[HEADER] = (uint64_t)event->kind |
			(uint64_t)((int)arg->kind | (event->copy_name ? ARG_NAME_COPIED : 0)) << 8 |
			lane->ordinal << ORDINAL_SHIFT;
	words[TIME] = (uint64_t)event->time_ns;
	words[NAME] = event->copy_name ? name_length : (uintptr_t)event->name;
	words[FLOW] = event->flow;
	words[KEY] = (uintptr_t)arg->key;
	words[VALUE] = has_text ? text_length : (uint64_t)arg->integer; /* a real's bits too */
	put_slot(lane, words);
	if (name_length)
		put_text(lane, event->name, name_length);
	if (text_length)
		put_text(lane, arg->text, text_length);
	lane->ordinal++;
	atomic_store_explicit(&lane->written, lane->position, memory_order_release);
}

static void copy_slot(const struct strata_trace_lane *lane, uint64_t position, uint64_t *words)
{
	const _Atomic uint64_t *slot = lane->words + position % lane->slot_count * TRACE_SLOT_WORDS;

	for (int i = 0; i < TRACE_SLOT_WORDS; i++)
		words[i] = atomic_load_explicit(&slot[i], memory_order_acquire);
}

/* The first place that is whole when `written` places are. */
static uint64_t oldest_whole(const struct strata_trace_lane *lane, uint64_t written)
{
	uint64_t lost = written + EVENT_SLOTS_MAX;

	return lost > lane->slot_count ? lost - lane->slot_count : 0;
}

/* The index of the first event from `from` on in a copy of `count` places (a text whose event is gone goes too), and
 * how many events came before it. Each header is an atomic of its own: even in a place that is not whole it tells. */
static size_t first_event(const uint64_t *words, size_t from, size_t count, uint64_t *ret_before)
{
	uint64_t before = 0;
	size_t at = 0;

	for (; at < count; at++) {
		uint64_t header = words[at * TRACE_SLOT_WORDS];

		before = header >> ORDINAL_SHIFT;
		if (at >= from && (header & 0xFF) != KIND_TEXT)
			break;
		before++;
	}
	*ret_before = before;
	return at;
}

static int snapshot_lane(const struct strata_trace_lane *lane, struct strata_arena *arena,
			 struct trace_snapshot *snapshot, struct strata_error *err)
{
	uint64_t *words = strata_arena_get(arena, ring_bytes(lane));

	if (!words)
		return strata_fail_memory(err);
	uint64_t end = atomic_load_explicit(&lane->written, memory_order_acquire);
	uint64_t start = oldest_whole(lane, end);

	for (uint64_t at = start; at < end; at++)
		copy_slot(lane, at, words + (at - start) * TRACE_SLOT_WORDS);
	uint64_t whole =
		oldest_whole(lane, atomic_load_explicit(&lane->written, memory_order_acquire));
	size_t first = first_event(words, whole - start, end - start, &snapshot->dropped_count);

	snapshot->tid = lane->tid;
	snapshot->name = lane->name;
	snapshot->words = words + first * TRACE_SLOT_WORDS;
	snapshot->slot_count = end - start - first;
	return 0;
}

static int snapshot_locked(const struct strata_trace *trace, struct strata_arena *arena,
			   struct trace_snapshot *snapshots, struct strata_error *err)
{
	for (const struct strata_trace_lane *lane = trace->first; lane; lane = lane->next) {
		int rc = snapshot_lane(lane, arena, snapshots++, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int trace_snapshot(struct strata_trace *trace, struct strata_arena *arena,
		   struct trace_snapshot **ret_snapshots, size_t *ret_count,
		   struct strata_error *err)
{
	int rc;

	pthread_mutex_lock(&trace->lock);
	size_t count = trace->lane_count;
	struct trace_snapshot *snapshots =
		strata_arena_array(arena, count, sizeof(struct trace_snapshot));

	rc = snapshots ? snapshot_locked(trace, arena, snapshots, err) : strata_fail_memory(err);
	pthread_mutex_unlock(&trace->lock);
	if (rc < 0)
		return rc;
	*ret_snapshots = snapshots;
	*ret_count = count;
	return 0;
}

/* Puts a text together from the places behind its event; the number of them. */
static size_t read_text(const uint64_t *words, char *text, size_t length)
{
	size_t slots = 0;

	for (size_t done = 0; done < length; done += TEXT_WORDS * 8, slots++) {
		size_t count = length - done < TEXT_WORDS * 8 ? length - done : TEXT_WORDS * 8;

		memcpy(text + done, words + slots * TRACE_SLOT_WORDS + 1, count);
	}
	text[length] = '\0';
	return slots;
}

void trace_row_read(const struct trace_snapshot *snapshot, size_t slot, struct trace_row *row)
{
	const uint64_t *words = snapshot->words + slot * TRACE_SLOT_WORDS;
	struct strata_trace_event *event = &row->event;
	int arg = words[HEADER] >> 8 & 0xFF;

	event->kind = (enum strata_trace_kind)(words[HEADER] & 0xFF);
	event->copy_name = arg & ARG_NAME_COPIED;
	event->time_ns = (int64_t)words[TIME];
	event->flow = words[FLOW];
	event->arg.kind = (enum strata_trace_arg_kind)(arg & ~ARG_NAME_COPIED);
	event->arg.key = (const char *)(uintptr_t)words[KEY];
	event->arg.integer = (int64_t)words[VALUE];
	event->name = (const char *)(uintptr_t)words[NAME];
	row->slot_count = 1;
	if (event->copy_name) {
		row->slot_count += read_text(words + TRACE_SLOT_WORDS, row->name, words[NAME]);
		event->name = row->name;
	}
	if (event->arg.kind == STRATA_TRACE_ARG_TEXT) {
		row->slot_count += read_text(words + row->slot_count * TRACE_SLOT_WORDS, row->text,
					     words[VALUE]);
		event->arg.text = row->text;
	}
}

uint32_t trace_pid(const struct strata_trace *trace)
{
	return trace->pid;
}

const char *trace_process_name(const struct strata_trace *trace)
{
	return trace->process_name;
}

const char *trace_clock_name(const struct strata_trace *trace)
{
	return trace->clock_name;
}
