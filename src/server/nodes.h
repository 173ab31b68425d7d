/* The nodes, and what the operator said of them. */
#ifndef SERVER_NODES_H
#define SERVER_NODES_H

#include "server/decider.h"
#include "server/job_place.h"

struct inventory_node;

/* In the cluster's order: a strata_piece's node is the row. */
struct node_about {
	const char *name;
	const struct inventory_node *about;
	struct strata_node_conf conf;
	enum strata_node_state state;
	char *reason; /* malloc's; NULL: none */
	int64_t since_ns;
	uint32_t gpu_first; /* what the machine calls its GPU 0 */
};

int nodes_open(struct decider *decider, struct strata_error *err);
void nodes_close(struct decider *decider);
void nodes_set(struct decider *decider, uint32_t row, enum strata_node_state state,
	       const char *reason, int64_t since_ns);
const char *nodes_state_name(enum strata_node_state state);
/* By that name; of one that there is not: up. */
enum strata_node_state nodes_state_find(const char *name);
struct node_about *nodes_find(const struct decider *decider, const char *name); /* NULL: none */
/* A place by the rows of its nodes, in the arena. -ENODEV: it has none, or one is not known any
 * more. */
int nodes_pieces(const struct decider *decider, const struct job_place *place,
		 struct strata_arena *arena, struct strata_piece **ret_pieces, uint32_t *ret_count);
/* The other way; malloc's. NULL: no memory. */
struct job_place *nodes_place(const struct decider *decider, const struct strata_piece *pieces,
			      uint32_t count);
/* The first partition that has all of these nodes, in the arena; NULL: none. */
const char *nodes_partition(const struct decider *decider, const struct strata_piece *pieces,
			    uint32_t count, struct strata_arena *arena);

#endif
