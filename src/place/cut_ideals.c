/*
 * Pieces of a graph that leave no way out and back in: the exact best split of a pipeline over devices that are alike. What the first k devices
 * have together is a set of blocks that holds with each block all that it needs; from every such set that k devices can have within the
 * limit, all larger ones are tried that one more device can add. Two bounds keep that small: a piece computes no longer than the limit, and
 * what remains can be done by the devices that remain. Sets are known by a 128-bit sum of random numbers of their blocks.
 */
#include "place/cut.h"

#include <strata/rng.h>

#include <errno.h>
#include <string.h>

struct key {
	uint64_t a, b;
};

struct set { /* that the first so many devices can have together */
	struct key key;
	double most;   /* largest load on the way here */
	double done;   /* its computing time */
	uint32_t from; /* set of one device less; STRATA_NONE: the empty one */
	uint32_t level;
};

struct table { /* of keys, open addressing */
	struct key *keys;
	uint32_t *values; /* + 1; 0: empty */
	size_t room, count;
};

struct ideals {
	struct cut *cut;
	size_t class, words;
	double limit, total;
	double *time; /* of each block on the class */
	struct key *number;
	uint32_t *need_first, *needs, *lead_first, *leads; /* blocks before and behind each block */
	uint32_t *missing; /* of each block: how many it needs that are not in the set */
	struct set *sets;
	uint64_t *bits; /* of each set */
	size_t set_count, set_room;
	struct table known, seen;
	struct strata_memory *memory;
	struct strata_place_budget *budget;
	int64_t end;
	bool failed, stopped;
	/* the piece that is being tried */
	uint64_t *now;   /* blocks of set and piece */
	uint64_t *ready; /* blocks that could come next */
	double piece_ns;
	int64_t weights, kv;
};

/* ---- tables ---- */

static int table_grow(struct table *table, struct strata_memory *memory)
{
	size_t room = table->room ? 2 * table->room : 1 << 12;
	struct key *keys = strata_memory_get(memory, room * sizeof(*keys));
	uint32_t *values = strata_memory_get(memory, room * sizeof(*values));

	if (!keys || !values) {
		strata_memory_put(memory, keys, room * sizeof(*keys));
		strata_memory_put(memory, values, room * sizeof(*values));
		return -ENOMEM;
	}
	for (size_t i = 0; i < table->room; i++) {
		if (!table->values[i])
			continue;
		size_t at = table->keys[i].a & (room - 1);

		while (values[at])
			at = (at + 1) & (room - 1);
		keys[at] = table->keys[i];
		values[at] = table->values[i];
	}
	strata_memory_put(memory, table->keys, table->room * sizeof(*keys));
	strata_memory_put(memory, table->values, table->room * sizeof(*values));
	table->keys = keys;
	table->values = values;
	table->room = room;
	return 0;
}

static void table_fini(struct table *table, struct strata_memory *memory)
{
	strata_memory_put(memory, table->keys, table->room * sizeof(*table->keys));
	strata_memory_put(memory, table->values, table->room * sizeof(*table->values));
}

static void table_clear(struct table *table)
{
	if (table->count)
		memset(table->values, 0, table->room * sizeof(*table->values));
	table->count = 0;
}

/* Where a key's value is, which is 0 when it is new; NULL for lack of memory. */
static uint32_t *table_at(struct table *table, struct key key, struct strata_memory *memory)
{
	if (2 * (table->count + 1) > table->room && table_grow(table, memory))
		return NULL;
	size_t at = key.a & (table->room - 1);

	while (table->values[at] && (table->keys[at].a != key.a || table->keys[at].b != key.b))
		at = (at + 1) & (table->room - 1);
	if (!table->values[at]) {
		table->keys[at] = key;
		table->count++;
	}
	return &table->values[at];
}

/* ---- which block needs which ---- */

