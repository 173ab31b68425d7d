/*
 * Running a model larger than memory: the doing half of the stage level. A host program says which bytes of which files its layers are, how
 * much memory there is, and calls the hooks of a step; in between the layer that it computes is in memory, in one piece.
 *
 *	strata_weights_read("model.safetensors", NULL, &arena, &weights, &err);
 *	… a struct strata_stream_conf from it …
 *	strata_stream_open(&conf, &memory, &stream, &err);
 *	for (;;) {
 *		strata_stream_step_start(stream, &err);
 *		for (layer = 0; layer < count; layer++) {
 *			strata_stream_pre_forward(stream, layer, &err);
 *			compute(strata_stream_at(stream, layer, tensor));
 *			strata_stream_post_forward(stream, layer, &err);
 *		}
 *		strata_stream_step_end(stream, &err);
 *	}
 *
 * Memory is taken once, when a stream is opened, and no more than the budget; what is read while the host computes goes straight to its place.
 * When something goes wrong for good (a disk fails, a file is cut short underneath), the hook that meets it says so, and so does every later
 * one. A stream belongs to one thread at a time; the threads behind it are its own.
 */
#ifndef STRATA_STREAM_H
#define STRATA_STREAM_H

#include <strata/error.h>
#include <strata/memory.h>
#include <strata/place.h>
#include <strata/safetensors.h>
#include <strata/stage.h>
#include <strata/trace.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- weights ---- */

/* Bytes of a file. */
struct strata_extent {
	uint32_t file; /* an index of the files of its model */
	int64_t offset, bytes;
};

struct strata_weights_layer {
	const char *name;
	const struct strata_weight *tensors;
	const struct strata_extent *extents; /* of each tensor, where it is */
	size_t tensor_count;
	int64_t bytes; /* in memory: whole blocks of the disk, so a little more than the tensors have */
};

/* A model's weights: its files and, of each layer, which bytes of them it is. */
struct strata_weights {
	const char *const *paths;
	size_t path_count;
	const struct strata_weights_layer *layers; /* none without bytes */
	size_t layer_count;
	/* Of visits in one step, by index; NULL: each layer once, in turn, which is all that a file of weights says. */
	const uint32_t *order;
	size_t visit_count;
};

/*
 * Reads the headers of a model: of a .safetensors file, of the files that a model.safetensors.index.json names, of an .onnx model with its
 * files of external data, or of a directory that has one of these. The weights are not read. group: patterns that say which tensors are one layer, "model.layers.*.mlp, model.layers.*"; NULL: by
 * the number in their names. All of it is in the arena. -ENOENT, -EBADMSG … with the file at fault.
 */
int strata_weights_read(const char *path, const char *group, struct strata_arena *arena,
			struct strata_weights *ret_weights, struct strata_error *err);

/*
 * The same of a graph that was read already (strata_onnx_open): of each weight with bytes in one of the graph's files, where they are. Layers are
 * visited as the graph's ops read them. Weights that the model has as numbers one by one, or computes, stay with the graph. Nothing is borrowed
 * from the graph. -EBADMSG when it has no weights in files.
 */
int strata_weights_of_graph(const struct strata_graph *graph, const char *group,
			    struct strata_arena *arena, struct strata_weights *ret_weights,
			    struct strata_error *err);

/* A model for the stage level: the layers in the order of their visits, each of which computes for so long. Names are borrowed from the
 * weights; the rest is in the arena. */
int strata_weights_model(const struct strata_weights *weights, int64_t compute_ns,
			 struct strata_arena *arena, struct strata_stage_model *ret_model,
			 struct strata_error *err);

/* ---- streams ---- */

struct strata_stream_layer {
	const char *name;                    /* for errors */
	const struct strata_extent *extents; /* what it is made of, at least one byte */
	size_t extent_count;
	int64_t compute_ns; /* of one visit, for the plan; 0 when not known */
};

/* What stands for a file when weights are in memory already. */
struct strata_stream_block {
	const void *bytes; /* borrowed as long as the stream is open */
	int64_t size;
};

enum strata_stream_channel {
	STRATA_STREAM_AUTO, /* io_uring where the kernel has it, threads elsewhere */
	STRATA_STREAM_URING,
	STRATA_STREAM_THREADS, /* that wait in pread */
	STRATA_STREAM_MEMORY,  /* copies from blocks */
};

/* Something that took time, told when it is over, on the thread that calls the hooks. */
enum strata_stream_event_kind { STRATA_STREAM_READ, STRATA_STREAM_WRITE, STRATA_STREAM_WAIT };
struct strata_stream_event {
	enum strata_stream_event_kind kind;
	uint32_t layer;
	int64_t begin_ns, end_ns; /* monotonic clock; a wait is a hook's for the layer */
	int64_t bytes;            /* read or written */
};

struct strata_stream_conf {
	const char *const *paths; /* files, opened for reading only */
	size_t path_count;
	const struct strata_stream_block *blocks; /* of STRATA_STREAM_MEMORY, in place of files */
	size_t block_count;
	const struct strata_stream_layer *layers;
	size_t layer_count;
	const uint32_t *order; /* of visits in one step; NULL: each layer once, in turn */
	size_t visit_count;    /* 0 with an order of NULL: recorded in the first step */
	size_t backward_count; /* of them, the last so many go backward */

