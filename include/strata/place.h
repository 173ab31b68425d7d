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
	int64_t bytes;
	/* bytes are known, which may be 0; set when they are not 0. Else they count as 0 */
	bool sized;
	/* of a weight that is in a file: index into the graph's files; STRATA_NONE */
	uint32_t file;
	int64_t offset_bytes; /* where in that file */
	int64_t extent_bytes; /* and how much of it */
	/* weights with the same number, not 0, are one: kept once, used on one device */
	uint32_t tied;
	/* of KV state: where it is now; STRATA_NONE: nowhere yet, or it moves for nothing */
	uint32_t device;
	uint32_t producer; /* op that makes it; STRATA_NONE. Set by strata_graph_add_op */
};

struct strata_op {
	const char *name; /* "" or any text; need not be unique; owned by the graph */
	const char *kind; /* "MatMul"; "" when the format has none */
	/* tensors; STRATA_NONE: an optional one that is left out */
	const uint32_t *inputs, *outputs;
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
	/* op_count + 1: edges out_first[i] … out_first[i + 1] − 1 leave op i */
	const uint32_t *out_first;
	const uint32_t *in_first;     /* op_count + 1, into in_edges */
	const uint32_t *in_edges;     /* indexes of edges, by `to` */
	const uint32_t *reader_first; /* tensor_count + 1, into readers */
	/* ops that read a tensor, ascending; once for each time they read it */
	const uint32_t *readers;
	/* ops, each behind what it needs; of those that could come next the lowest index */
	const uint32_t *order;
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
	bool through_host; /* an edge's cost_ns is paid at each end that is not transfers_free */
};

/* ---- what is asked ---- */

enum strata_objective {
	STRATA_LATENCY, /* of one request: when the last op ends */
	STRATA_THROUGHPUT, /* of a pipeline: the busiest device's time per request, transfers included */
	STRATA_MEMORY, /* the fullest device's share of its memory; of equals the faster */
};
enum { STRATA_OBJECTIVE_COUNT = STRATA_MEMORY + 1 };
const char *strata_objective_name(enum strata_objective objective); /* "latency" */

/* A wish of the user: ops on a device, or off it. */
struct strata_place_rule {
	const char *ops; /* name of ops, or its beginning with a "*" behind it; "*": all */
	uint32_t device;
	bool forbid; /* never there; else: there and nowhere else */
};

/* How much may be tried. What counts is work, not time, so that the same question has the same answer everywhere. */
struct strata_place_budget {
	int64_t visits; /* ops looked at; 0: by the size of the graph, a fraction of a second */
	bool (*expired)(
		void *context); /* asked now and then: true ends the search early; may be NULL */
	void *context;
};

struct strata_place_request {
	const struct strata_graph *graph;     /* finished; borrowed while the plan is in use */
	const struct strata_machine *machine; /* borrowed likewise */
	enum strata_objective objective;
	const struct strata_spec *cost; /* cost model; NULL: roofline */
	const struct strata_spec
		*strategies;   /* to choose from; best single device is always among them */
	size_t strategy_count; /* 0: portfolio */
	const struct strata_place_rule *rules;
	size_t rule_count;
	struct strata_place_budget budget;
	bool fixed_order; /* each device runs its ops by index; else the plan has an order too */
	/* of prices, by what was observed; may be NULL */
	const struct strata_corrections *corrections;
	uint64_t seed;
};

/* ---- a plan ---- */

struct strata_place_metrics { /* of one device */
	size_t op_count;
	double busy_ns;     /* computing */
	double load_ns;     /* and its part of transfers: what a pipeline pays for each request */
	double utilisation; /* busy_ns of the plan's latency */
	int64_t weight_bytes, kv_bytes;
	int64_t activation_bytes; /* most at a time */
};

struct strata_place_result {  /* what one strategy came to */
	const char *strategy; /* its class, and options that are not as usual */
	bool fits;
	double value; /* by the objective: ns, or a share of memory; infinite when it does not fit */
	double latency_ns, load_ns;
};

struct strata_place_plan {
	const char *strategy;   /* that made it */
	const uint32_t *device; /* of each op */
	const uint32_t *order;  /* in which ops start, as far as they share a device */
	const double *start_ns, *finish_ns;
	double value; /* by the objective */
	double latency_ns, load_ns, memory_share;
	const struct strata_place_metrics *devices; /* one for each of the machine's */
	const struct strata_place_result *results;  /* of all strategies, in order */
	size_t result_count;
	const char *const *reasons; /* sentences */
	size_t reason_count;
	int64_t visits; /* spent */
};

/* Makes a plan. -ENOSPC when nothing fits: the sentence says what is missing and what would make it fit. */
int strata_place_plan(const struct strata_place_request *ask, struct strata_arena *arena,
		      struct strata_place_plan *ret_plan, struct strata_error *err);

/* The same by strategies written as text ("heft", "local_search,contiguous"); the ask's own list is not read. */
int strata_place_build(const char *strategies, const struct strata_place_request *ask,
		       struct strata_arena *arena, struct strata_place_plan *ret_plan,
		       struct strata_error *err);

/* Simulates a choice of one's own: a device for each op, and an order (NULL: the graph's). -EINVAL when it breaks a rule, -ENOSPC when it
 * does not fit. */
int strata_place_simulate(const struct strata_place_request *ask, const uint32_t *device,
			  const uint32_t *order, struct strata_arena *arena,
			  struct strata_place_plan *ret_plan, struct strata_error *err);

/* ---- strategies ---- */