/* Edges between ops become edges between blocks. Where groups tie a model's way back to its way there, only the way there counts. */
static bool counts(const struct ideals *ideals, const struct strata_edge *edge, bool forward)
{
	const struct strata_place_problem *problem = ideals->cut->problem;
	const struct strata_op *ops = problem->graph->ops;
	const uint32_t *block_of = ideals->cut->block_of;

	if (block_of[problem->group[edge->from]] == block_of[problem->group[edge->to]])
		return false;
	return !forward || (ops[edge->from].phase != STRATA_PHASE_BACKWARD &&
			    ops[edge->to].phase != STRATA_PHASE_BACKWARD);
}

static void list_needs(struct ideals *ideals, bool forward)
{
	const struct strata_place_problem *problem = ideals->cut->problem;
	const struct strata_graph *graph = problem->graph;
	size_t m = ideals->cut->block_count;

	memset(ideals->need_first, 0, (m + 2) * sizeof(uint32_t));
	memset(ideals->lead_first, 0, (m + 2) * sizeof(uint32_t));
	for (int pass = 0; pass < 2; pass++) {
		for (size_t e = 0; e < graph->edge_count; e++) {
			if (!counts(ideals, &graph->edges[e], forward))
				continue;
			uint32_t from = ideals->cut->block_of[problem->group[graph->edges[e].from]];
			uint32_t to = ideals->cut->block_of[problem->group[graph->edges[e].to]];

			if (pass == 0) {
				ideals->need_first[to + 2]++;
				ideals->lead_first[from + 2]++;
			} else {
				ideals->needs[ideals->need_first[to + 1]++] = from;
				ideals->leads[ideals->lead_first[from + 1]++] = to;
			}
		}
		for (size_t b = 0; b < m && pass == 0; b++) {
			ideals->need_first[b + 2] += ideals->need_first[b + 1];
			ideals->lead_first[b + 2] += ideals->lead_first[b + 1];
		}
	}
}

static bool has_order(struct ideals *ideals, uint32_t *queue)
{
	size_t m = ideals->cut->block_count, head = 0, tail = 0;

	for (uint32_t b = 0; b < m; b++) {
		ideals->missing[b] = ideals->need_first[b + 1] - ideals->need_first[b];
		if (!ideals->missing[b])
			queue[tail++] = b;
	}
	while (head < tail) {
		uint32_t b = queue[head++];

		for (uint32_t i = ideals->lead_first[b]; i < ideals->lead_first[b + 1]; i++)
			if (--ideals->missing[ideals->leads[i]] == 0)
				queue[tail++] = ideals->leads[i];
	}
	return tail == m;
}

/* ---- pieces ---- */

static void add_block(struct ideals *ideals, uint32_t block, struct key *key)
{
	ideals->now[block / 64] |= UINT64_C(1) << block % 64;
	ideals->ready[block / 64] &= ~(UINT64_C(1) << block % 64);
	ideals->budget->visits -= (int64_t)cut_add(ideals->cut, block);
	ideals->piece_ns += ideals->time[block];
	ideals->weights += ideals->cut->weights[block];
	ideals->kv += ideals->cut->kv[block];
	for (uint32_t i = ideals->lead_first[block]; i < ideals->lead_first[block + 1]; i++) {
		uint32_t lead = ideals->leads[i];

		if (--ideals->missing[lead] == 0)
			ideals->ready[lead / 64] |= UINT64_C(1) << lead % 64;
	}
	key->a += ideals->number[block].a;
	key->b += ideals->number[block].b;
}

static void take_block(struct ideals *ideals, uint32_t block, struct key *key)
{
	ideals->now[block / 64] &= ~(UINT64_C(1) << block % 64);
	cut_take(ideals->cut, block);
	ideals->piece_ns -= ideals->time[block];
	ideals->weights -= ideals->cut->weights[block];
	ideals->kv -= ideals->cut->kv[block];
	for (uint32_t i = ideals->lead_first[block]; i < ideals->lead_first[block + 1]; i++) {
		uint32_t lead = ideals->leads[i];

		if (ideals->missing[lead]++ == 0)
			ideals->ready[lead / 64] &= ~(UINT64_C(1) << lead % 64);
	}
	ideals->ready[block / 64] |= UINT64_C(1) << block % 64;
	key->a -= ideals->number[block].a;
	key->b -= ideals->number[block].b;
}

