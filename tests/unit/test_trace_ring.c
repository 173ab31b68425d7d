#include "test.h"

#include "core/trace_int.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every field of an event follows from its number, so that a mixture of two shows; there may be any number of arguments. */
static void add(struct trace_ring *ring, int64_t i)
{
	struct strata_trace_arg args[STRATA_TRACE_ARG_COUNT_MAX];
	char name[200], text[200];
	size_t count = (size_t)i % (STRATA_TRACE_ARG_COUNT_MAX + 1);

	snprintf(name, sizeof(name), "%0*lld", (int)(20 + i % 100), (long long)i);
	snprintf(text, sizeof(text), "%0*lld", (int)(20 + i % 90), (long long)i);
	for (size_t k = 0; k < count; k++)
		args[k] = k % 3 == 0   ? strata_trace_int("i", i)
			  : k % 3 == 1 ? strata_trace_text("t", text)
				       : strata_trace_real("r", (double)i);
	trace_ring_add(ring, &(struct strata_trace_event){ .kind = i % 2 ? STRATA_TRACE_SLICE
									 : STRATA_TRACE_INSTANT,
							   .copy_name = i % 3 == 0,
							   .time_ns = i,
							   .end_ns = 2 * i,
							   .name = i % 3 == 0 ? name : "static",
							   .flow = (uint64_t)i,
							   .args = args,
							   .arg_count = count });
}

static void check(const struct trace_row *row, int64_t i)
{
	const struct strata_trace_event *event = &row->event;

	CHECK_INT(event->kind, i % 2 ? STRATA_TRACE_SLICE : STRATA_TRACE_INSTANT);
	CHECK_INT(event->time_ns, i);
	CHECK(event->kind != STRATA_TRACE_SLICE || event->end_ns == 2 * i);
	CHECK_INT(event->flow, i);
	if (i % 3 == 0)
		CHECK_INT(atoll(event->name), i);
	else
		CHECK_TEXT(event->name, "static");
	CHECK_INT(event->arg_count, i % (STRATA_TRACE_ARG_COUNT_MAX + 1));
	for (size_t k = 0; k < event->arg_count; k++) {
		const struct strata_trace_arg *arg = &event->args[k];

		CHECK_TEXT(arg->key, k % 3 == 0 ? "i" : k % 3 == 1 ? "t" : "r");
		if (k % 3 == 0)
			CHECK_INT(arg->integer, i);
		else if (k % 3 == 1)
			CHECK_INT(strlen(arg->text), 20 + i % 90);
		else
			CHECK_NEAR(arg->real, (double)i, 0);
	}
}

/* The number of events that were read; each is whole. */
static int64_t check_ring(const struct trace_ring *ring, struct strata_arena *arena)
{
	struct trace_snapshot snapshot;
	struct trace_row row;

	CHECK_INT(trace_ring_copy(ring, arena, &snapshot), 0);
	int64_t at = (int64_t)snapshot.dropped_count, first = at;

	for (size_t slot = 0; slot < snapshot.slot_count; slot += row.slot_count, at++) {
		trace_row_read(&snapshot, slot, &row);
		check(&row, at);
	}
	strata_arena_reset(arena);
	return at - first;
}

TEST(slices_and_arguments_come_back_whole_however_they_wrap)
{
	struct strata_memory memory = { 0 }, scratch = { 0 };
	struct strata_arena arena;
	struct trace_ring ring;

	strata_arena_init(&arena, &scratch, 0);
	for (size_t room = 1; room < 120; room += 17) {
		CHECK_INT(trace_ring_init(&ring, &memory, room), 0);
		for (int64_t i = 0; i < 300; i++) {
			add(&ring, i);
			CHECK(check_ring(&ring, &arena) <= i + 1);
		}
		CHECK(check_ring(&ring, &arena) >=
		      (int64_t)room / 32); /* the largest takes 32 places */
		trace_ring_fini(&ring, &memory);
	}
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

/* What a slice costs: a place for itself and one for its end and a second argument. */
TEST(a_slice_of_two_arguments_takes_two_places)
{
	const struct strata_trace_arg args[] = { strata_trace_int("a", 1),
						 strata_trace_int("b", 2) };
	struct strata_memory memory = { 0 };
	struct trace_ring ring;

	CHECK_INT(trace_ring_init(&ring, &memory, 10), 0);
	for (size_t count = 0; count <= 2; count++)
		trace_ring_add(&ring, &(struct strata_trace_event){ .kind = STRATA_TRACE_SLICE,
								    .name = "s",
								    .args = args,
								    .arg_count = count });
	CHECK_INT(ring.written, 6);
	trace_ring_fini(&ring, &memory);
}

struct writer {
	struct trace_ring *ring;
	atomic_bool stop;
};

static void *write_events(void *context)
{
	struct writer *writer = context;

	for (int64_t i = 0; !atomic_load(&writer->stop); i++)
		add(writer->ring, i);
	return NULL;
}

TEST(a_ring_is_read_while_its_thread_writes)
{
	struct strata_memory memory = { 0 }, scratch = { 0 };
	struct trace_ring ring;
	struct writer writer = { .ring = &ring };
	struct strata_arena arena;
	pthread_t thread;
	int live = 0;

	strata_arena_init(&arena, &scratch, 0);
	CHECK_INT(trace_ring_init(&ring, &memory, 5000), 0);
	CHECK_INT(pthread_create(&thread, NULL, write_events, &writer), 0);
	for (int round = 0; live < 50 && round < 1000000; round++)
		live += check_ring(&ring, &arena) > 0;
	atomic_store(&writer.stop, true);
	pthread_join(thread, NULL);
	CHECK_INT(live, 50);
	trace_ring_fini(&ring, &memory);
	strata_arena_fini(&arena);
}
