/*
 * Whose turn it is: start-time fair queueing (Goyal, Vin and Cheng, 1996) at every inner node of
 * the share. A group keeps its ready children in a heap by virtual time; a node is ready when a
 * child is, so activating a leaf walks up only as far as that changes something.
 *
 * Why the bound holds: `now` of a group is the virtual time at which its last service began. It
 * never falls, no child that becomes ready starts below it, and a child that is served starts at
 * it; so each ready child stays between `now` and `now` plus its own last charge, and two of them
 * drift apart by at most one charge of each.
 *
 * Virtual times are long sums: they only grow, and a charge of 1 must still count after one of
 * 10^20.
 */
#include "core/container.h"
#include "core/share_int.h"

#include <errno.h>

static struct share_node *node_of(const struct heap_node *in_ready)
{
	return container_of((struct heap_node *)in_ready, struct share_node, in_ready);
}

int share_turn_compare(const struct heap_node *a, const struct heap_node *b, void *context)
{
	const struct share_node *x = node_of(a), *y = node_of(b);
	int order = real_sum_compare(&x->turn, &y->turn);

	(void)context;
	if (order)
		return order;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

/* A service begins, that of the first of the group if it was picked. One that comes back from being
 * parked may lie below `now`, which does not fall for that. */
static void begin_service(struct share_group *group)
{
	const struct real_sum *began = &node_of(heap_top(&group->ready))->turn;

	if (real_sum_compare(began, &group->now) > 0)
		group->now = *began;
}

void share_turn_advance(struct share_node *node, double amount)
{
	struct share_group *group = node->parent->group;
	bool ready = heap_node_in(&node->in_ready);

	if (ready)
		begin_service(group);
	real_sum_add(&node->turn, amount / node->weight);
	group->last = node->turn;
	if (ready)
		heap_update(&group->ready, &node->in_ready, real_key(node->turn.high));
}

/* Where a node of this group starts that becomes active, unless it is ahead of that. */
static const struct real_sum *floor_of(const struct share *share, const struct share_group *group)
{
	if (share->lift == SHARE_LIFT_BEGAN)
		return &group->now;
	return group->ready.count > 0 ? &node_of(heap_top(&group->ready))->turn : &group->last;
}

/* Moves one node from state to state within its parent's group. */
static void change_state(const struct share *share, struct share_node *node, enum share_state state)
{
	struct share_group *group = node->parent->group;

	if (node->state == SHARE_READY)
		heap_remove(&group->ready, &node->in_ready);
	if (node->state == SHARE_PARKED)
		group->parked_count--;
	if (node->state == SHARE_IDLE && real_sum_compare(&node->turn, floor_of(share, group)) < 0)
		node->turn = *floor_of(share, group);
	if (state == SHARE_READY) /* cannot fail: share_add has made room */
		heap_push(&group->ready, &node->in_ready, real_key(node->turn.high));
	if (state == SHARE_PARKED)
		group->parked_count++;
	node->state = (uint16_t)state;
}

static enum share_state state_of_group(const struct share_group *group)
{
	if (group->ready.count > 0)
		return SHARE_READY;
	return group->parked_count > 0 ? SHARE_PARKED : SHARE_IDLE;
}

static void set_state(const struct share *share, struct share_node *node, enum share_state state)
{
	while (node->parent && node->state != state) {
		change_state(share, node, state);
		node = node->parent;
		state = state_of_group(node->group);
	}
}

static int set_leaf_state(struct share *share, uint64_t node, enum share_state state,
			  struct strata_error *err)
{
	struct share_node *leaf = share_look(share, node, err);

	if (!leaf)
		return -ESTALE;
	if (leaf == share->root)
		return strata_fail(err, -EINVAL, "the root takes no turns");
	if (leaf->group && leaf->group->child_count > 0)
		return strata_fail(err, -EINVAL, "%s is an account; only its members take turns",
				   leaf->name);
	if (state != SHARE_PARKED || leaf->state != SHARE_IDLE)
		set_state(share, leaf, state);
	return 0;
}

int share_activate(struct share *share, uint64_t node, struct strata_error *err)
{
	return set_leaf_state(share, node, SHARE_READY, err);
}

int share_deactivate(struct share *share, uint64_t node, struct strata_error *err)
{
	return set_leaf_state(share, node, SHARE_IDLE, err);
}

int share_park(struct share *share, uint64_t node, struct strata_error *err)
{
	return set_leaf_state(share, node, SHARE_PARKED, err);
}

void share_set_lift(struct share *share, enum share_lift lift)
{
	share->lift = lift;
}

int share_set_rank(struct share *share, uint64_t node, uint64_t rank, struct strata_error *err)
{
	struct share_node *found = share_look(share, node, err);

	if (!found)
		return -ESTALE;
	found->rank = rank;
	if (heap_node_in(&found->in_ready))
		heap_update(&found->parent->group->ready, &found->in_ready,
			    real_key(found->turn.high));
	return 0;
}

uint64_t share_pick(const struct share *share)
{
	const struct share_node *node = share->root;

	while (node->group && node->group->ready.count > 0)
		node = node_of(heap_top(&node->group->ready));
	return node->parent ? node->handle : 0;
}

bool share_active(const struct share *share, uint64_t node)
{
	const struct share_node *found = share_must(share, node);

	if (found->parent)
		return found->state != SHARE_IDLE;
	return found->group && state_of_group(found->group) != SHARE_IDLE;
}

double share_virtual_time(const struct share *share, uint64_t node)
{
	return share_must(share, node)->turn.high;
}
