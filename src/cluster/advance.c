/*
 * Advance reservations: stretches of time in which nodes or GPUs are kept for some users and
 * accounts, or for nobody (maintenance). Whoever may not use one is placed where its time limit
 * ends before it begins, beside it, or after it. Nothing that runs is stopped.
 *
 * A node has a list of its bookings: which reservation keeps what of it. Every search that asks
 * what is free on a node for a job, from a time to a time, takes away what is kept from that job
 * (advance_room). A repeated reservation is one booking; its turns are computed.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <string.h>

struct booking {
	struct booking *next; /* of the same node */
	const struct advance *advance;
	struct strata_kept kept;
};

/* One reservation and what it keeps, in one block. */
struct advance {
	struct advance *next; /* in the order in which they came */
	const char *name, *users, *accounts;
	int64_t begin_ns, end_ns, every_ns;
	size_t bytes; /* of the block */
	uint32_t booking_count;
	struct booking bookings[];
};

/* ---- times ---- */

struct turn {
	int64_t begin_ns, end_ns;
};

/* The first turn that ends after this time; none is left when it ends before it. */
static struct turn turn_after(const struct advance *advance, int64_t time_ns)
{
	struct turn turn = { advance->begin_ns, advance->end_ns };

	if (advance->every_ns && turn.end_ns <= time_ns) {
		int64_t past_ns = (time_ns - turn.end_ns) / advance->every_ns * advance->every_ns +
				  advance->every_ns;

		turn.begin_ns += past_ns;
		turn.end_ns += past_ns;
	}
	return turn;
}

/* The first turn that overlaps [from, to). */
static bool overlaps(const struct advance *advance, int64_t from_ns, int64_t to_ns,
		     struct turn *ret_turn)
{
	*ret_turn = turn_after(advance, from_ns);
	return ret_turn->begin_ns < to_ns && ret_turn->end_ns > from_ns;
}

int64_t advance_next_ns(const struct strata_cluster *cluster, int64_t after_ns)
{
	int64_t next_ns = INT64_MAX;

	for (const struct advance *at = cluster->advances; at; at = at->next) {
		struct turn turn = turn_after(at, after_ns);
		int64_t edge_ns = turn.begin_ns > after_ns ? turn.begin_ns : turn.end_ns;

		if (edge_ns > after_ns && edge_ns < next_ns)
			next_ns = edge_ns;
	}
	return next_ns;
}

/* ---- who may use what ---- */

static bool may_use(const struct advance *advance, const struct job *job)
{
	const struct entity *user = job->association->user;

	if (cluster_word_in(advance->users, user->name, strlen(user->name), ','))
		return true;
	for (const struct entity *at = job->association->account; at; at = at->parent)
		if (cluster_word_in(advance->accounts, at->name, strlen(at->name), ','))
			return true;
	return false;
}

static void take_kept(struct strata_room *room, uint16_t gpu_mask)
{
	if (!gpu_mask) /* less than nothing: not even what needs nothing fits */
		*room = (struct strata_room){ .cpu_milli = -1, .memory_bytes = -1 };
	for (uint32_t mask = gpu_mask; mask; mask &= mask - 1)
		room->gpu_milli[__builtin_ctz(mask)] = 0;
}

int64_t advance_room(const struct node *node, const struct job *job, int64_t from_ns, int64_t to_ns,
		     struct strata_room *room)
{
	int64_t end_ns = INT64_MAX;

	for (const struct booking *at = node->bookings; at; at = at->next) {
		struct turn turn;

		if (!overlaps(at->advance, from_ns, to_ns, &turn) || may_use(at->advance, job))
			continue;
		take_kept(room, at->kept.gpu_mask);
		if (turn.end_ns < end_ns)
			end_ns = turn.end_ns;
	}
	return end_ns;
}

bool advance_keeps(const struct node *node, const struct job *job, int64_t from_ns, int64_t to_ns)
{
	struct strata_room room = { 0 };

	return node->bookings && advance_room(node, job, from_ns, to_ns, &room) != INT64_MAX;
}

/* ---- coming and going ---- */

static struct advance **find(struct strata_cluster *cluster, const char *name)
{
	struct advance **at = &cluster->advances;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

static int check_kept(const struct strata_cluster *cluster, const struct strata_kept *kept,
		      struct strata_error *err)
{
	if (kept->node >= cluster->node_count)
		return strata_fail_at(err, -ENOENT, "nodes", "there is no node of row %u",
				      kept->node);
	const struct node *node = &cluster->nodes[kept->node];

	if (kept->gpu_mask >> node->node_type->gpu_count)
		return strata_fail_at(err, -ERANGE, "gpus", "node %s has %u GPUs", node->name,
				      node->node_type->gpu_count);
	return 0;
}

static int check(const struct strata_cluster *cluster, const struct strata_advance *advance,
		 struct strata_error *err)
{
	int64_t length_ns = advance->end_ns - advance->begin_ns;

