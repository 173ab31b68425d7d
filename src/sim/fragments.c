/* Fragmentation over time: see fragments.h. A change of a node costs a look at each typical job for that node alone; time costs nothing. */
#include "sim/fragments.h"

#include <math.h>
#include <string.h>

enum { WHOLE_MILLI = 1000, WEIGHT_ONE = 1000000 };

static bool wants_gpu(const struct strata_need *need)
{
	return need->gpus > 0 || need->gpu_milli > 0;
}

/* Is the type one of the words between bars? No words: any will do. */
static bool takes_type(const char *words, const char *type)
{
	size_t length = strlen(type);

	if (!words || !*words)
		return true;
	for (const char *at = words; *at; at += strspn(at, "|")) {
		size_t span = strcspn(at, "|");

		if (span == length && memcmp(at, type, length) == 0)
			return true;
		at += span;
	}
	return false;
}

static int weigh(struct fragments *fragments, struct strata_arena *arena)
{
	const struct strata_mix *mix = fragments->mix;
	double all = 0;

	fragments->weights = strata_arena_array(arena, mix->count, sizeof(*fragments->weights));
	if (!fragments->weights)
		return -1;
	for (size_t i = 0; i < mix->count; i++)
		all += wants_gpu(&mix->needs[i]) ? mix->parts[i] : 0;
	for (size_t i = 0; i < mix->count; i++)
		if (wants_gpu(&mix->needs[i]))
			fragments->weights[i] = (uint32_t)lrint(mix->parts[i] / all * WEIGHT_ONE);
	return 0;
}

static const char *type_of(const struct strata_node_conf *node)
{
	return node->gpu_type ? node->gpu_type : "";
}

/* Numbers the types of GPUs that there are and finds out once who takes which. */
static int sort_types(struct fragments *fragments, struct strata_arena *arena)
{
	const struct strata_mix *mix = fragments->mix;
	const char **names = strata_arena_array(arena, fragments->node_count, sizeof(*names));
	size_t count = 0;

	fragments->types = strata_arena_array(arena, fragments->node_count, sizeof(uint32_t));
	if (!names || !fragments->types)
		return -1;
	for (size_t i = 0; i < fragments->node_count; i++) {
		const char *name = type_of(&fragments->nodes[i]);
		size_t type = 0;

		while (type < count && strcmp(names[type], name) != 0)
			type++;
		if (type == count)
			names[count++] = name;
		fragments->types[i] = (uint32_t)type;
	}
	fragments->takes = strata_arena_array(arena, count * mix->count, sizeof(bool));
	if (!fragments->takes)
		return -1;
	for (size_t type = 0; type < count; type++)
		for (size_t i = 0; i < mix->count; i++)
			fragments->takes[type * mix->count + i] =
				takes_type(mix->gpu_types ? mix->gpu_types[i] : NULL, names[type]);
	return 0;
}

/* What is free of a node's GPUs. */
struct left {
	int64_t all, begun; /* begun: of GPUs that are in use */
	uint32_t whole;     /* untouched GPUs */
};

static struct left left_of(const struct strata_room *room, uint32_t gpu_count)
{
	struct left left = { 0 };

	for (uint32_t i = 0; i < gpu_count; i++) {
		bool whole = room->gpu_milli[i] == WHOLE_MILLI;

		left.all += room->gpu_milli[i];
		left.begun += whole ? 0 : room->gpu_milli[i];
		left.whole += whole;
	}
	return left;
}

/* What of it the need cannot use. */
static int64_t fragment(const struct strata_room *room, uint32_t gpu_count, const struct left *left,
			const struct strata_need *need)
{
	int64_t useless = 0;

	if (room->cpu_milli < need->cpu_milli)
		return left->all;
	if (need->gpus)
		return left->whole >= need->gpus ? left->begun : left->all;
	for (uint32_t i = 0; i < gpu_count; i++)
		useless += room->gpu_milli[i] < need->gpu_milli ? room->gpu_milli[i] : 0;
	return useless;
}