/* The set with this piece added can be had with one device more. */
static void offer(struct ideals *ideals, uint32_t from, struct key key, uint32_t level)
{
	double most = fmax(ideals->sets[from].most, ideals->piece_ns + ideals->cut->moved_ns);
	struct key with_level = { key.a + level * UINT64_C(0x9e3779b97f4a7c15), key.b };
	uint32_t *slot = table_at(&ideals->known, with_level, ideals->memory);

	if (!slot) {
		ideals->failed = true;
		return;
	}
	if (!*slot) {
		if (ideals->set_count == ideals->set_room) {
			size_t room = 2 * ideals->set_room, words = ideals->words;
			struct set *sets = strata_memory_resize(ideals->memory, ideals->sets,
								ideals->set_room * sizeof(*sets),
								room * sizeof(*sets));
			if (sets)
				ideals->sets = sets;
			uint64_t *bits = sets ? strata_memory_resize(ideals->memory, ideals->bits,
								     ideals->set_room * words * 8,
								     room * words * 8)
					      : NULL;
			if (!bits) { /* sets may have grown: its size is known by set_room */
				if (sets)
					ideals->sets = strata_memory_resize(
						ideals->memory, sets, room * sizeof(*sets),
						ideals->set_room * sizeof(*sets));
				ideals->failed = true;
				ideals->known.count--;
				return;
			}
			ideals->bits = bits;
			ideals->set_room = room;
		}
		ideals->sets[ideals->set_count] =
			(struct set){ key, INFINITY, ideals->sets[from].done + ideals->piece_ns,
				      from, level };
		memcpy(ideals->bits + ideals->set_count * ideals->words, ideals->now,
		       ideals->words * 8);
		*slot = (uint32_t)++ideals->set_count;
	}
	struct set *set = &ideals->sets[*slot - 1];

	if (most < set->most) {
		set->most = most;
		set->from = from;
	}
}

/* Tries all pieces behind a set, block by block, without recursion: the stack holds what to add, or to take back. */
struct step {
	uint32_t block;
	bool back;
};

static size_t push_ready(const struct ideals *ideals, struct step *stack, size_t depth)
{
	for (size_t w = 0; w < ideals->words; w++)
		for (uint64_t bits = ideals->ready[w]; bits; bits &= bits - 1)
			stack[depth++] =
				(struct step){ (uint32_t)(w * 64 + (size_t)__builtin_ctzll(bits)),
					       false };
	return depth;
}

static void grow_pieces(struct ideals *ideals, uint32_t from, uint32_t left, struct step *stack)
{
	struct cut *cut = ideals->cut;
	struct key key = ideals->sets[from].key;
	uint32_t level = ideals->sets[from].level + 1;
	double done = ideals->sets[from].done;
	size_t depth = 0;

	table_clear(&ideals->seen);
	depth = push_ready(ideals, stack, depth);
	while (depth && !ideals->failed && !ideals->stopped) {
		struct step *step = &stack[depth - 1];
		uint32_t block = step->block;

		if (step->back) {
			take_block(ideals, block, &key);
			depth--;
			continue;
		}
		struct key with = { key.a + ideals->number[block].a,
				    key.b + ideals->number[block].b };

		if (!(ideals->piece_ns + ideals->time[block] < ideals->limit) ||
		    !cut_fits(cut, ideals->class, ideals->weights + cut->weights[block],
			      ideals->kv + cut->kv[block])) {
			depth--;
			continue;
		}
		uint32_t *slot = table_at(&ideals->seen, with, ideals->memory);

		if (!slot) {
			ideals->failed = true;
			break;
		}
		if (*slot) {
			depth--;
			continue;
		}
		*slot = 1;
		step->back = true;
		add_block(ideals, block, &key);
		if (ideals->budget->visits <= ideals->end)
			ideals->stopped = true;
		double rest = ideals->total - done - ideals->piece_ns;

		if (ideals->piece_ns + cut->moved_ns < ideals->limit &&
		    rest < ideals->limit * (left - 1) + 1e-9 * ideals->limit)
			offer(ideals, from, key, level);
		depth = push_ready(ideals, stack, depth);
	}
	while (depth--)
		if (stack[depth].back)
			take_block(ideals, stack[depth].block, &key);
	cut->moved_ns = 0;
	ideals->piece_ns = 0;
}

