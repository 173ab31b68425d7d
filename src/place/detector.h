/* What detectors share: sorts of operators, walks along tensors, and attentions, which most of them ask for. */
#ifndef PLACE_DETECTOR_H
#define PLACE_DETECTOR_H

#include <strata/detector.h>

#include <string.h>

/* Sorts of operators; an op may be of none. */
enum sort {
	SORT_MOVE = 1 << 0,    /* moves elements: Transpose, Reshape, Concat … */
	SORT_MATH = 1 << 1,    /* works element by element */
	SORT_PRODUCT = 1 << 2, /* a matrix product */
	SORT_CONV = 1 << 3,
	SORT_RECURRENT = 1 << 4,
	SORT_ATTENTION = 1 << 5, /* all of attention in one operator */
	SORT_GRADIENT = 1 << 6,  /* of training backwards */
	SORT_UPDATE = 1 << 7,    /* writes into a copy of its input: Concat, ScatterND … */
};
unsigned op_sort(const struct strata_op *op);
static inline bool op_is(const struct strata_op *op, const char *kind)
{
	return strcmp(op->kind, kind) == 0;
}

bool tensor_is_real(const struct strata_tensor *tensor);    /* f64 … f8 */
bool tensor_is_integer(const struct strata_tensor *tensor); /* i64 … u8 */
/* Dimension from the end, 0 the last; -1 when it is not known. */
int64_t tensor_dim_back(const struct strata_tensor *tensor, size_t from_end);

/* Which tensors and ops a walk has seen. */
struct trail {
	const struct strata_graph *graph;
	uint32_t *stack, *seen; /* by tensor */
	size_t depth;
	uint32_t round;
};
int trail_init(struct trail *trail, const struct strata_graph *graph, struct strata_arena *arena,
	       struct strata_error *err);
/* Walks from a tensor against the data, through ops of these sorts. Next tensor in each call, the first one included; STRATA_NONE at the end.
 * What is behind ops of other sorts is not visited, but their outputs are. */
void trail_begin(struct trail *trail, uint32_t tensor);
uint32_t trail_back(struct trail *trail, unsigned sorts);
/* The same with the data: through readers. */
uint32_t trail_forth(struct trail *trail, unsigned sorts);

/* Whether each op depends on an input of the model: op_count of them, in the arena; NULL for lack of memory. */
bool *ops_with_inputs(const struct strata_graph *graph, struct strata_arena *arena);

/* attention.c: all of them. */
int attention_find(const struct strata_graph *graph, struct strata_arena *arena,
		   struct strata_findings *findings, struct strata_error *err);
/* Is it all of attention in one operator, with Q, K and V as its first inputs? */
bool attention_has_keys(const struct strata_graph *graph, const struct strata_op *op);

#endif