/* The question in numbers; all arrays are constant. A group is what must be on one device: most have one op. */
struct strata_place_problem {
	const struct strata_graph *graph;
	const struct strata_machine *machine;
	enum strata_objective objective;
	bool fixed_order;
	size_t op_count, device_count, group_count;
	const uint32_t *order; /* a topological one; with fixed_order the only one */
	const double *times;   /* op × device, ns; infinite where it may not run */
	/* op × device: until its KV state is there; NULL: nothing to move */
	const double *kv_move_ns;
	const uint32_t *group;       /* of each op, by the first of its ops in the order */
	const uint32_t *group_first; /* group_count + 1, into group_ops */
	const uint32_t *group_ops;
	const uint64_t *allowed;     /* of each group: a bit for each device */
	const int64_t *weight_bytes; /* of each group, tied ones once */
	const int64_t *kv_bytes;     /* of each group */
	const uint32_t *in_first;    /* op_count + 1, into in_from … */
	const uint32_t *in_from;     /* the op it comes from */
	const uint32_t *in_value;    /* what is moved: equal numbers are moved once */
	const int64_t *in_bytes;
	const double *in_cost_ns; /* below 0: by bytes */
	size_t value_count;
	const uint32_t *value_from;    /* the op that makes it */
	const uint32_t *value_first;   /* value_count + 1, into value_readers */
	const uint32_t *value_readers; /* ops */
	const int64_t *value_bytes;
	const double *value_cost_ns;
	const double *ns_per_byte; /* device², row = from */
	const double *latency_ns;  /* device² */
	uint64_t seed;
};

/* A proposal. Arrays are op_count long; device comes filled with STRATA_NONE, order with the problem's. */
struct strata_place_draft {
	uint32_t *device;
	uint32_t *order; /* left alone with fixed_order */
};

struct strata_strategy_class {
	struct strata_class base;
	/* Fills the draft. -ENOSPC: it found nothing that fits; -ENOTSUP: it is not for such questions. What it tries it counts in *visits, which falls to 0. May be called with
	 * start, the best draft so far (NULL: there is none), to begin from. */
	int (*propose)(const void *conf, const struct strata_place_problem *problem,
		       const struct strata_place_draft *start, struct strata_place_budget *budget,
		       struct strata_arena *arena, struct strata_place_draft *draft,
		       struct strata_error *err);
};
extern const struct strata_kind strata_strategy_kind;

/* For strategies: what a draft comes to by the problem's objective; infinite when it does not fit. Room comes from the arena at _init. */
struct strata_place_meter;
int strata_place_meter_new(const struct strata_place_problem *problem, struct strata_arena *arena,
			   struct strata_place_meter **ret_meter, struct strata_error *err);
double strata_place_meter_read(struct strata_place_meter *meter,
			       const struct strata_place_draft *draft, double cutoff);

/* ---- cost models ---- */

struct strata_cost_class {
	struct strata_class base;
	/* ns of each op on each device (op × device, comes zeroed), infinite where it cannot run. Prices are finished by what was observed. */
	int (*price)(const void *conf, const struct strata_graph *graph,
		     const struct strata_machine *machine, struct strata_arena *arena,
		     double *ret_times, struct strata_error *err);
};
extern const struct strata_kind strata_cost_kind;

/*
 * What was observed, by kind of op and device: how far prices are off, kept within bounds. Predictions are multiplied by it. A pair that was
 * seen seldom, or that has drifted since, is uncertain, and counts as slower than it may be.
 */
struct strata_corrections;
int strata_corrections_new(size_t device_count, struct strata_memory *memory,
			   struct strata_corrections **ret_corrections, struct strata_error *err);
void strata_corrections_free(struct strata_corrections *corrections);
/* One op of that kind took observed_ns where predicted_ns was its uncorrected price. */
int strata_corrections_observe(struct strata_corrections *corrections, const char *kind,
			       uint32_t device, double predicted_ns, double observed_ns,
			       struct strata_error *err);
/* The factor for a pair: 1 when nothing was seen of it. */
double strata_corrections_factor(const struct strata_corrections *corrections, const char *kind,
				 uint32_t device);
/*
 * The same by op: where detectors found its phase, what was seen of the kind in that phase counts, because a product of one row and one of a thousand differ.
 * An observation counts for the kind as well, which is what an op of a phase that was never seen gets.
 */
int strata_corrections_observe_op(struct strata_corrections *corrections,
				  const struct strata_op *op, uint32_t device, double predicted_ns,
				  double observed_ns, struct strata_error *err);
double strata_corrections_factor_op(const struct strata_corrections *corrections,
				    const struct strata_op *op, uint32_t device);
/* And how sure it is: 0 (nothing seen) to 1. */
double strata_corrections_sure(const struct strata_corrections *corrections, const char *kind,
			       uint32_t device);

/* What is known of one pair, to be kept between runs. */
struct strata_correction {
	const char *kind; /* borrowed from the corrections */
	uint32_t device;
	double slow, fast; /* averages of log2(observed / predicted), of long and of short memory */
	uint32_t count;    /* observations, at least 1 */
};
/* The pairs that were seen, in the order in which their kinds were; false past the end. An index may be one that was not seen: count is 0 then. */
bool strata_corrections_at(const struct strata_corrections *corrections, size_t index,
			   struct strata_correction *ret_correction);
/* Puts back what was kept, over what is there. -EINVAL for numbers that no observation leaves behind. */
int strata_corrections_restore(struct strata_corrections *corrections,
			       const struct strata_correction *correction,
			       struct strata_error *err);
/* How often a drift was found, over all pairs. */
uint64_t strata_corrections_drifts(const struct strata_corrections *corrections);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