/* All that is left as one piece. */
static void take_rest(struct ideals *ideals, uint32_t from)
{
	struct key key = ideals->sets[from].key;
	uint32_t level = ideals->sets[from].level + 1;
	size_t m = ideals->cut->block_count;
	const uint64_t *bits = ideals->bits + from * ideals->words;
	bool whole = true;

	for (uint32_t b = 0; b < m; b++)
		if (!(bits[b / 64] >> b % 64 & 1))
			add_block(ideals, b, &key);
	whole = ideals->piece_ns + ideals->cut->moved_ns < ideals->limit &&
		cut_fits(ideals->cut, ideals->class, ideals->weights, ideals->kv);
	if (whole)
		offer(ideals, from, key, level);
	bits = ideals->bits + from * ideals->words; /* it may have moved */
	for (uint32_t b = 0; b < m; b++)
		if (!(bits[b / 64] >> b % 64 & 1))
			take_block(ideals, b, &key);
	ideals->cut->moved_ns = 0;
	ideals->piece_ns = 0;
}

/* The blocks of a set are in, those it lacks are not. */
static void go_to(struct ideals *ideals, uint32_t set)
{
	size_t m = ideals->cut->block_count;

	memcpy(ideals->now, ideals->bits + set * ideals->words, ideals->words * 8);
	memset(ideals->ready, 0, ideals->words * 8);
	for (uint32_t b = 0; b < m; b++) {
		ideals->missing[b] = 0;
		for (uint32_t i = ideals->need_first[b]; i < ideals->need_first[b + 1]; i++) {
			uint32_t need = ideals->needs[i];

			ideals->missing[b] += !(ideals->now[need / 64] >> need % 64 & 1);
		}
		if (!ideals->missing[b] && !(ideals->now[b / 64] >> b % 64 & 1))
			ideals->ready[b / 64] |= UINT64_C(1) << b % 64;
	}
	ideals->weights = ideals->kv = 0;
}

static double walk(struct ideals *ideals, struct step *stack, uint32_t *ret_last)
{
	struct cut *cut = ideals->cut;
	uint32_t devices = cut->class_size[ideals->class];
	double best = INFINITY;

	for (uint32_t s = 0; s < ideals->set_count && !ideals->failed && !ideals->stopped; s++) {
		uint32_t level = ideals->sets[s].level;
		bool whole = true;

		for (uint32_t b = 0; b < cut->block_count && whole; b++)
			whole = ideals->bits[s * ideals->words + b / 64] >> b % 64 & 1;
		if (whole && ideals->sets[s].most < best) {
			best = ideals->sets[s].most;
			*ret_last = s;
		}
		if (whole || level == devices || !(ideals->sets[s].most < ideals->limit))
			continue;
		go_to(ideals, s);
		if (level + 1 == devices)
			take_rest(ideals, s);
		else
			grow_pieces(ideals, s, devices - level, stack);
	}
	return ideals->stopped || ideals->failed ? INFINITY : best;
}

static void assign(const struct ideals *ideals, uint32_t set, uint32_t *ret_device)
{
	for (; ideals->sets[set].from != STRATA_NONE; set = ideals->sets[set].from) {
		const uint64_t *bits = ideals->bits + set * ideals->words;
		const uint64_t *before = ideals->bits + ideals->sets[set].from * ideals->words;
		uint32_t device = 0, skip = ideals->sets[set].level - 1;

		for (;; device++)
			if (ideals->cut->class_of[device] == ideals->class && skip-- == 0)
				break;
		for (uint32_t b = 0; b < ideals->cut->block_count; b++)
			if ((bits[b / 64] & ~before[b / 64]) >> b % 64 & 1)
				ret_device[b] = device;
	}
}