	int64_t budget_bytes;       /* for parameters, those on their way included */
	int64_t page_bytes;         /* whole pages of the system; 0: 2 MiB */
	int64_t bytes_per_s;        /* of the channel, for the plan */
	struct strata_spec planner; /* zeroed: `best` */
	/* to follow, with its own budget and page; NULL: made here */
	const struct strata_stage_plan *plan;

	enum strata_stream_channel channel;
	bool cached;              /* read files through the system's cache, not directly */
	int64_t pace_bytes_per_s; /* slows the channel down, for measurements; 0: not */
	const char *changes_dir;  /* where changed pages are kept; NULL: nothing is changed */
	void (*watch)(void *context, const struct strata_stream_event *event); /* may be NULL */
	void *watch_context;
};

/*
 * Opens files, plans, and takes all memory. The conf and what it points to are copied, but for blocks, the planner's spec and a plan that is
 * given. -E2BIG when the budget cannot work, with the bytes needed; -ENODATA when a file is shorter than the extents say. With changes_dir a file
 * without a name is made there, as large as the model: -ENOSPC now and not later, where the file system can promise.
 */
struct strata_stream;
int strata_stream_open(const struct strata_stream_conf *conf, struct strata_memory *memory,
		       struct strata_stream **ret_stream, struct strata_error *err);
/* Waits for what is on its way. Changes that were not copied out are lost. NULL is nothing. */
void strata_stream_close(struct strata_stream *stream);

/* A hook of the stage level (<strata/stage.h>), carried out. A pre hook returns when all of its layer is there. Any order of layers works; one
 * that was not planned waits for its layer. -EINVAL for an impossible order of hooks, and nothing changed. */
int strata_stream_hook(struct strata_stream *stream, enum strata_stage_hook hook, uint32_t layer,
		       struct strata_error *err);

static inline int strata_stream_step_start(struct strata_stream *stream, struct strata_error *err)
{
	return strata_stream_hook(stream, STRATA_STAGE_STEP_START, 0, err);
}
static inline int strata_stream_pre_forward(struct strata_stream *stream, uint32_t layer,
					    struct strata_error *err)
{
	return strata_stream_hook(stream, STRATA_STAGE_PRE_FORWARD, layer, err);
}
static inline int strata_stream_post_forward(struct strata_stream *stream, uint32_t layer,
					     struct strata_error *err)
{
	return strata_stream_hook(stream, STRATA_STAGE_POST_FORWARD, layer, err);
}
static inline int strata_stream_pre_backward(struct strata_stream *stream, uint32_t layer,
					     struct strata_error *err)
{
	return strata_stream_hook(stream, STRATA_STAGE_PRE_BACKWARD, layer, err);
}
static inline int strata_stream_post_backward(struct strata_stream *stream, uint32_t layer,
					      struct strata_error *err)
{
	return strata_stream_hook(stream, STRATA_STAGE_POST_BACKWARD, layer, err);
}
static inline int strata_stream_step_end(struct strata_stream *stream, struct strata_error *err)
{
	return strata_stream_hook(stream, STRATA_STAGE_STEP_END, 0, err);
}

/* Where an extent of a layer is: the same address each time, good between the layer's pre and post hooks. Elsewhere it faults, or shows what the
 * plan happens to keep. */
void *strata_stream_at(const struct strata_stream *stream, uint32_t layer, size_t extent);

/* The host changed an extent, between the hooks: its pages are written before their memory is used for others, and read from there from then
 * on. The files stay as they are. -EROFS without a changes_dir. */
int strata_stream_changed(struct strata_stream *stream, uint32_t layer, size_t extent,
			  struct strata_error *err);

/* Copies an extent as it is now, wherever it is, between steps or within: for checkpoints. Waits for the disk. */
int strata_stream_copy(struct strata_stream *stream, uint32_t layer, size_t extent, void *ret_bytes,
		       struct strata_error *err);

/*
 * From now on what the stream does is in the trace as slices, named by their layers: computing, which is what lies between a layer's pre and post
 * hook; waiting; reading and writing, with their bytes, on as many lanes as there are transfers at once. Lanes have the numbers from first_tid to
 * first_tid + STRATA_STREAM_TRACE_TIDS - 1 as threads of the trace's process; each keeps event_count events if the trace is in memory. Times are
 * monotonic: the trace's offset_ns makes what its clock_name says of them. The trace is borrowed until the stream is
 * closed or gets another; NULL: none. -EEXIST when a trace in memory has a lane for one of the first two threads.
 */
enum { STRATA_STREAM_TRACE_TIDS = 130 };
int strata_stream_trace(struct strata_stream *stream, struct strata_trace *trace,
			uint32_t first_tid, size_t event_count, struct strata_error *err);

/* Ties these slices from now on to a flow of the trace; 0: to none. By whoever calls the hooks. */
void strata_stream_flow(struct strata_stream *stream, uint64_t flow);

struct strata_stream_metrics {
	const char *channel; /* "io_uring" */
	bool direct;         /* files are read around the system's cache */
	int64_t bytes_asked; /* to be read; not all of them need be there */
	int64_t bytes_read, bytes_written;
	int64_t wait_ns;                 /* that hooks waited for layers */
	int64_t arena_bytes, peak_bytes; /* memory for pages: taken, and in use at a time */
	struct strata_stage_progress progress;
};
void strata_stream_metrics(const struct strata_stream *stream,
			   struct strata_stream_metrics *ret_metrics);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
