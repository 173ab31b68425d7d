/*
 * Fair shares, once for every level: a tree of accounts with users as leaves, each node with a
 * weight, a usage that fades, and a virtual time. Whoever shares something out charges what was
 * used to a leaf, and the charge counts for it and every account above it. Two questions are then
 * answered:
 *
 *	how do two users compare over days?	share_factor, share_compare: by faded usage
 *	whose turn is it now?			share_pick: by virtual time
 *
 * Nothing here sweeps over all nodes: a charge, a pick, a change of state cost O(depth · log
 * children) and allocate nothing. Amounts are the caller's unit (GPU-seconds, tokens, predicted
 * cost).
 *
 * Nodes are named by handles that are never used twice. Where a function says "a live node",
 * another is a bug.
 */
#ifndef CORE_SHARE_H
#define CORE_SHARE_H

#include <strata/error.h>
#include <strata/memory.h>

struct share;

/* -- accounts -- */

/* A share that holds the root. half_life_ns: after so long half of a usage is forgotten; 0: never.
 * memory is borrowed until share_free. -EINVAL for a negative half-life, -ENOMEM. */
int share_new(struct strata_memory *memory, int64_t half_life_ns, struct share **ret_share,
	      struct strata_error *err);
void share_free(struct share *share);

/* Adds a node below another. Names are unique below one parent. -EINVAL for a name that is empty or
 * longer than STRATA_NAME_BYTES_MAX or a weight outside STRATA_SHARE_WEIGHT_MIN … _MAX, -ERANGE
 * below depth STRATA_SHARE_DEPTH_MAX (the root has 0), -EEXIST, -ESTALE, -EBUSY when the parent is
 * itself active, -ENOMEM. */
int share_add(struct share *share, uint64_t parent, const char *name, double weight,
	      uint64_t *ret_node, struct strata_error *err);
/* Removes a node without children that is not active (else -EBUSY). What it used stays with its
 * ancestors. */
int share_remove(struct share *share, uint64_t node, struct strata_error *err);
/* Counts from the next charge on. */
int share_set_weight(struct share *share, uint64_t node, double weight, struct strata_error *err);

uint64_t share_root(const struct share *share);
/* The node of that name directly below a live node, or 0. */
uint64_t share_find(const struct share *share, uint64_t parent, const char *name);
/* The next live node in a fixed order (0: the first), 0 at the end. */
uint64_t share_next(const struct share *share, uint64_t after);
size_t share_count(const struct share *share); /* nodes, the root included */
bool share_live(const struct share *share, uint64_t node);

/* Of a live node. The root's parent is 0, its name "" and its weight 1. Names stay until
 * share_remove. */
uint64_t share_parent(const struct share *share, uint64_t node);
const char *share_name(const struct share *share, uint64_t node);
double share_weight(const struct share *share, uint64_t node);

/* The caller's pointer with a live node, NULL at first; borrowed. */
void share_set_owner(struct share *share, uint64_t node, void *owner);
void *share_owner(const struct share *share, uint64_t node);

/* -- usage -- */

/*
 * Charges an amount to a node and all above it: to their usage, as of now_ns, and to their virtual
 * time. The share's clock never goes back: an earlier now_ns counts as the latest seen. -EINVAL for
 * an amount that is not 0 … STRATA_SHARE_AMOUNT_MAX, -ESTALE; nothing changed then.
 */
int share_charge(struct share *share, uint64_t node, double amount, int64_t now_ns,
		 struct strata_error *err);
/* The same for usage only: what was used before, read back from a store, or a correction, which may be below 0; a usage never is. */
int share_add_usage(struct share *share, uint64_t node, double amount, int64_t now_ns,
		    struct strata_error *err);

/* What a live node has used, faded: Σ amount · 2^(−(now_ns − time of charge) / half_life_ns). */
double share_usage(const struct share *share, uint64_t node, int64_t now_ns);

/* weight / (usage + 1), of the node alone. */
double share_priority(const struct share *share, uint64_t node, int64_t now_ns);

/*
 * The fair-share factor of Slurm's classic multifactor formula, from 0 (far over its share) to 1
 * (nothing used); 0.5 is exactly its share. With the path root = p0, p1, …, pk = node, w the weight
 * of a node over the sum of its and its siblings' weights, and u its usage over the root's:
 *
 *	S = w1 · w2 · … · wk
 *	E1 = u1, Ei = ui + (Ei−1 − ui) · wi
 *	factor = 2^(−Ek / S)
 *
 * so a user pays in part for what others of the account have used.
 */
double share_factor(const struct share *share, uint64_t node, int64_t now_ns);

/*
 * Fair-tree order of two live nodes: negative when a goes first. At the level below their nearest
 * common ancestor the branch with the higher weight / usage goes first, then the older branch; an
 * ancestor goes before its descendants. Since all usage fades alike, the order changes with charges
 * and weights but not with time.
 */
int share_compare(const struct share *share, uint64_t a, uint64_t b);

/* -- turns -- */

/*
 * A leaf is active while it has work. share_pick walks down from the root, at each level to the
 * active child with the smallest virtual time (the older one if equal); a charge advances a node's
 * virtual time by amount / weight, active or not. A node that becomes active starts where the last
 * service among its siblings began, unless it is ahead of that already: credit does not pile up
 * while idle, and a debt of one large charge is not forgiven because everyone else had nothing to
 * do for a moment.
 *
 * If each pick is charged before the next, then for any two siblings i and j (leaves or accounts),
 * over any stretch of time in which both were active throughout, the amounts S they were charged
 * differ little:
 *
 *	|Si / wi − Sj / wj| ≤ largest charge to i / wi + largest charge to j / wj
 *
 * These return 0, also when nothing changes, -ESTALE, or -EINVAL for the root or a node with
 * children.
 */
int share_activate(struct share *share, uint64_t node, struct strata_error *err);
int share_deactivate(struct share *share, uint64_t node, struct strata_error *err);
/* Passes over an active leaf until share_activate, without its losing anything: for one whose work
 * does not fit just now. A leaf that is not active stays so. */
int share_park(struct share *share, uint64_t node, struct strata_error *err);

/* Where a node starts that becomes active. BEGAN is as said above. LEAST is the rule of virtual token counters (Sheng et
 * al., 2024): the smallest virtual time among its ready siblings, or that of the last to be charged when none is ready;
 * the bound is then twice the largest charge over the smallest weight. */
enum share_lift { SHARE_LIFT_BEGAN, SHARE_LIFT_LEAST };
void share_set_lift(struct share *share, enum share_lift lift);

/* Among equal virtual times the smaller rank goes first, then the older node. 0 at first. */
int share_set_rank(struct share *share, uint64_t node, uint64_t rank, struct strata_error *err);

/* Whose turn it is, or 0 when no leaf is active. */
uint64_t share_pick(const struct share *share);

/* Of a live node: has work (itself or below, parked or not); its virtual time, to explain a
 * decision. */
bool share_active(const struct share *share, uint64_t node);
double share_virtual_time(const struct share *share, uint64_t node);

#endif
