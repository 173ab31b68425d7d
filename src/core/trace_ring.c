/*
 * A lane's ring: 48-byte places with one writer. An event takes one place. What does not fit there (the end of a slice, further arguments, copied names
 * and texts) follows in places of its own, so that it comes and goes with its event and needs no table.
 *
 * How a ring is read while its thread writes: every word of the ring is an atomic, and `written` counts the places
 * that are complete. The reader takes `written` (h1), copies the places before it, and takes `written` again (h2).
 * Meanwhile the writer may have begun to overwrite old places, at most EVENT_SLOTS_MAX beyond h2. Words are stored
 * with release and read with acquire: a reader that saw any word of a later event also sees, in h2, the count from
 * before that event. So what lies at or after h2 + EVENT_SLOTS_MAX - slot_count is whole, the rest is dropped.
 * The writer never waits, and never knows that it is read. No fence, no lock, no torn event.
 */
#include "core/trace_int.h"

#include <assert.h>
#include <string.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "rings need lock-free 64-bit words");
_Static_assert(TRACE_SLOT_WORDS * sizeof(uint64_t) <= 64, "an event is at most a cache line");

enum {
	/* of a place that continues an event; its first word is the header */
	REST_BYTES = (TRACE_SLOT_WORDS - 1) * 8,
	TEXT_SLOTS_MAX = STRATA_TRACE_TEXT_BYTES_MAX / REST_BYTES,
	MORE_BYTES_MAX = 16 * STRATA_TRACE_ARG_COUNT_MAX, /* see struct more */
	EVENT_SLOTS_MAX = 1 + (MORE_BYTES_MAX + REST_BYTES - 1) / REST_BYTES +
			  (1 + STRATA_TRACE_ARG_COUNT_MAX) * TEXT_SLOTS_MAX,
	KIND_REST = 0xFF, /* beside enum strata_trace_kind */
	FLAG_NAME_COPIED = 0x80,
	FLAG_MORE = 0x40, /* beside enum strata_trace_arg_kind */
	ORDINAL_SHIFT = 16,
	ARG_KIND_BITS = 4,
};
_Static_assert(STRATA_TRACE_TEXT_BYTES_MAX % REST_BYTES == 0, "texts fill their places");
_Static_assert(ARG_KIND_BITS *STRATA_TRACE_ARG_COUNT_MAX <= 56, "kinds fit beside the count");

/* The words of an event. Header: kind, the first argument's kind and flags, and 48 bits of the event's number in its lane. */
enum {
	HEADER,
	TIME,
	NAME /* pointer, or length if copied */,
	FLOW,
	KEY,
	VALUE /* or the text's length */
};

/* What a slice has beside that, or an event of several arguments. */
struct more {
	int64_t end_ns;
	uint64_t counts; /* of arguments, in 8 bits; above them the kind of each but the first */
	struct {
		uint64_t key, value;
	} args[STRATA_TRACE_ARG_COUNT_MAX - 1];
};
_Static_assert(sizeof(struct more) == MORE_BYTES_MAX, "it is copied as it lies");

static size_t more_bytes(size_t arg_count)
{
	return arg_count > 1 ? 16 * arg_count : 16;
}

/* ---- writing ---- */

int trace_ring_init(struct trace_ring *ring, struct strata_memory *memory, size_t event_count)
{
	/* so that event_count whole ones can be read */
	size_t slot_count = event_count + EVENT_SLOTS_MAX;
	_Atomic uint64_t *words =
		strata_memory_get(memory, slot_count * TRACE_SLOT_WORDS * sizeof(uint64_t));

	if (!words)
		return -1;
	*ring = (struct trace_ring){ .words = words, .slot_count = slot_count };
	return 0;
}

static size_t ring_bytes(const struct trace_ring *ring)
{
	return ring->slot_count * TRACE_SLOT_WORDS * sizeof(uint64_t);
}

