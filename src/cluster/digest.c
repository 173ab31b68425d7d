/* The state of a cluster as one number, for comparing a cluster with one that was told the same.
 * Memory addresses do not count. */
#include "cluster/cluster_int.h"

#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ hash >> 29;
}

static uint64_t mix_real(uint64_t hash, double number)
{
	uint64_t word;

	memcpy(&word, &number, sizeof(word));
	return mix(hash, word);
}

static uint64_t mix_piece(uint64_t hash, const struct strata_piece *piece)
{
	hash = mix(hash, (uint64_t)piece->node << 32 | piece->tasks);
	hash = mix(hash, (uint64_t)piece->cpu_milli);
	hash = mix(hash, (uint64_t)piece->memory_bytes);
	return mix(hash, (uint64_t)piece->gpu_mask << 16 | piece->gpu_milli);
}

static uint64_t mix_job(uint64_t hash, const struct job *job)
{
	hash = mix(hash, job->id);
	hash = mix(hash, job->sequence);
	if (job->elements > 1)
		hash = mix(hash, job->elements);
	hash = mix(hash, (uint64_t)job->state << 32 | job->reason);
	hash = mix(hash, (uint64_t)job->band << 32 | (uint64_t)job->held << 1 | job->stopping);
	hash = mix(hash, (uint64_t)job->priority);
	hash = mix(hash, (uint64_t)job->attempt << 32 | job->preempted);
	hash = mix(hash, (uint64_t)job->submit_ns);
	hash = mix(hash, (uint64_t)job->begin_ns);
	hash = mix(hash, (uint64_t)job->start_ns);
	hash = mix(hash, (uint64_t)job->end_ns);
	hash = mix(hash, (uint64_t)job->limit_ns);
	hash = mix(hash, (uint64_t)job->promised_ns);
	if (job_placed(job))
		hash = mix(hash, (uint64_t)job->expected_end_ns);
	for (uint32_t i = 0; i < job->claim_count; i++)
		hash = mix_piece(hash, &job->claims[i].piece);
	return mix(hash, (uint64_t)checkpoint_last_ns(job));
}

uint64_t strata_cluster_digest(const struct strata_cluster *cluster)
{
	const struct map_u64_entry *entry = NULL;
	uint64_t hash = mix(cluster->sequence, (uint64_t)cluster->now_ns);

	while ((entry = map_u64_next(&cluster->jobs, entry)))
		hash = mix_job(hash, entry->value);
	for (struct tree_node *at = tree_first(&cluster->queue); at; at = tree_next(at))
		hash = mix(hash, queue_job_group(at)->first->id);
	for (uint32_t row = 0; row < cluster->node_count; row++) {
		const struct node *node = &cluster->nodes[row];

		hash = mix(hash, node->state);
		hash = mix(hash, (uint64_t)node->room.cpu_milli);
		hash = mix(hash, (uint64_t)node->room.memory_bytes);
	}
	for (const struct association *association = cluster->association_list; association;
	     association = association->next) {
		hash = mix_real(hash, association->rate);
		hash = mix_real(hash, association->user->used);
		hash = mix_real(hash,
				share_usage(cluster->share, association->leaf, cluster->now_ns));
	}
	return cluster->advances ? mix(hash, advances_digest(cluster)) : hash;
}
