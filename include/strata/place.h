/*
 * The place level: which operator of a model runs on which device. A graph says what there is to compute (operators, the tensors between
 * them, what they cost), a machine says on what (devices, links, budgets), a cost model prices each operator on each device, and
 * strategies propose plans. Every plan is simulated by the same rules, and the best simulated one wins: never one that is worse than the
 * best single device.
 *
 * Everything is computed from the arguments; nothing here reads a file or a clock. A graph is an object with its own memory; plans are
 * constant and live in the caller's arena. Nothing is thread-safe; different graphs may be used by different threads.
 */
#ifndef STRATA_PLACE_H
#define STRATA_PLACE_H

#include <strata/class.h>
#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define STRATA_NONE UINT32_MAX /* as an index: there is none */

/* ---- tensors and operators ---- */

enum strata_dtype {
	STRATA_DTYPE_NONE, /* not known */
	STRATA_DTYPE_F64,
	STRATA_DTYPE_F32,
	STRATA_DTYPE_F16,
	STRATA_DTYPE_BF16,
	STRATA_DTYPE_F8,
	STRATA_DTYPE_I64,
	STRATA_DTYPE_I32,
	STRATA_DTYPE_I16,
	STRATA_DTYPE_I8,
	STRATA_DTYPE_U64,
	STRATA_DTYPE_U32,
	STRATA_DTYPE_U16,
	STRATA_DTYPE_U8,
	STRATA_DTYPE_BOOL,
	STRATA_DTYPE_TEXT,
	STRATA_DTYPE_C64,
	STRATA_DTYPE_C128,
};
enum { STRATA_DTYPE_COUNT = STRATA_DTYPE_C128 + 1 };
const char *strata_dtype_name(enum strata_dtype dtype); /* "f32"; "none" */
/* Bytes of one element; 0 for none and text. */
int64_t strata_dtype_bytes(enum strata_dtype dtype);

enum strata_role {
	STRATA_ROLE_ACTIVATION, /* made by an op, read by others */
	STRATA_ROLE_INPUT,      /* of the model */
	STRATA_ROLE_OUTPUT,     /* of the model */
	STRATA_ROLE_WEIGHT,     /* constant, stays on the device that reads it */
	STRATA_ROLE_KV,         /* state kept from one call to the next: a KV cache */
};
enum { STRATA_ROLE_COUNT = STRATA_ROLE_KV + 1 };
const char *strata_role_name(enum strata_role role);

enum strata_phase {
	STRATA_PHASE_FORWARD,
	STRATA_PHASE_PREFILL,
	STRATA_PHASE_DECODE,
	STRATA_PHASE_ENCODE,
	STRATA_PHASE_DENOISE,
	STRATA_PHASE_DECODE_IMAGE,
	STRATA_PHASE_BACKWARD,
};
enum { STRATA_PHASE_COUNT = STRATA_PHASE_BACKWARD + 1 };
const char *strata_phase_name(enum strata_phase phase); /* "decode_image" */

enum strata_modality {
	STRATA_MODALITY_NONE,
	STRATA_MODALITY_TEXT,
	STRATA_MODALITY_IMAGE,
	STRATA_MODALITY_AUDIO,
	STRATA_MODALITY_MIXED,
};
enum { STRATA_MODALITY_COUNT = STRATA_MODALITY_MIXED + 1 };
const char *strata_modality_name(enum strata_modality modality);

struct strata_tensor {
	const char *name; /* "" or unique in the graph; owned by the graph */
	enum strata_dtype dtype;
	enum strata_role role;
	bool shaped; /* rank and shape are known */
	uint8_t rank;
	int64_t shape[STRATA_TENSOR_RANK_MAX]; /* 0 and more; -1: that dimension is not known */
	int64_t bytes;                         /* 0: not known, or none */
	uint32_t
		file; /* of a weight that is in a file: index into the graph's files; STRATA_NONE */
	int64_t offset_bytes; /* where in that file */
	int64_t extent_bytes; /* and how much of it */
	uint32_t
		tied; /* weights with the same number, not 0, are one: kept once, used on one device */
	uint32_t
		device; /* of KV state: where it is now; STRATA_NONE: nowhere yet, or it moves for nothing */
	uint32_t producer; /* op that makes it; STRATA_NONE. Set by strata_graph_add_op */
};

struct strata_op {
	const char *name; /* "" or any text; need not be unique; owned by the graph */
	const char *kind; /* "MatMul"; "" when the format has none */
	const uint32_t *inputs,
		*outputs; /* tensors; STRATA_NONE: an optional one that is left out */
	uint32_t input_count, output_count;
	double flops;
	double bytes;             /* read and written; below 0: the sum over its tensors */
	int64_t weight_bytes;     /* beside those of its weight tensors */
	int64_t kv_bytes;         /* likewise, of state that it keeps */
	uint32_t kv_device;       /* where those kv_bytes are now; STRATA_NONE */
	int64_t activation_bytes; /* beside those of its tensors: scratch while it runs */
	enum strata_phase phase;
	enum strata_modality modality;
	bool unknown;   /* its kind is not known: bytes only, flops is a guess of 0 */
	uint32_t group; /* ops of the same group, not 0, are on one device */
	/* Measured: one for each of the graph's devices, infinite where it cannot run; NULL: by the cost model. */
	const double *times_ns;
};

