/*
 * The nodes of a round. The cluster level knows CPUs, memory, GPUs and features; what Kubernetes
 * has beyond that becomes a feature: each constraint that pods have gets a name, and the nodes that
 * such a pod could go to, by labels, by taints and by what else is countable there, have that name
 * among their features.
 */
#include "pods/pods_round.h"

#include "core/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PODS_OF_NODE = 110 }; /* where a node does not say how many it takes */

bool pods_rows_placed(const struct pods_round *round, const struct pod *pod,
		      struct pods_row **ret_row)
{
	struct node *node =
		pod->node && !pod->ended ? pods_mirror_find_node(round->mirror, pod->node) : NULL;

	if (!node)
		return false;
	*ret_row = &round->rows[node->row];
	return true;
}

static int compare_nodes(const void *a_any, const void *b_any)
{
	const struct pods_row *a = a_any, *b = b_any;

	return strcmp(a->node->name, b->node->name);
}

int pods_rows_make(struct pods_round *round)
{
	const struct map_text_entry *at = NULL;
	size_t count = 0;

	round->row_count = round->mirror->nodes.count;
	round->rows = strata_arena_array(round->arena, round->row_count, sizeof(*round->rows));
	if (!round->rows)
		return strata_fail_memory(round->err);
	while ((at = map_text_next(&round->mirror->nodes, at)))
		round->rows[count++].node = at->value;
	qsort(round->rows, count, sizeof(*round->rows), compare_nodes);
	for (uint32_t i = 0; i < count; i++) {
		struct pods_row *row = &round->rows[i];

		row->node->row = i;
		row->cpu_milli = row->node->amounts.cpu_milli;
		row->memory_bytes = row->node->amounts.memory_bytes;
		row->gpu_mask = (1u << row->node->amounts.gpus) - 1;
	}
	for (size_t i = 0; i < round->pod_count; i++) {
		struct pods_row *row;
		int rc = pods_rows_placed(round, round->pods[i], &row)
				 ? pod_amounts_sum(&row->used, &round->pods[i]->amounts,
						   round->arena, round->err)
				 : 0;

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- other amounts ---- */

static int64_t most_of(const struct node *node, const char *name)
{
	int64_t most = pod_amounts_other(&node->amounts, name);

	if (strncmp(name, "hostPort/", strlen("hostPort/")) == 0)
		return 1;
	return most == 0 && strcmp(name, "pods") == 0 ? PODS_OF_NODE : most;
}

static bool has_others(const struct pods_row *row, const struct pod *pod)
{
	for (size_t i = 0; i < pod->amounts.other_count; i++) {
		const struct pod_other *other = &pod->amounts.others[i];

		if (other->amount >
		    most_of(row->node, other->name) - pod_amounts_other(&row->used, other->name))
			return false;
	}
	return true;
}

bool pods_rows_take_others(struct pods_round *round, struct pods_row *row, const struct pod *pod)
{
	return has_others(row, pod) &&
	       pod_amounts_sum(&row->used, &pod->amounts, round->arena, round->err) == 0;
}

/* ---- constraints ---- */

static int fill_constraint(struct pods_round *round, struct pods_constraint *constraint)
{
	constraint->fits = strata_arena_array(round->arena, round->row_count, 1);
	if (!constraint->fits)
		return -ENOMEM;
	for (size_t i = 0; i < round->row_count; i++) {
		const struct pods_row *row = &round->rows[i];
		enum pod_match match = pod_match(constraint->rules, row->node);

		constraint->fits[i] = match == POD_MATCH_SELECTOR          ? PODS_FIT_SELECTOR
				      : match == POD_MATCH_TAINT           ? PODS_FIT_TAINT
				      : has_others(row, constraint->first) ? PODS_FITS
									   : PODS_FIT_OTHER;
	}
	return 0;
}

struct pods_constraint *pods_rows_constraint(struct pods_round *round, const struct pod *pod)
{
	size_t length = strlen(pod->constraint);
	struct pods_constraint *constraint =
		map_text_get(&round->constraints, pod->constraint, length);

	if (constraint)
		return constraint;
	constraint = strata_arena_get(round->arena, sizeof(*constraint));
	if (!constraint)
		return NULL;
	constraint->rules = pod->rules;
	constraint->first = pod;
	snprintf(constraint->name, sizeof(constraint->name), "c%zu", round->constraints.count);
	if (fill_constraint(round, constraint) ||
	    map_text_put(&round->constraints, pod->constraint, length, constraint, NULL))
		return NULL;
	return constraint;
}

static int features_of(struct pods_round *round, size_t row, struct buf *buf)
{
	const struct map_text_entry *at = NULL;

	buf_reset(buf);
	while ((at = map_text_next(&round->constraints, at))) {
		const struct pods_constraint *constraint = at->value;

		if (constraint->fits[row] != PODS_FITS)
			continue;
		if (buf->length)
			buf_add_char(buf, ',');
		buf_add(buf, constraint->name);
	}
	return buf_check(buf, round->err);
}

int pods_rows_add_to_cluster(struct pods_round *round)
{
	struct buf features;
	int rc = 0;

	buf_init(&features, round->mirror->memory, 0);
	for (size_t i = 0; rc == 0 && i < round->row_count; i++) {
		const struct node *node = round->rows[i].node;
		struct strata_node_conf conf = {
			.name = node->name,
			.cpu_milli = node->amounts.cpu_milli,
			.memory_bytes = node->amounts.memory_bytes,
			.gpu_count = (uint32_t)node->amounts.gpus,
			.gpu_type = node->gpu_type,
		};

		memcpy(conf.numa, node->numa, sizeof(conf.numa));
		rc = features_of(round, i, &features);
		conf.features = features.text;
		if (rc == 0)
			rc = strata_cluster_add_node(round->cluster, &conf, NULL, round->err);
		if (rc == 0 && (!node->ready || node->cordoned))
			rc = strata_cluster_set_node(round->cluster, (uint32_t)i,
						     STRATA_NODE_DRAINED, round->now_ns,
						     round->err);
	}
	buf_fini(&features);
	return rc;
}

/* ---- adopting ---- */

static int64_t at_most(int64_t amount, int64_t most)
{
	return amount < most ? amount : most < 0 ? 0 : most;
}

struct strata_piece pods_rows_piece(struct pods_row *row, const struct pod *pod, uint32_t at)
{
	struct strata_piece piece = {
		.node = at,
		.tasks = 1,
		.cpu_milli = at_most(pod->amounts.cpu_milli, row->cpu_milli),
		.memory_bytes = at_most(pod->amounts.memory_bytes, row->memory_bytes),
		.gpu_milli = pod->amounts.gpus ? 1000 : 0,
	};
	uint32_t wanted = pod->gpu_mask & row->gpu_mask;

	if (__builtin_popcount(wanted) == pod->amounts.gpus)
		piece.gpu_mask = (uint16_t)wanted;
	else
		for (int64_t i = 0; i < pod->amounts.gpus; i++) {
			uint32_t rest = row->gpu_mask & ~(uint32_t)piece.gpu_mask;

			piece.gpu_mask |= (uint16_t)(rest & -rest);
		}
	row->cpu_milli -= piece.cpu_milli;
	row->memory_bytes -= piece.memory_bytes;
	row->gpu_mask &= ~(uint32_t)piece.gpu_mask;
	return piece;
}
