/*
 * The engine: models that run. A model is an ONNX file; an engine is what computes it: devices (sets of cores, GPUs) and a backend. Weights may be larger than
 * memory: with a budget they come and go as the stage level plans.
 *
 *	strata_engine_new(&(struct strata_engine_conf){ .devices = "cpu" }, &memory, &engine, &err);
 *	strata_engine_open(engine, "unet/model.onnx", NULL, &model, &err);
 *	strata_engine_run(model, inputs, outputs, &err);
 *	… strata_array_drop each output
 *
 * Arrays are counted: an output can be the next call's input without a copy, and stays on its device meanwhile. An engine and its models belong to one
 * thread at a time, but for strata_engine_stop.
 */
#ifndef STRATA_ENGINE_H
#define STRATA_ENGINE_H

#include <strata/adaptive.h>
#include <strata/error.h>
#include <strata/memory.h>
#include <strata/place.h>
#include <strata/trace.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- arrays: tensors with their contents ---- */

struct strata_array {
	enum strata_dtype dtype; /* STRATA_DTYPE_NONE: there is none */
	uint32_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	void *data; /* elements in order */
	void *held; /* whose count keeps data; NULL: the caller's own memory, borrowed */
};

struct strata_engine;

/* An array with room for its elements, aligned to a cache line, contents not set. -E2BIG, -ENOMEM. */
int strata_array_make(struct strata_engine *engine, enum strata_dtype dtype, size_t rank,
		      const int64_t *dims, struct strata_array *ret_array,
		      struct strata_error *err);
/* One more user of the same contents. */
struct strata_array strata_array_share(const struct strata_array *array);
/* The last user frees. The array is empty afterwards; an empty one is nothing. */
void strata_array_drop(struct strata_array *array);
int64_t strata_array_elements(const struct strata_array *array);
size_t strata_array_bytes(const struct strata_array *array);
/* The same elements as another type; rounds to nearest, cuts to whole numbers. */
int strata_array_cast(struct strata_engine *engine, const struct strata_array *array,
		      enum strata_dtype dtype, struct strata_array *ret_array,
		      struct strata_error *err);

/* ---- engines ---- */

struct strata_engine_conf {
	/* Devices, separated by commas: "cpu" (all cores of this process), "cpu:0", "cpu:0-3" (these cores). NULL: "cpu". */
	const char *devices;
	/* A class of kind backend, with options; NULL: "native". */
	const char *backend;
	/* How several devices are shared out (<strata/adaptive.h>): how much is tried, and for what. */
	enum strata_mode mode;
	enum strata_objective objective;
	/*
	 * experimental_optimizations: what is new, and perhaps less exact, is used: the native backend keeps weights of products in eight bits, and placing
	 * searches longer. A picture is not the same to the bit then.
	 */
	bool experimental;
	/* A file with what earlier engines learned about how long operators take; it need not be there. NULL: nothing is known. A damaged one is refused. */
	const char *experience;
};
/* What computes the subgraphs of a model: `native` is always there. */
extern const struct strata_kind strata_backend_kind;

int strata_engine_new(const struct strata_engine_conf *conf, struct strata_memory *memory,
		      struct strata_engine **ret_engine, struct strata_error *err);
/* All models must be closed and all arrays dropped. NULL is nothing. */
void strata_engine_free(struct strata_engine *engine);

/* Writes what was learned into the file of the conf, durably; without one it is nothing. What others have learned of other devices stays in it. */
int strata_engine_keep(const struct strata_engine *engine, struct strata_error *err);

/*
 * From now on the trace has a lane for each device, with a slice for each subgraph that it computes; and, of models with a budget that are opened from
 * now on, lanes for the layers that come and go. Lanes have the numbers from first_tid on. The trace is borrowed until the engine is freed.
 */
int strata_engine_trace(struct strata_engine *engine, struct strata_trace *trace,
			uint32_t first_tid, struct strata_error *err);

/* Ties what is computed from now on to a flow of the trace, such as the step it is computed for; 0: to none. Between two runs. */
void strata_engine_flow(struct strata_engine *engine, uint64_t flow);

/* ---- models ---- */

struct strata_engine_model_conf {
	/* Most that weights may take in memory at a time; 0: all of them stay. -E2BIG when it cannot work. */
	int64_t budget_bytes;
	/* An input without dimensions that is to take one value for each member of the batch: its port has one dimension then. Exports of diffusers' UNet spread
	 * their timestep over the batch (Unsqueeze, Cast, Expand); where the model does not, the input stays as it is. NULL: none. */
	const char *per_member_input;
	/* The model whose outputs come in as this one's caches: where it leaves them counts when this one is placed. Borrowed until this one is closed. NULL:
	 * none. */
	const struct strata_engine_model *caches_from;
	/* Inputs and outputs of float16 and bfloat16 are float32, as they are computed: nothing is rounded on the way in and out. */
	bool wide;
	/* An input of a UNet, such as "sample": what comes up from its inner part, as float32, is one output more, the last. -ENOTSUP for a model without a
	 * connection past such a part. NULL: no more than the file says. */
	const char *give_features_of;
	/* The same model without that part and its weights: what comes up is one input more, the last. */
	const char *take_features_of;
};

