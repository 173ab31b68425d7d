/*
 * Pieces of a graph that leave no way out and back in: the exact best split of a pipeline over classes of devices that are alike. What some devices
 * have together is a set of blocks that holds with each block all that it needs; from every such set that they can have within the
 * limit, all larger ones are tried that one more device can add. Two bounds keep that small: a piece computes no longer than the limit, and
 * what remains can be done by the devices that remain. Sets are known by a 128-bit sum of random numbers of their blocks.
 */
#include "place/cut.h"

#include <strata/rng.h>

#include <errno.h>
#include <string.h>

enum { STATES_MAX = 1024 };

struct key {
	uint64_t a, b;
};

struct set { /* that the first so many devices can have together */
	struct key key;
	double most;    /* largest load on the way here */
	double done;    /* its computing time, each block where it is shortest */
	uint32_t from;  /* set of one device less; STRATA_NONE: the empty one */
	uint16_t used;  /* devices of each class, as one number */
	uint16_t class; /* of the last device */
};

struct table { /* of keys, open addressing */
	struct key *keys;
	uint32_t *values; /* + 1; 0: empty */
	size_t room, count;
};

struct ideals {
	struct cut *cut;
	size_t words;
	uint32_t step[STRATA_PLACE_DEVICES_MAX]; /* of each class: what one more adds to `used` */
	uint32_t state_count, device_count;
	double limit, total;
	double *least; /* of each block: its time where that is shortest */
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
	/* the piece that is being tried, on a device of a class */
	size_t class;
	double least_ns; /* of its blocks */
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

/* The other way round: what each block needs. */
static void list_needs(struct ideals *ideals)
{
	size_t m = ideals->cut->block_count;

	for (size_t i = 0; i < ideals->lead_first[m]; i++)
		ideals->need_first[ideals->leads[i] + 2]++;
	for (size_t b = 0; b < m; b++)
		ideals->need_first[b + 2] += ideals->need_first[b + 1];
	for (uint32_t b = 0; b < m; b++)
		for (uint32_t i = ideals->lead_first[b]; i < ideals->lead_first[b + 1]; i++)
			ideals->needs[ideals->need_first[ideals->leads[i] + 1]++] = b;
}

/* ---- pieces ---- */

static double time_of(const struct ideals *ideals, uint32_t block)
{
	return ideals->cut->times[block * ideals->cut->class_count + ideals->class];
}

static double load_now(const struct ideals *ideals)
{
	uint32_t device = ideals->cut->class_first[ideals->class];
	bool free_ways = ideals->cut->problem->machine->devices[device].transfers_free;

	return ideals->piece_ns + (free_ways ? 0 : ideals->cut->moved_ns);
}

static uint32_t used_of(const struct ideals *ideals, uint32_t used, size_t class)
{
	return used / ideals->step[class] % (ideals->cut->class_size[class] + 1);
}

/* Devices that a set leaves. */
static uint32_t left_of(const struct ideals *ideals, uint32_t set)
{
	uint32_t left = ideals->device_count;

	for (size_t c = 0; c < ideals->cut->class_count; c++)
		left -= used_of(ideals, ideals->sets[set].used, c);
	return left;
}

static void add_block(struct ideals *ideals, uint32_t block, struct key *key)
{
	ideals->now[block / 64] |= UINT64_C(1) << block % 64;
	ideals->ready[block / 64] &= ~(UINT64_C(1) << block % 64);
	ideals->budget->visits -= (int64_t)cut_add(ideals->cut, block);
	ideals->piece_ns += time_of(ideals, block);
	ideals->least_ns += ideals->least[block];
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
	ideals->piece_ns -= time_of(ideals, block);
	ideals->least_ns -= ideals->least[block];
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

/*
 * Twice as many sets. Both arrays are new, because their size is known by one number: whichever cannot be had, the old ones stay as they
 * are, with the size they were allocated with.
 */
static bool grow_sets(struct ideals *ideals)
{
	size_t room = 2 * ideals->set_room, row = ideals->words * 8;
	struct set *sets = strata_memory_get(ideals->memory, room * sizeof(*sets));
	uint64_t *bits = strata_memory_get(ideals->memory, room * row);

	if (!sets || !bits) {
		strata_memory_put(ideals->memory, sets, room * sizeof(*sets));
		strata_memory_put(ideals->memory, bits, room * row);
		return false;
	}
	memcpy(sets, ideals->sets, ideals->set_count * sizeof(*sets));
	memcpy(bits, ideals->bits, ideals->set_count * row);
	strata_memory_put(ideals->memory, ideals->sets, ideals->set_room * sizeof(*sets));
	strata_memory_put(ideals->memory, ideals->bits, ideals->set_room * row);
	ideals->sets = sets;
	ideals->bits = bits;
	ideals->set_room = room;
	return true;
}

/* The set with this piece added can be had with one device more. */
static void offer(struct ideals *ideals, uint32_t from, struct key key)
{
	double most = fmax(ideals->sets[from].most, load_now(ideals));
	uint32_t used = ideals->sets[from].used + ideals->step[ideals->class];
	struct key with_used = { key.a + used * UINT64_C(0x9e3779b97f4a7c15), key.b };
	uint32_t *slot = table_at(&ideals->known, with_used, ideals->memory);

	if (!slot) {
		ideals->failed = true;
		return;
	}
	if (!*slot) {
		if (ideals->set_count == ideals->set_room && !grow_sets(ideals)) {
			ideals->failed = true;
			ideals->known.count--;
			return;
		}
		ideals->sets[ideals->set_count] = (struct set){
			.key = key,
			.most = INFINITY,
			.done = ideals->sets[from].done + ideals->least_ns,
			.used = (uint16_t)used,
		};
		memcpy(ideals->bits + ideals->set_count * ideals->words, ideals->now,
		       ideals->words * 8);
		*slot = (uint32_t)++ideals->set_count;
	}
	struct set *set = &ideals->sets[*slot - 1];

	if (most < set->most) {
		set->most = most;
		set->from = from;
		set->class = (uint16_t)ideals->class;
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

		if (!(ideals->piece_ns + time_of(ideals, block) < ideals->limit) ||
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
		double rest = ideals->total - done - ideals->least_ns;

		if (load_now(ideals) < ideals->limit &&
		    rest < ideals->limit * (left - 1) + 1e-9 * ideals->limit)
			offer(ideals, from, key);
		depth = push_ready(ideals, stack, depth);
	}
	while (depth--)
		if (stack[depth].back)
			take_block(ideals, stack[depth].block, &key);
	cut->moved_ns = 0;
	ideals->piece_ns = ideals->least_ns = 0;
}

/* All that is left as one piece. */
static void take_rest(struct ideals *ideals, uint32_t from)
{
	struct key key = ideals->sets[from].key;
	size_t m = ideals->cut->block_count;
	const uint64_t *bits = ideals->bits + from * ideals->words;
	bool whole = true;

	for (uint32_t b = 0; b < m; b++)
		if (!(bits[b / 64] >> b % 64 & 1))
			add_block(ideals, b, &key);
	whole = load_now(ideals) < ideals->limit &&
		cut_fits(ideals->cut, ideals->class, ideals->weights, ideals->kv);
	if (whole)
		offer(ideals, from, key);
	bits = ideals->bits + from * ideals->words; /* it may have moved */
	for (uint32_t b = 0; b < m; b++)
		if (!(bits[b / 64] >> b % 64 & 1))
			take_block(ideals, b, &key);
	ideals->cut->moved_ns = 0;
	ideals->piece_ns = ideals->least_ns = 0;
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

/* A set with every class that has a device left. */
static void expand(struct ideals *ideals, uint32_t set, struct step *stack)
{
	uint32_t left = left_of(ideals, set);

	for (size_t c = 0; c < ideals->cut->class_count && !ideals->failed; c++) {
		if (used_of(ideals, ideals->sets[set].used, c) == ideals->cut->class_size[c])
			continue;
		go_to(ideals, set);
		ideals->class = c;
		if (left == 1)
			take_rest(ideals, set);
		else
			grow_pieces(ideals, set, left, stack);
	}
}

static double walk(struct ideals *ideals, struct step *stack, uint32_t *ret_last)
{
	struct cut *cut = ideals->cut;
	double best = INFINITY;

	for (uint32_t s = 0; s < ideals->set_count && !ideals->failed && !ideals->stopped; s++) {
		bool whole = true;

		for (uint32_t b = 0; b < cut->block_count && whole; b++)
			whole = ideals->bits[s * ideals->words + b / 64] >> b % 64 & 1;
		if (whole && ideals->sets[s].most < best) {
			best = ideals->sets[s].most;
			*ret_last = s;
		}
		if (!whole && ideals->sets[s].most < ideals->limit)
			expand(ideals, s, stack);
	}
	return ideals->stopped || ideals->failed ? INFINITY : best;
}

static void assign(const struct ideals *ideals, uint32_t set, uint32_t *ret_device)
{
	uint32_t given[STRATA_PLACE_DEVICES_MAX] = { 0 };

	for (; ideals->sets[set].from != STRATA_NONE; set = ideals->sets[set].from) {
		const uint64_t *bits = ideals->bits + set * ideals->words;
		const uint64_t *before = ideals->bits + ideals->sets[set].from * ideals->words;
		uint32_t device = 0, skip = given[ideals->sets[set].class]++;

		for (;; device++)
			if (ideals->cut->class_of[device] == ideals->sets[set].class && skip-- == 0)
				break;
		for (uint32_t b = 0; b < ideals->cut->block_count; b++)
			if ((bits[b / 64] & ~before[b / 64]) >> b % 64 & 1)
				ret_device[b] = device;
	}
}

/* How many of each class are used is one number; false when there would be too many such. */
static bool number_states(struct ideals *ideals)
{
	ideals->state_count = 1;
	for (size_t c = 0; c < ideals->cut->class_count; c++) {
		ideals->step[c] = ideals->state_count;
		ideals->state_count *= ideals->cut->class_size[c] + 1;
		ideals->device_count += ideals->cut->class_size[c];
		if (ideals->state_count > STATES_MAX)
			return false;
	}
	return true;
}

static bool ideals_init(struct ideals *ideals, struct strata_arena *arena)
{
	size_t m = ideals->cut->block_count, edges = ideals->cut->problem->graph->edge_count;
	struct strata_rng rng;

	ideals->words = (m + 63) / 64;
	ideals->least = strata_arena_array(arena, m, sizeof(double));
	ideals->number = strata_arena_array(arena, m, sizeof(struct key));
	ideals->need_first = strata_arena_array(arena, m + 2, sizeof(uint32_t));
	ideals->needs = strata_arena_array(arena, edges, sizeof(uint32_t));
	ideals->missing = strata_arena_array(arena, m, sizeof(uint32_t));
	ideals->now = strata_arena_array(arena, ideals->words, 8);
	ideals->ready = strata_arena_array(arena, ideals->words, 8);
	ideals->set_room = 1024;
	ideals->sets = strata_memory_get(ideals->memory, ideals->set_room * sizeof(struct set));
	ideals->bits = strata_memory_get(ideals->memory, ideals->set_room * ideals->words * 8);
	if (cut_leads(ideals->cut->problem, ideals->cut->block_of, m, arena, &ideals->lead_first,
		      &ideals->leads) ||
	    !ideals->least || !ideals->number || !ideals->need_first || !ideals->needs ||
	    !ideals->missing || !ideals->now || !ideals->ready || !ideals->sets || !ideals->bits)
		return false;
	strata_rng_init(&rng, 0, 3);
	for (size_t b = 0; b < m; b++) {
		ideals->least[b] = INFINITY;
		for (size_t c = 0; c < ideals->cut->class_count; c++)
			ideals->least[b] =
				fmin(ideals->least[b],
				     ideals->cut->times[b * ideals->cut->class_count + c]);
		ideals->total += ideals->least[b];
		ideals->number[b] = (struct key){ strata_rng_u64(&rng), strata_rng_u64(&rng) };
	}
	ideals->sets[0] = (struct set){ .from = STRATA_NONE };
	ideals->set_count = 1;
	return true;
}

int cut_ideals(struct cut *cut, double limit, int64_t visits, struct strata_place_budget *budget,
	       struct strata_arena *arena, uint32_t *ret_device, double *ret_load)
{
	struct ideals ideals = { .cut = cut,
				 .limit = limit,
				 .memory = arena->memory,
				 .budget = budget,
				 .end = budget->visits - visits };
	size_t m = cut->block_count;
	uint32_t last = 0;
	/* every block on the way down may push every other */
	struct step *stack = strata_arena_array(arena, (m + 1) * (m + 2) / 2, sizeof(*stack));
	double value = INFINITY;
	int rc = 0;

	if (!ideals_init(&ideals, arena) || !stack) {
		rc = -ENOMEM;
	} else if (isfinite(ideals.total) && number_states(&ideals)) {
		list_needs(&ideals);
		value = walk(&ideals, stack, &last);
		if (ideals.failed)
			rc = -ENOMEM;
		else if (isfinite(value))
			assign(&ideals, last, ret_device);
	}
	table_fini(&ideals.known, ideals.memory);
	table_fini(&ideals.seen, ideals.memory);
	strata_memory_put(ideals.memory, ideals.sets, ideals.set_room * sizeof(struct set));
	strata_memory_put(ideals.memory, ideals.bits, ideals.set_room * ideals.words * 8);
	if (rc == 0)
		*ret_load = value;
	return rc;
}