static bool ideals_init(struct ideals *ideals, struct strata_arena *arena)
{
	size_t m = ideals->cut->block_count, edges = ideals->cut->problem->graph->edge_count;
	struct strata_rng rng;

	ideals->words = (m + 63) / 64;
	ideals->time = strata_arena_array(arena, m, sizeof(double));
	ideals->number = strata_arena_array(arena, m, sizeof(struct key));
	ideals->need_first = strata_arena_array(arena, m + 2, sizeof(uint32_t));
	ideals->lead_first = strata_arena_array(arena, m + 2, sizeof(uint32_t));
	ideals->needs = strata_arena_array(arena, edges, sizeof(uint32_t));
	ideals->leads = strata_arena_array(arena, edges, sizeof(uint32_t));
	ideals->missing = strata_arena_array(arena, m, sizeof(uint32_t));
	ideals->now = strata_arena_array(arena, ideals->words, 8);
	ideals->ready = strata_arena_array(arena, ideals->words, 8);
	ideals->set_room = 1024;
	ideals->sets = strata_memory_get(ideals->memory, ideals->set_room * sizeof(struct set));
	ideals->bits = strata_memory_get(ideals->memory, ideals->set_room * ideals->words * 8);
	if (!ideals->time || !ideals->number || !ideals->need_first || !ideals->lead_first ||
	    !ideals->needs || !ideals->leads || !ideals->missing || !ideals->now ||
	    !ideals->ready || !ideals->sets || !ideals->bits)
		return false;
	strata_rng_init(&rng, 0, 3);
	for (size_t b = 0; b < m; b++) {
		ideals->time[b] = ideals->cut->times[b * ideals->cut->class_count + ideals->class];
		ideals->total += ideals->time[b];
		ideals->number[b] = (struct key){ strata_rng_u64(&rng), strata_rng_u64(&rng) };
	}
	ideals->sets[0] = (struct set){ { 0, 0 }, 0, 0, STRATA_NONE, 0 };
	ideals->set_count = 1;
	return true;
}

double cut_ideals(struct cut *cut, size_t class, double limit, int64_t visits,
		  struct strata_place_budget *budget, struct strata_arena *arena,
		  uint32_t *ret_device)
{
	struct ideals ideals = { .cut = cut,
				 .class = class,
				 .limit = limit,
				 .memory = arena->memory,
				 .budget = budget,
				 .end = budget->visits - visits };
	size_t m = cut->block_count;
	uint32_t *queue = strata_arena_array(arena, m, sizeof(*queue)), last = 0;
	/* every block on the way down may push every other */
	struct step *stack = strata_arena_array(arena, (m + 1) * (m + 2) / 2, sizeof(*stack));
	double value = INFINITY;

	if (!ideals_init(&ideals, arena) || !queue || !stack) {
		value = -ENOMEM;
	} else if (isfinite(ideals.total)) {
		list_needs(&ideals, false);
		bool ordered = has_order(&ideals, queue);

		if (!ordered) {
			list_needs(&ideals, true);
			ordered = has_order(&ideals, queue);
		}
		if (ordered)
			value = walk(&ideals, stack, &last);
		if (ideals.failed)
			value = -ENOMEM;
		else if (isfinite(value))
			assign(&ideals, last, ret_device);
	}
	table_fini(&ideals.known, ideals.memory);
	table_fini(&ideals.seen, ideals.memory);
	strata_memory_put(ideals.memory, ideals.sets, ideals.set_room * sizeof(struct set));
	strata_memory_put(ideals.memory, ideals.bits, ideals.set_room * ideals.words * 8);
	return value;
}
