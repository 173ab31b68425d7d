/*
 * What is free on a node, and taking from it. A room is a vector: CPU, memory, and what is left of
 * each GPU. A whole GPU is an untouched one; a share is taken from one GPU, by default the fullest
 * that still has enough, so that the others stay whole.
 */
#include "cluster/cluster_int.h"

#include <assert.h>

enum { WHOLE_MILLI = 1000 };

uint32_t room_whole_gpus(const struct strata_room *room, uint32_t gpu_count)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < gpu_count; i++)
		count += room->gpu_milli[i] == WHOLE_MILLI;
	return count;
}

uint32_t room_fullest(const struct strata_room *room, uint32_t gpu_count)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < gpu_count; i++)
		if (room->gpu_milli[i] > most)
			most = room->gpu_milli[i];
	return most;
}

bool room_fits(const struct strata_room *room, uint32_t gpu_count, const struct strata_need *need)
{
	return need->cpu_milli <= room->cpu_milli && need->memory_bytes <= room->memory_bytes &&
	       (need->gpus == 0 || need->gpus <= room_whole_gpus(room, gpu_count)) &&
	       (need->gpu_milli == 0 || need->gpu_milli <= room_fullest(room, gpu_count));
}

uint32_t room_shared_gpu(const struct strata_room *room, uint32_t gpu_count, uint32_t gpu_milli)
{
	uint32_t best = gpu_count;

	for (uint32_t i = 0; i < gpu_count; i++)
		if (room->gpu_milli[i] >= gpu_milli &&
		    (best == gpu_count || room->gpu_milli[i] < room->gpu_milli[best]))
			best = i;
	return best;
}

/* The NUMA domain with the fewest whole GPUs that still has enough; −1 when none has. */
static int closest_domain(const struct strata_room *room, uint32_t gpu_count, const uint8_t *numa,
			  uint32_t gpus)
{
	uint8_t whole[256];
	int best = -1;

	for (uint32_t i = 0; i < gpu_count; i++)
		whole[numa[i]] = 0;
	for (uint32_t i = 0; i < gpu_count; i++)
		whole[numa[i]] = (uint8_t)(whole[numa[i]] + (room->gpu_milli[i] == WHOLE_MILLI));
	for (uint32_t i = 0; i < gpu_count; i++)
		if (whole[numa[i]] >= gpus && (best < 0 || whole[numa[i]] < whole[best]))
			best = numa[i];
	return best;
}

bool room_together(const struct strata_room *room, uint32_t gpu_count, const uint8_t *numa,
		   uint32_t gpus)
{
	return closest_domain(room, gpu_count, numa, gpus) >= 0;
}

struct strata_piece room_pick(const struct strata_room *room, uint32_t gpu_count,
			      const uint8_t *numa, const struct strata_need *need, uint32_t gpu)
{
	struct strata_piece piece = { .cpu_milli = need->cpu_milli,
				      .memory_bytes = need->memory_bytes };

	if (need->gpu_milli) {
		assert(gpu < gpu_count && room->gpu_milli[gpu] >= need->gpu_milli);
		piece.gpu_mask = (uint16_t)(1u << gpu);
		piece.gpu_milli = (uint16_t)need->gpu_milli;
	} else if (need->gpus) {
		int domain = closest_domain(room, gpu_count, numa, need->gpus);
		uint32_t left = need->gpus;

		for (uint32_t i = 0; i < gpu_count && left; i++)
			if (room->gpu_milli[i] == WHOLE_MILLI &&
			    (domain < 0 || numa[i] == domain)) {
				piece.gpu_mask |= (uint16_t)(1u << i);
				left--;
			}
		assert(left == 0);
		piece.gpu_milli = WHOLE_MILLI;
	}
	return piece;
}

bool room_has(const struct strata_room *room, const struct strata_piece *piece)
{
	if (room->cpu_milli < piece->cpu_milli || room->memory_bytes < piece->memory_bytes)
		return false;
	for (uint32_t mask = piece->gpu_mask; mask; mask &= mask - 1)
		if (room->gpu_milli[__builtin_ctz(mask)] < piece->gpu_milli)
			return false;
	return true;
}

void room_take(struct strata_room *room, const struct strata_piece *piece)
{
	room->cpu_milli -= piece->cpu_milli;
	room->memory_bytes -= piece->memory_bytes;
	assert(room->cpu_milli >= 0 && room->memory_bytes >= 0);
	for (uint32_t mask = piece->gpu_mask; mask; mask &= mask - 1) {
		uint16_t *left = &room->gpu_milli[__builtin_ctz(mask)];

		assert(*left >= piece->gpu_milli);
		*left = (uint16_t)(*left - piece->gpu_milli);
	}
}

void room_give(struct strata_room *room, const struct strata_piece *piece)
{
	room->cpu_milli += piece->cpu_milli;
	room->memory_bytes += piece->memory_bytes;
	for (uint32_t mask = piece->gpu_mask; mask; mask &= mask - 1) {
		uint16_t *left = &room->gpu_milli[__builtin_ctz(mask)];

		*left = (uint16_t)(*left + piece->gpu_milli);
		assert(*left <= WHOLE_MILLI);
	}
}
