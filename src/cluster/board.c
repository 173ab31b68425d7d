/*
 * Boards: the scores of all groups for one ask, remembered. A group never changes what it is, only which nodes are in it, so a score
 * is worked out once for as long as the group lives, and a placement costs what changed since the last one for the same ask.
 *
 * The best of each block of 64 groups is kept; a block whose best changed is gone through when it is next needed. Boards are for
 * placements whose score depends on the need. An ask gets one when it is looked for a second time; when all boards together
 * would be too large, only if that was more recently than the oldest board was used, which then goes. Without a board the
 * groups are scored each time.
 */
#include "cluster/cluster_int.h"

#include <math.h>

enum { BLOCK = 64 };
#define BLOCK_UNKNOWN UINT32_MAX

static uint32_t block_count(uint32_t room)
{
	return (room + BLOCK - 1) / BLOCK;
}

static size_t board_bytes(uint32_t room)
{
	return sizeof(struct board) + room * sizeof(struct board_entry) +
	       block_count(room) * sizeof(uint32_t);
}

/* ---- which there are ---- */

static void unlink_board(struct strata_cluster *cluster, struct board *board)
{
	*(board->newer ? &board->newer->older : &cluster->board_newest) = board->older;
	*(board->older ? &board->older->newer : &cluster->board_oldest) = board->newer;
	board->newer = board->older = NULL;
}

static void link_newest(struct strata_cluster *cluster, struct board *board)
{
	board->older = cluster->board_newest;
	*(board->older ? &board->older->newer : &cluster->board_oldest) = board;
	cluster->board_newest = board;
}

void board_free(struct strata_cluster *cluster, struct board *board)
{
	if (!board)
		return;
	unlink_board(cluster, board);
	board->ask->board = NULL;
	cluster->board_bytes -= board_bytes(board->room);
	strata_memory_put(cluster->memory, board, board_bytes(board->room));
}

/* Makes room for a board of so many bytes, if those in the way have not been used since. */
static bool make_room(struct strata_cluster *cluster, size_t bytes, uint64_t since)
{
	while (cluster->board_bytes + bytes > CLUSTER_BOARDS_BYTES_MAX) {
		struct board *oldest = cluster->board_oldest;

		if (!oldest || oldest->used >= since)
			return false;
		board_free(cluster, oldest);
	}
	return true;
}

static struct board *board_new(struct strata_cluster *cluster, struct ask *ask)
{
	uint32_t room = cluster->node_count; /* there are no more groups */
	size_t bytes = board_bytes(room);
	struct board *board = make_room(cluster, bytes, ask->sought)
				      ? strata_memory_get(cluster->memory, bytes)
				      : NULL;

	if (!board)
		return NULL;
	board->ask = ask;
	board->room = room;
	board->entries = (struct board_entry *)(board + 1);
	board->best = (uint32_t *)(board->entries + room);
	ask->board = board;
	cluster->board_bytes += bytes;
	link_newest(cluster, board);
	return board;
}

/* ---- keeping up ---- */

static bool before(const struct strata_cluster *cluster, const struct board *board, uint32_t a,
		   uint32_t b)
{
	const struct board_entry *left = &board->entries[a], *right = &board->entries[b];

	if (left->score != right->score)
		return left->score < right->score;
	if (left->apart != right->apart)
		return left->apart < right->apart;
	return cluster->roster.entries[a].row < cluster->roster.entries[b].row;
}

/* Scores the group at an index anew, unless it is the one whose score is known. */
static void refresh_entry(struct strata_cluster *cluster, struct board *board, uint32_t index)
{
	const struct roster_entry *source = &cluster->roster.entries[index];
	struct board_entry *entry = &board->entries[index];
	uint32_t generation = (uint32_t)(slab_handle(&cluster->group_slab, index) >> 32), gpu;
	struct strata_need need;

	if (entry->generation == generation && generation)
		return;
	entry->generation = generation;
	entry->score = INFINITY;
	if (!generation ||
	    !placing_fits(source, board->ask, 1, cluster->shapes[source->shape], &need))
		return;
	const struct group *group = slab_by_index(&cluster->group_slab, index);

	entry->score = placing_score(cluster, group, &need, &gpu);
	entry->gpu = (uint8_t)gpu;
	entry->apart = placing_apart(cluster, group, &need);
}

static void refresh_all(struct strata_cluster *cluster, struct board *board)
{
	for (uint32_t block = 0; block < block_count(board->room); block++)
		board->best[block] = BLOCK_UNKNOWN;
	for (uint32_t index = 0; index < cluster->roster.end; index++)
		refresh_entry(cluster, board, index);
}

/* First every change is entered, and blocks whose best is among them are given up; then the others are compared with the best
 * of their blocks, all of which are still what they were. */
static void refresh_changed(struct strata_cluster *cluster, struct board *board)
{
	const struct roster *roster = &cluster->roster;

	for (uint64_t change = board->seen; change < roster->changes; change++) {
		uint32_t index = roster_changed(roster, change);

		refresh_entry(cluster, board, index);
		if (board->best[index / BLOCK] == index)
			board->best[index / BLOCK] = BLOCK_UNKNOWN;
	}
	for (uint64_t change = board->seen; change < roster->changes; change++) {
		uint32_t index = roster_changed(roster, change);
		uint32_t *best = &board->best[index / BLOCK];

		if (*best != BLOCK_UNKNOWN && before(cluster, board, index, *best))
			*best = index;
	}
}

static void catch_up(struct strata_cluster *cluster, struct board *board)
{
	const struct roster *roster = &cluster->roster;

	if (board->seen == 0 || roster->changes - board->seen > roster->end)
		refresh_all(cluster, board);
	else
		refresh_changed(cluster, board);
	board->seen = roster->changes;
}

struct board *board_get(struct strata_cluster *cluster, struct ask *ask)
{
	struct board *board = ask->board;

	cluster->board_clock++;
	if (!board) {
		board = ask->sought ? board_new(cluster, ask) : NULL;
		ask->sought = cluster->board_clock;
		if (!board)
			return NULL;
	} else if (board != cluster->board_newest) {
		unlink_board(cluster, board);
		link_newest(cluster, board);
	}
	board->used = cluster->board_clock;
	catch_up(cluster, board);
	return board;
}

/* ---- the best ---- */

static uint32_t best_of_block(const struct strata_cluster *cluster, const struct board *board,
			      uint32_t block)
{
	uint32_t best = block * BLOCK, end = cluster->roster.end;

	for (uint32_t i = best + 1; i < end && i < (block + 1) * BLOCK; i++)
		if (before(cluster, board, i, best))
			best = i;
	return best;
}

uint32_t board_best(const struct strata_cluster *cluster, struct board *board)
{
	uint32_t best = BOARD_NONE;

	for (uint32_t block = 0; block < block_count(cluster->roster.end); block++) {
		uint32_t *own = &board->best[block];

		if (*own == BLOCK_UNKNOWN)
			*own = best_of_block(cluster, board, block);
		if (board->entries[*own].score < INFINITY &&
		    (best == BOARD_NONE || before(cluster, board, *own, best)))
			best = *own;
	}
	return best;
}