void trace_ring_fini(struct trace_ring *ring, struct strata_memory *memory)
{
	strata_memory_put(memory, ring->words, ring_bytes(ring));
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

static inline void put_slot(struct trace_ring *ring, const uint64_t *words)
{
	_Atomic uint64_t *slot = ring->words + ring->slot * TRACE_SLOT_WORDS;

	for (int i = 0; i < TRACE_SLOT_WORDS; i++)
		atomic_store_explicit(&slot[i], words[i], memory_order_release);
	ring->slot = ring->slot + 1 == ring->slot_count ? 0 : ring->slot + 1;
	ring->position++;
}

/* Further places of the event at hand. */
static void put_rest(struct trace_ring *ring, const void *bytes, size_t length)
{
	for (size_t done = 0; done < length; done += REST_BYTES) {
		uint64_t words[TRACE_SLOT_WORDS] = { KIND_REST | ring->ordinal << ORDINAL_SHIFT };
		size_t count = length - done < REST_BYTES ? length - done : REST_BYTES;

		memcpy(words + 1, (const char *)bytes + done, count);
		put_slot(ring, words);
	}
}

static uint64_t value_word(const struct strata_trace_arg *arg)
{
	/* a real's bits too */
	return arg->kind == STRATA_TRACE_ARG_TEXT ? cut_length(arg->text) : (uint64_t)arg->integer;
}

static void put_more(struct trace_ring *ring, const struct strata_trace_event *event)
{
	struct more more = { event->end_ns, event->arg_count, { { 0, 0 } } };

	for (size_t i = 1; i < event->arg_count; i++) {
		const struct strata_trace_arg *arg = &event->args[i];

		more.counts |= (uint64_t)arg->kind << (8 + ARG_KIND_BITS * i);
		more.args[i - 1].key = (uintptr_t)arg->key;
		more.args[i - 1].value = value_word(arg);
	}
	put_rest(ring, &more, more_bytes(event->arg_count));
}

void trace_ring_add(struct trace_ring *ring, const struct strata_trace_event *event)
{
	const struct strata_trace_arg none = strata_trace_none(),
				      *first = event->arg_count ? event->args : &none;
	size_t name_length = event->copy_name ? cut_length(event->name) : 0;
	bool more = event->kind == STRATA_TRACE_SLICE || event->arg_count > 1;
	int flags = (event->copy_name ? FLAG_NAME_COPIED : 0) | (more ? FLAG_MORE : 0);
	uint64_t words[TRACE_SLOT_WORDS];

	words[HEADER] = (uint64_t)event->kind | (uint64_t)((int)first->kind | flags) << 8 |
			ring->ordinal << ORDINAL_SHIFT;
	words[TIME] = (uint64_t)event->time_ns;
	words[NAME] = event->copy_name ? name_length : (uintptr_t)event->name;
	words[FLOW] = event->flow;
	words[KEY] = (uintptr_t)first->key;
	words[VALUE] = value_word(first);
	put_slot(ring, words);
	if (more)
		put_more(ring, event);
	put_rest(ring, event->name, name_length);
	for (size_t i = 0; i < event->arg_count; i++)
		if (event->args[i].kind == STRATA_TRACE_ARG_TEXT)
			put_rest(ring, event->args[i].text, cut_length(event->args[i].text));
	ring->ordinal++;
	atomic_store_explicit(&ring->written, ring->position, memory_order_release);
}

/* ---- reading ---- */

static void copy_slot(const struct trace_ring *ring, uint64_t position, uint64_t *words)
{
	const _Atomic uint64_t *slot = ring->words + position % ring->slot_count * TRACE_SLOT_WORDS;

	for (int i = 0; i < TRACE_SLOT_WORDS; i++)
		words[i] = atomic_load_explicit(&slot[i], memory_order_acquire);
}

/* The first place that is whole when `written` places are. */
static uint64_t oldest_whole(const struct trace_ring *ring, uint64_t written)
{
	uint64_t lost = written + EVENT_SLOTS_MAX;

	return lost > ring->slot_count ? lost - ring->slot_count : 0;
}

/* The index of the first event from `from` on in a copy of `count` places (the rest of one that is gone goes too), and
 * how many events came before it. Each header is an atomic of its own: even in a place that is not whole it tells. */
static size_t first_event(const uint64_t *words, size_t from, size_t count, uint64_t *ret_before)
{
	uint64_t before = 0;
	size_t at = 0;

	for (; at < count; at++) {
		uint64_t header = words[at * TRACE_SLOT_WORDS];

		before = header >> ORDINAL_SHIFT;
		if (at >= from && (header & 0xFF) != KIND_REST)
			break;
		before++;
	}
	*ret_before = before;
	return at;
}

int trace_ring_copy(const struct trace_ring *ring, struct strata_arena *arena,
		    struct trace_snapshot *snapshot)
{
	uint64_t *words = strata_arena_get(arena, ring_bytes(ring));

	if (!words)
		return -1;
	uint64_t end = atomic_load_explicit(&ring->written, memory_order_acquire);
	uint64_t start = oldest_whole(ring, end);

	for (uint64_t at = start; at < end; at++)
		copy_slot(ring, at, words + (at - start) * TRACE_SLOT_WORDS);
	uint64_t whole =
		oldest_whole(ring, atomic_load_explicit(&ring->written, memory_order_acquire));
	size_t first = first_event(words, whole - start, end - start, &snapshot->dropped_count);

	snapshot->words = words + first * TRACE_SLOT_WORDS;
	snapshot->slot_count = end - start - first;
	return 0;
}

/* Puts the next bytes of an event together from the places behind those that were read. */
static void read_rest(const uint64_t *words, struct trace_row *row, void *bytes, size_t length)
{
	for (size_t done = 0; done < length; done += REST_BYTES) {
		size_t count = length - done < REST_BYTES ? length - done : REST_BYTES;

		memcpy((char *)bytes + done, words + row->slot_count++ * TRACE_SLOT_WORDS + 1,
		       count);
	}
}

static void read_more(const uint64_t *words, struct trace_row *row)
{
	struct more more;

	/* how much there is stands in its first place */
	memcpy(&more, words + row->slot_count * TRACE_SLOT_WORDS + 1, more_bytes(0));
	row->event.end_ns = more.end_ns;
	row->event.arg_count = more.counts & 0xFF;
	read_rest(words, row, &more, more_bytes(row->event.arg_count));
	for (size_t i = 1; i < row->event.arg_count; i++) {
		uint64_t kind = more.counts >> (8 + ARG_KIND_BITS * i) & 0xF;

		row->args[i].kind = (enum strata_trace_arg_kind)kind;
		row->args[i].key = (const char *)(uintptr_t)more.args[i - 1].key;
		row->args[i].integer = (int64_t)more.args[i - 1].value;
	}
}

static void read_texts(const uint64_t *words, struct trace_row *row)
{
	for (size_t i = 0; i < row->event.arg_count; i++) {
		struct strata_trace_arg *arg = &row->args[i];

		if (arg->kind != STRATA_TRACE_ARG_TEXT)
			continue;
		size_t length = (size_t)arg->integer;

		read_rest(words, row, row->texts[i], length);
		row->texts[i][length] = '\0';
		arg->text = row->texts[i];
	}
}

void trace_row_read(const struct trace_snapshot *snapshot, size_t slot, struct trace_row *row)
{
	const uint64_t *words = snapshot->words + slot * TRACE_SLOT_WORDS;
	struct strata_trace_event *event = &row->event;
	int flags = words[HEADER] >> 8 & 0xFF;

	*event =
		(struct strata_trace_event){ .kind = (enum strata_trace_kind)(words[HEADER] & 0xFF),
					     .copy_name = flags & FLAG_NAME_COPIED,
					     .time_ns = (int64_t)words[TIME],
					     .name = (const char *)(uintptr_t)words[NAME],
					     .flow = words[FLOW],
					     .args = row->args };
	row->args[0].kind = (enum strata_trace_arg_kind)(flags & ~(FLAG_NAME_COPIED | FLAG_MORE));
	row->args[0].key = (const char *)(uintptr_t)words[KEY];
	row->args[0].integer = (int64_t)words[VALUE];
	event->arg_count = row->args[0].kind != STRATA_TRACE_ARG_NONE;
	row->slot_count = 1;
	if (flags & FLAG_MORE)
		read_more(words, row);
	if (event->copy_name) {
		read_rest(words, row, row->name, words[NAME]);
		row->name[words[NAME]] = '\0';
		event->name = row->name;
	}
	read_texts(words, row);
}
