/*
 * What the three files of share.h have in common: share.c keeps the tree, share_usage.c the fading
 * usage, share_turn.c the virtual times.
 */
#ifndef CORE_SHARE_INT_H
#define CORE_SHARE_INT_H

#include "core/heap.h"
#include "core/map.h"
#include "core/real.h"
#include "core/share.h"
#include "core/slab.h"

enum share_state {
	SHARE_IDLE,   /* no work */
	SHARE_READY,  /* in the parent's heap */
	SHARE_PARKED, /* has work but is passed over */
};

/* What a node has once it has had a child. */
struct share_group {
	struct heap ready;       /* children, by virtual time; room for all of them */
	struct real_sum now;     /* virtual time: where the last service of a ready child began */
	struct real_sum last;    /* virtual time of the child that was charged last */
	struct real_sum weights; /* of all children */
	uint32_t child_count;
	uint32_t parked_count;
};

struct share_node {
	struct share_node *parent; /* NULL: the root */
	struct share_group *group; /* owned; NULL before the first child */
	double weight;
	double usage;         /* scaled: see share_usage.c */
	int64_t era;          /* of the scale */
	struct real_sum turn; /* virtual time */
	struct heap_node in_ready;
	uint16_t depth;
	uint16_t state;   /* enum share_state */
	uint64_t handle;  /* of this node in the slab */
	uint64_t rank;    /* the caller's, among equal virtual times */
	uint64_t serial;  /* counts up with every node: the older one has the smaller */
	const char *name; /* in share->names */
	void *owner;      /* the caller's */
};

/* A time, and how large one unit of usage is written down at that time. */
struct share_clock {
	int64_t now_ns;
	int64_t era;
	double scale;
};

struct share {
	struct strata_memory *memory; /* borrowed until share_free */
	int64_t half_life_ns;         /* 0: usage does not fade */
	struct share_clock clock;     /* the latest time of a charge */
	enum share_lift lift;
	struct slab nodes;
	struct map_text names; /* parent's handle (8 bytes) and name → node */
	struct share_node *root;
	uint64_t serial; /* of the next node */
};

/* The node of a handle; the second asserts that it is live, the third sets err and gives NULL. */
static inline struct share_node *share_at(const struct share *share, uint64_t node)
{
	return slab_at(&share->nodes, node);
}

struct share_node *share_must(const struct share *share, uint64_t node);
struct share_node *share_look(const struct share *share, uint64_t node, struct strata_error *err);

/* Orders children whose virtual times have the same nearest double; for heap_init. */
int share_turn_compare(const struct heap_node *a, const struct heap_node *b, void *context);
/* Advances the virtual time of one node, not of those above. */
void share_turn_advance(struct share_node *node, double amount);

#endif