	if (!advance->name || !*advance->name)
		return strata_fail_at(err, -EINVAL, "name", "a reservation has no name");
	if (advance->begin_ns < 0 || advance->end_ns <= advance->begin_ns)
		return strata_fail_at(err, -EINVAL, "to",
				      "reservation %s does not end after its beginning",
				      advance->name);
	if (advance->every_ns < 0 || (advance->every_ns && advance->every_ns < length_ns))
		return strata_fail_at(err, -EINVAL, "repeat",
				      "reservation %s begins again before it has ended",
				      advance->name);
	if (advance->kept_count == 0)
		return strata_fail_at(err, -EINVAL, "nodes", "reservation %s keeps nothing",
				      advance->name);
	for (uint32_t i = 0; i < advance->kept_count; i++) {
		int rc = check_kept(cluster, &advance->kept[i], err);

		if (rc)
			return rc;
	}
	return 0;
}

static char *copy_text(char **end, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 1;
	char *copy = memcpy(*end, text ? text : "", size);

	*end += size;
	return copy;
}

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 1;
}

static struct advance *copy(struct strata_cluster *cluster, const struct strata_advance *like)
{
	size_t fixed = sizeof(struct advance) + like->kept_count * sizeof(struct booking);
	size_t bytes = fixed + text_bytes(like->name) + text_bytes(like->users) +
		       text_bytes(like->accounts);
	struct advance *own = strata_memory_get(cluster->memory, bytes);
	char *end = (char *)own + fixed;

	if (!own)
		return NULL;
	*own = (struct advance){ .begin_ns = like->begin_ns,
				 .end_ns = like->end_ns,
				 .every_ns = like->every_ns,
				 .bytes = bytes,
				 .booking_count = like->kept_count };
	own->name = copy_text(&end, like->name);
	own->users = copy_text(&end, like->users);
	own->accounts = copy_text(&end, like->accounts);
	for (uint32_t i = 0; i < like->kept_count; i++)
		own->bookings[i] = (struct booking){ .advance = own, .kept = like->kept[i] };
	return own;
}

/* What is free for whom is another now: everything that was worked out is worked out again. */
static void note_change(struct strata_cluster *cluster)
{
	cluster->changed = cluster->disturbed = true;
	cluster->version++;
	cluster->advance_wake_ns = advance_next_ns(cluster, cluster->now_ns);
}

static void drop(struct strata_cluster *cluster, struct advance **at)
{
	struct advance *own = *at;

	*at = own->next;
	for (uint32_t i = 0; i < own->booking_count; i++) {
		struct booking **from = &cluster->nodes[own->bookings[i].kept.node].bookings;

		while (*from != &own->bookings[i])
			from = &(*from)->next;
		*from = (*from)->next;
	}
	strata_memory_put(cluster->memory, own, own->bytes);
}

int strata_cluster_reserve(struct strata_cluster *cluster, const struct strata_advance *advance,
			   struct strata_error *err)
{
	int rc = check(cluster, advance, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_RESERVE, .advance = advance);
	if (rc)
		return rc;
	struct advance *own = copy(cluster, advance), **at = find(cluster, advance->name);

	if (!own)
		return strata_fail_memory(err);
	if (*at)
		drop(cluster, at);
	own->next = *at;
	*at = own;
	for (uint32_t i = 0; i < own->booking_count; i++) {
		struct node *node = &cluster->nodes[own->bookings[i].kept.node];

		own->bookings[i].next = node->bookings;
		node->bookings = &own->bookings[i];
	}
	note_change(cluster);
	return 0;
}

int strata_cluster_unreserve(struct strata_cluster *cluster, const char *name,
			     struct strata_error *err)
{
	struct advance **at = find(cluster, name);

	cluster_tell(cluster, .kind = STRATA_EVENT_UNRESERVE, .name = name);
	if (!*at)
		return strata_fail_at(err, -ENOENT, "name", "there is no reservation %.60s", name);
	drop(cluster, at);
	note_change(cluster);
	return 0;
}

size_t strata_cluster_kept_from(const struct strata_cluster *cluster, uint64_t id,
				const char **ret_names, size_t most)
{
	const struct job *job = range_get(cluster, id);
	size_t count = 0;

	if (!job)
		return 0;
	for (const struct advance *at = cluster->advances; at && count < most; at = at->next) {
		struct turn turn;

		if (overlaps(at, cluster->now_ns, cluster->now_ns + job->limit_ns, &turn) &&
		    !may_use(at, job))
			ret_names[count++] = at->name;
	}
	return count;
}

void advances_free(struct strata_cluster *cluster)
{
	while (cluster->advances)
		drop(cluster, &cluster->advances);
}

void advances_pass(struct strata_cluster *cluster)
{
	if (cluster->advance_wake_ns > cluster->now_ns)
		return;
	note_change(cluster);
}

uint64_t advances_digest(const struct strata_cluster *cluster)
{
	uint64_t sum = 0;

	for (const struct advance *at = cluster->advances; at; at = at->next)
		sum = sum * 31 + (uint64_t)at->begin_ns * 7 + (uint64_t)at->end_ns * 3 +
		      (uint64_t)at->every_ns + at->booking_count;
	return sum;
}
