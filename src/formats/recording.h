/*
 * Records: everything that a cluster was told and what it decided, one JSON object per line, so that it can all be decided over.
 *
 *	{"event":"begin","format":1,"order":"fair_share","half_life_ns":86400000000000}
 *	{"event":"add_node","conf":{"name":"n1","cpu_milli":64000,"gpu_count":2,"gpu_type":"a100","numa":[0,1]}}
 *	{"event":"submit","now_ns":1750000000000000000,"request":{"id":1,"user":"ann", …}}
 *	{"event":"pass","now_ns":1750000000000000001,"effects":[{"kind":"start","job":1,"attempt":1,"pieces":[{"tasks":1, …}]}]}
 *
 * Pools of generation tasks have lines of the same kind, each with the name of its pool:
 *
 *	{"event":"pool_begin","pool":"digits","policy":"fair","conf":{"batch_max":4,"lease_ns":30000000000}}
 *	{"event":"pool_add","pool":"digits","now_ns":1750000000000000002,"request":{"user":"ann","priority":5,"steps":20,"model":1}}
 *	{"event":"pool_pick","pool":"digits","now_ns":1750000000000000003,"ask":{"worker":1,"free_bytes":-1},"batch":{"number":1, …,"tasks":[1]}}
 *
 * Members are those of struct strata_event and what it points to, by the same names; what is 0 or NULL is left out. A line
 * `begin` stands for a new cluster: a service that comes back writes another one. It has no pools then: a line `pool_begin` stands
 * for a new one, in the place of one of that name.
 */
#ifndef FORMATS_RECORDING_H
#define FORMATS_RECORDING_H

#include <strata/cluster.h>
#include <strata/pool.h>

#include "core/buf.h"

enum { RECORDING_FORMAT = 1 };

/* What a cluster is made of: specs as text, as in strata_cluster_conf; NULL: the default. */
struct recording_begin {
	uint32_t format; /* RECORDING_FORMAT */
	const char *order, *placement, *backfill, *prediction, *victims;
	int64_t half_life_ns, checkpoint_bytes_max;
};

/* What a pool is made of. Of the conf its policy, attribute and listener do not count. */
struct recording_pool {
	const char *policy; /* spec as text; NULL: the default */
	struct strata_pool_conf conf;
};

struct recording_line {
	bool begins; /* a new cluster or pool; else an event */
	const char *pool; /* the line is about this pool; NULL: about the cluster */
	struct recording_begin begin;
	struct strata_event event;
	struct recording_pool pool_begin;
	struct strata_pool_event pool_event;
	uint64_t digest; /* of the cluster after a pass, the pool after a pick; 0: was not taken */
};

/* Appends the line with its newline; the format is set here. */
void recording_add(struct buf *buf, const struct recording_line *line);

/* Reads one line, without its newline; texts and lists are in the arena. -EINVAL with what is wrong. */
int recording_read(const char *text, size_t length, struct strata_arena *arena,
		   struct recording_line *ret_line, struct strata_error *err);

#endif
