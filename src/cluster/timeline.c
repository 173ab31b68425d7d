/* The step function of timeline.h: a sorted array, searched by halves, changed in place. */
#include "cluster/timeline.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int timeline_init(struct timeline *timeline, struct strata_memory *memory,
		  const struct strata_room *whole)
{
	enum { FIRST_ROOM = 8 };

	*timeline = (struct timeline){ .steps = strata_memory_get(
					       memory, FIRST_ROOM * sizeof(*timeline->steps)) };
	if (!timeline->steps)
		return -ENOMEM;
	timeline->room = FIRST_ROOM;
	timeline->count = 1;
	timeline->steps[0] = (struct timeline_step){ INT64_MIN, *whole };
	return 0;
}

void timeline_fini(struct timeline *timeline, struct strata_memory *memory)
{
	strata_memory_put(memory, timeline->steps, timeline->room * sizeof(*timeline->steps));
	*timeline = (struct timeline){ 0 };
}

int timeline_reserve(struct timeline *timeline, struct strata_memory *memory)
{
	size_t need = 3 * (timeline->stretches + 1) +
		      1; /* both ends, and where it is given back early */

	if (need <= timeline->room)
		return 0;
	struct timeline_step *steps = strata_memory_resize(memory, timeline->steps,
							   timeline->room * sizeof(*steps),
							   2 * need * sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	timeline->steps = steps;
	timeline->room = 2 * need;
	return 0;
}

/* The step that holds at a time. */
static size_t find(const struct timeline *timeline, int64_t time_ns)
{
	size_t low = 0, high = timeline->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (timeline->steps[middle].time_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Makes a step begin at a time; returns its index. */
static size_t cut(struct timeline *timeline, int64_t time_ns)
{
	size_t at = find(timeline, time_ns);

	if (timeline->steps[at].time_ns == time_ns)
		return at;
	assert(timeline->count < timeline->room);
	memmove(&timeline->steps[at + 1], &timeline->steps[at],
		(timeline->count - at) * sizeof(*timeline->steps));
	timeline->count++;
	timeline->steps[at + 1].time_ns = time_ns;
	return at + 1;
}

/* Joins a step with the one before when they are equal. */
static void join(struct timeline *timeline, size_t at)
{
	struct timeline_step *steps = timeline->steps;

	if (at == 0 || at >= timeline->count ||
	    memcmp(&steps[at - 1].room, &steps[at].room, sizeof(steps->room)) != 0)
		return;
	memmove(&steps[at], &steps[at + 1], (timeline->count - at - 1) * sizeof(*steps));
	timeline->count--;
}

void timeline_take(struct timeline *timeline, int64_t from_ns, int64_t to_ns,
		   const struct strata_piece *piece)
{
	size_t first = cut(timeline, from_ns), end = cut(timeline, to_ns);

	for (size_t i = first; i < end; i++)
		room_take(&timeline->steps[i].room, piece);
	timeline->stretches++;
	join(timeline, end);
	join(timeline, first);
}

void timeline_give(struct timeline *timeline, int64_t from_ns, int64_t to_ns,
		   const struct strata_piece *piece)
{
	timeline->stretches--;
	if (from_ns >= to_ns)
		return;
	size_t first = cut(timeline, from_ns), end = cut(timeline, to_ns);

	for (size_t i = first; i < end; i++)
		room_give(&timeline->steps[i].room, piece);
	join(timeline, end);
	join(timeline, first);
}

void timeline_trim(struct timeline *timeline, int64_t now_ns)
{
	size_t at = find(timeline, now_ns);

	if (at == 0)
		return;
	memmove(timeline->steps, &timeline->steps[at],
		(timeline->count - at) * sizeof(*timeline->steps));
	timeline->count -= at;
	timeline->steps[0].time_ns = INT64_MIN;
}

static void lower(struct strata_room *least, const struct strata_room *room)
{
	if (room->cpu_milli < least->cpu_milli)
		least->cpu_milli = room->cpu_milli;
	if (room->memory_bytes < least->memory_bytes)
		least->memory_bytes = room->memory_bytes;
	for (int i = 0; i < STRATA_NODE_GPUS_MAX; i++)
		if (room->gpu_milli[i] < least->gpu_milli[i])
			least->gpu_milli[i] = room->gpu_milli[i];
}

struct strata_room timeline_least(const struct timeline *timeline, int64_t from_ns, int64_t to_ns)
{
	size_t at = find(timeline, from_ns);
	struct strata_room least = timeline->steps[at].room;

	for (at++; at < timeline->count && timeline->steps[at].time_ns < to_ns; at++)
		lower(&least, &timeline->steps[at].room);
	return least;
}

static bool takes(const struct strata_room *room, const struct strata_need *need,
		  uint32_t gpu_count, const struct strata_room *whole)
{
	if (whole)
		return memcmp(room, whole, sizeof(*room)) == 0;
	return room_fits(room, gpu_count, need);
}

int64_t timeline_earliest(const struct timeline *timeline, int64_t from_ns, int64_t length_ns,
			  const struct strata_need *need, uint32_t gpu_count,
			  const struct strata_room *whole)
{
	size_t start = find(timeline, from_ns);

	while (start < timeline->count) {
		int64_t at_ns = timeline->steps[start].time_ns > from_ns
					? timeline->steps[start].time_ns
					: from_ns;
		struct strata_room least = timeline->steps[start].room;
		size_t i = start;

		while (takes(&least, need, gpu_count, whole)) {
			if (++i == timeline->count ||
			    timeline->steps[i].time_ns - length_ns >= at_ns)
				return at_ns;
			lower(&least, &timeline->steps[i].room);
		}
		/* a step that is too full by itself rules out every start before its end */
		if (i > start && !takes(&timeline->steps[i].room, need, gpu_count, whole))
			start = i;
		start++;
	}
	return INT64_MAX;
}