static void look_at(struct fragments *fragments, size_t row)
{
	const struct strata_mix *mix = fragments->mix;
	const struct strata_room *room = &fragments->rooms[row];
	const bool *takes = &fragments->takes[fragments->types[row] * mix->count];
	uint32_t gpu_count = fragments->nodes[row].gpu_count;
	struct left left = left_of(room, gpu_count);
	int64_t stuck = 0;

	for (size_t i = 0; left.all > 0 && i < mix->count; i++)
		if (fragments->weights[i])
			stuck += fragments->weights[i] *
				 (takes[i] ? fragment(room, gpu_count, &left, &mix->needs[i])
					   : left.all);
	fragments->stuck_total += stuck - fragments->stuck[row];
	fragments->stuck[row] = stuck;
}

int fragments_init(struct fragments *fragments, const struct machine *machine,
		   const struct strata_mix *mix, int64_t first_ns, struct strata_arena *arena,
		   struct strata_error *err)
{
	size_t count = machine->node_count;

	*fragments = (struct fragments){
		.nodes = machine->nodes, .node_count = count, .mix = mix, .now_ns = first_ns
	};
	fragments->rooms = strata_arena_array(arena, count, sizeof(*fragments->rooms));
	fragments->stuck = strata_arena_array(arena, count, sizeof(*fragments->stuck));
	if (!fragments->rooms || !fragments->stuck || weigh(fragments, arena) ||
	    sort_types(fragments, arena))
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct strata_node_conf *node = &machine->nodes[i];

		fragments->rooms[i].cpu_milli = node->cpu_milli;
		for (uint32_t k = 0; k < node->gpu_count; k++)
			fragments->rooms[i].gpu_milli[k] = WHOLE_MILLI;
		fragments->free_milli += (int64_t)node->gpu_count * WHOLE_MILLI;
		look_at(fragments, i);
	}
	return 0;
}

static void pass_time(struct fragments *fragments, int64_t now_ns)
{
	uint128 span = (uint128)(now_ns - fragments->now_ns);

	fragments->free_time += span * (uint128)fragments->free_milli;
	fragments->stuck_time += span * (uint128)fragments->stuck_total;
	fragments->now_ns = now_ns;
}

static void change(struct fragments *fragments, const struct strata_piece *pieces, size_t count,
		   int sign)
{
	for (size_t i = 0; i < count; i++) {
		const struct strata_piece *piece = &pieces[i];
		struct strata_room *room = &fragments->rooms[piece->node];

		room->cpu_milli += sign * piece->cpu_milli;
		for (uint32_t rest = piece->gpu_mask; rest; rest &= rest - 1) {
			uint16_t *left = &room->gpu_milli[__builtin_ctz(rest)];

			*left = (uint16_t)(*left + sign * piece->gpu_milli);
			fragments->free_milli += sign * (int64_t)piece->gpu_milli;
		}
		look_at(fragments, piece->node);
	}
}

void fragments_start(struct fragments *fragments, const struct strata_piece *pieces, size_t count,
		     int64_t now_ns)
{
	pass_time(fragments, now_ns);
	fragments->counted_free = fragments->free_time;
	fragments->counted_stuck = fragments->stuck_time;
	change(fragments, pieces, count, -1);
}

void fragments_end(struct fragments *fragments, const struct strata_piece *pieces, size_t count,
		   int64_t now_ns)
{
	pass_time(fragments, now_ns);
	change(fragments, pieces, count, 1);
}

double fragments_share(const struct fragments *fragments)
{
	uint64_t weights = 0;

	for (size_t i = 0; i < fragments->mix->count; i++)
		weights += fragments->weights[i];
	if (weights == 0 || fragments->counted_free == 0)
		return NAN;
	return (double)fragments->counted_stuck /
	       ((double)fragments->counted_free * (double)weights);
}