struct strata_engine_model;
int strata_engine_open(struct strata_engine *engine, const char *path,
		       const struct strata_engine_model_conf *conf,
		       struct strata_engine_model **ret_model, struct strata_error *err);
void strata_engine_close(struct strata_engine_model *model); /* NULL is nothing */

/* An input or an output of a model. */
struct strata_engine_port {
	const char *name;
	enum strata_dtype dtype;
	bool ranked; /* rank and dims are known */
	uint32_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];          /* -1: decided by what comes in */
	const char *dim_names[STRATA_TENSOR_RANK_MAX]; /* of such a dimension; NULL: none */
};
size_t strata_engine_input_count(const struct strata_engine_model *model);
const struct strata_engine_port *strata_engine_input_at(const struct strata_engine_model *model,
							size_t index);
size_t strata_engine_output_count(const struct strata_engine_model *model);
const struct strata_engine_port *strata_engine_output_at(const struct strata_engine_model *model,
							 size_t index);
/* The input or output of that name; -1: there is none. */
int strata_engine_input_find(const struct strata_engine_model *model, const char *name);
int strata_engine_output_find(const struct strata_engine_model *model, const char *name);

/*
 * One call: inputs by the order of the ports, each with the type that its port says; ret_outputs has room for all outputs, which the caller drops. -EINVAL
 * names the input that does not fit, -ENOTSUP an operator that the backend lacks, -ENOMEM, -EIO for weights that cannot be read, -ECANCELED
 * after strata_engine_stop. Outputs are untouched on failure.
 */
int strata_engine_run(struct strata_engine_model *model, const struct strata_array *inputs,
		      struct strata_array *ret_outputs, struct strata_error *err);

/* What the first call does before it computes: cuts the model, loads weights, plans memory, by inputs like those that will come. A call does it by itself. */
int strata_engine_prepare(struct strata_engine_model *model, const struct strata_array *inputs,
			  struct strata_error *err);

/* Several calls at once, in any order of their own: with several devices they follow each other like a pipeline. The first error is that of all; no
 * output is set then. */
struct strata_engine_call {
	const struct strata_array *inputs;
	struct strata_array *ret_outputs;
};
int strata_engine_run_many(struct strata_engine_model *model,
			   const struct strata_engine_call *calls, size_t count,
			   struct strata_error *err);

/* From any thread, and from a signal handler: the call under way, and every later one, ends with -ECANCELED until it is taken back. */
void strata_engine_stop(struct strata_engine *engine, bool stop);

/* ---- what is known of a model, once it has run ---- */

/* As the file has them. */
int64_t strata_engine_weight_bytes(const struct strata_engine_model *model);

/* A run of operators that one device computes in one go. */
struct strata_engine_subgraph {
	const char *device, *first; /* names of the device and of the first operator */
	size_t op_count;
	int64_t weight_bytes;
	bool streams;        /* its weights come and go */
	double predicted_ns; /* of one call, by the cost model; 0: not known */
	uint64_t calls;
	int64_t total_ns, least_ns; /* computing, over all calls and in the fastest */
	int64_t wait_ns;            /* for its weights, over all calls */
};
size_t strata_engine_subgraph_count(const struct strata_engine_model *model);
/* False past the end. */
bool strata_engine_subgraph_at(const struct strata_engine_model *model, size_t index,
			       struct strata_engine_subgraph *ret_subgraph);

struct strata_engine_metrics {
	const char *strategy; /* of the plan */
	double predicted_ns;  /* of one call */
	double flops;         /* of one call: multiply-adds, twice */
	int64_t kept_bytes;   /* of weights that stay in memory */
	int64_t frame_bytes, frame_bytes_peak; /* for weights that come and go: taken, and in use */
	int64_t read_bytes;                    /* from files, over all calls */
	int64_t wait_ns;                       /* for them */
	/* From one device to another, over all calls: tensors and their bytes, and how long parts of calls waited for the next device. */
	uint64_t transfers;
	int64_t transfer_bytes, transfer_ns;
	/* Of what goes between operators in one call, the most at a time, by the shapes that the first inputs lead to; -1: a shape is not known beforehand. */
	int64_t planned_bytes;
	int64_t tensor_bytes_peak; /* of all tensors of the engine but fetched weights, most at a time */
};
void strata_engine_metrics(const struct strata_engine_model *model,
			   struct strata_engine_metrics *ret_metrics);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