/* Data that goes from one op to another. */
struct strata_edge {
	uint32_t from, to;
	uint32_t tensor; /* STRATA_NONE: an edge added without one */
	int64_t bytes;
	double cost_ns; /* time to move it, whatever the link; below 0: by bytes and link */
};

/* ---- a graph ---- */

/*
 * Built call by call, then finished; from then on its structure is constant. What detectors find out (phase, modality, role, group, unknown,
 * flops) may be written into ops and tensors at any time.
 */
struct strata_graph {
	const char *name;
	struct strata_tensor *tensors;
	struct strata_op *ops;
	const char *const *files; /* that weights are in; [0] is the model itself */
	size_t tensor_count, op_count, file_count;
	size_t device_count; /* that measured times are for; 0: there are none */

	/* from here on: set by strata_graph_finish */
	const struct strata_edge *edges; /* by `from`, then as they were made */
	size_t edge_count;
	const uint32_t
		*out_first; /* op_count + 1: edges out_first[i] … out_first[i + 1] − 1 leave op i */
	const uint32_t *in_first;     /* op_count + 1, into in_edges */
	const uint32_t *in_edges;     /* indexes of edges, by `to` */
	const uint32_t *reader_first; /* tensor_count + 1, into readers */
	const uint32_t
		*readers; /* ops that read a tensor, ascending; once for each time they read it */
	const uint32_t *
		order; /* ops, each behind what it needs; of those that could come next the lowest index */
	struct strata_graph_int *inside;
};

/* An empty graph. The name is copied. memory is borrowed until strata_graph_free. */
int strata_graph_new(const char *name, struct strata_memory *memory,
		     struct strata_graph **ret_graph, struct strata_error *err);
void strata_graph_free(struct strata_graph *graph); /* NULL is nothing */

/* Adds a tensor; its texts are copied. Refused: a name that is taken, more than STRATA_GRAPH_TENSORS_MAX, a rank above
 * STRATA_TENSOR_RANK_MAX. ret_index may be NULL. */
int strata_graph_add_tensor(struct strata_graph *graph, const struct strata_tensor *tensor,
			    uint32_t *ret_index, struct strata_error *err);

/* Adds an op; its texts, lists and times are copied. Its tensors must have been added. Refused: a tensor that is not there or is made by
 * two ops; numbers that are no numbers; more than STRATA_GRAPH_OPS_MAX. */
int strata_graph_add_op(struct strata_graph *graph, const struct strata_op *op, uint32_t *ret_index,
			struct strata_error *err);

/* Adds data that goes from op to op without a tensor of its own, for formats that have none. All such edges of one op carry the same data. */
int strata_graph_add_edge(struct strata_graph *graph, uint32_t from, uint32_t to, int64_t bytes,
			  double cost_ns, struct strata_error *err);

/* Adds the name of a file that weights are in. */
int strata_graph_add_file(struct strata_graph *graph, const char *path, uint32_t *ret_index,
			  struct strata_error *err);

/* The tensor with that name, or STRATA_NONE. */
uint32_t strata_graph_find_tensor(const struct strata_graph *graph, const char *name,
				  size_t length);

/* A copy of a text that lives as long as the graph; NULL for lack of memory. */
const char *strata_graph_text(struct strata_graph *graph, const char *text, size_t length);

/* Checks the graph and fills in what follows from it. Refused: a cycle, which is named ("a → b → a"); more than STRATA_GRAPH_EDGES_MAX
 * edges; no op at all. Costs O(ops + edges), on any depth. A graph is finished once; a refused one may be freed only. */
int strata_graph_finish(struct strata_graph *graph, struct strata_error *err);

/* Product of the dimensions; -1 when one is not known or it does not fit. */
int64_t strata_tensor_elements(const struct strata_tensor *tensor);

/* What an op reads, keeps and writes, its tensors included. */
double strata_op_bytes(const struct strata_graph *graph, size_t op);
/* Of its weight tensors and beside them. Tied ones count in full here: the plan counts them once. */
int64_t strata_op_weight_bytes(const struct strata_graph *graph, size_t op);
int64_t strata_op_kv_bytes(const struct strata_graph *graph, size_t op);

/* ---- a machine ---- */

struct strata_device {
	const char *name;         /* "gpu0" */
	const char *kind;         /* "cpu", "gpu" … */
	double flops_per_s;       /* peak in f32 */
	double half_flops_per_s;  /* peak in f16 and bf16; 0: the same */
	double bytes_per_s;       /* of its memory */
	double overhead_ns;       /* of starting one op */
	int64_t capacity_bytes;   /* of its memory; 0: no limit */
	int64_t weight_bytes_max; /* budgets within the capacity; 0: none of its own */
	int64_t kv_bytes_max;
	int64_t activation_bytes_max[STRATA_PHASE_COUNT];
	bool lost;           /* nothing may be placed here */
	bool transfers_free; /* its side of a transfer takes none of its time: a host that others copy from */
};

struct strata_machine {
	const struct strata_device *devices; /* 1 to STRATA_PLACE_DEVICES_MAX */
	size_t device_count;
	const double *bytes_per_s; /* device_count², row = from; 0 or less: infinitely fast */
	const double *latency_ns;  /* device_count²; NULL: none */
	bool activations_apart;    /* capacity is for weights and KV only */
};

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
