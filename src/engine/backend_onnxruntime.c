/*
 * ONNX Runtime as a backend: one session for each subgraph. It is found at run time (ort_find.h)
 * and never linked (ort_api.h).
 *
 * A subgraph becomes a model in the file format, in memory (ort_write.h), and not a graph made call
 * by call with their Model Editor: bytes also carry graphs inside nodes (If, Loop, Scan) and every
 * kind of attribute, which the editor cannot make, and libraries before 1.22 read them too, where it
 * first came.
 *
 * A session is made with the first run, because only then are the types of what comes in known; and
 * again when a type or a rank changes. Weights that stay are handed over as external initializers:
 * the library uses ours or keeps a packed copy, which is faster and takes their memory a second
 * time (`prepack=no`: it does not). Weights that come and go are inputs of each run, where they are
 * in our frames: no copy. Small ones are part of the model in both cases, so that shapes can be
 * found out beforehand. The library's own memory is not counted by the engine's heap.
 */
#include "engine/backend.h"
#include "engine/ort_api.h"
#include "engine/ort_stop.h"
#include "engine/ort_write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { INLINE_BYTES = 4096 }; /* as what stays although there is a budget (residence.c) */

struct conf {
	int64_t threads;
	int optimization;
	bool prepack;
};

struct signature { /* of an input that the session was made for */
	int dtype;
	uint32_t rank;
};

struct program {
	const struct ort *ort;
	struct conf conf;
	struct engine_compile what;
	struct strata_arena arena;
	struct ort_session *session; /* NULL: not made yet */
	struct ort_run_options *options;
	struct signature *signatures; /* of each input */
	uint8_t *roles;               /* of each weight: enum ort_role */
	const char **names;        /* of what comes with a run: inputs, then weights in that role */
	struct ort_value **values; /* likewise, while it runs */
	size_t name_count;
	struct ort_value **outputs;
};

/* ---- making the session ---- */

static int fail(const struct program *program, struct ort_status *status, int rc,
		struct strata_error *err)
{
	return ort_fail(program->ort, status, rc, "onnxruntime", err);
}

static enum ort_role role_of(const struct program *program, const struct engine_value *weight)
{
	if (weight->dtype == ONNX_STRING || engine_value_bytes(weight) <= INLINE_BYTES)
		return ORT_INLINE;
	return program->what.weights_stay && program->conf.prepack ? ORT_EXTERNAL : ORT_INPUT;
}

static struct ort_status *tensor_of(const struct ort *ort, const struct engine_value *value,
				    struct ort_value **ret_value)
{
	return ort->create_tensor(ort->cpu, value->data, engine_value_bytes(value), value->dims,
				  value->rank, value->dtype, ret_value);
}

static void release_values(const struct ort *ort, struct ort_value **values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i])
			ort->release_value(values[i]);
	memset(values, 0, count * sizeof(*values));
}

/* A GPU is theirs to use: inputs and results are copied from and to main memory by each run. */
static struct ort_status *add_cuda(const struct ort *ort, int gpu,
				   struct ort_session_options *options)
{
	static const char *const keys[] = { "device_id" };
	char number[16];
	const char *const values[] = { number };
	struct ort_cuda_options *cuda = NULL;
	struct ort_status *status = ort->create_cuda_options(&cuda);

	snprintf(number, sizeof(number), "%d", gpu);
	if (!status)
		status = ort->update_cuda_options(cuda, keys, values, 1);
	if (!status)
		status = ort->append_cuda(options, cuda);
	if (cuda)
		ort->release_cuda_options(cuda);
	return status;
}

static struct ort_status *set_options(const struct program *program,
				      struct ort_session_options *options)
{
	const struct ort *ort = program->ort;
	int64_t threads = program->conf.threads ? program->conf.threads
						: program->what.device->team.thread_count;
	struct ort_status *status = ort->set_intra_threads(options, (int)threads);

	if (!status)
		status = ort->set_inter_threads(options, 1);
	if (!status)
		status = ort->set_optimization(options, program->conf.optimization);
	if (!status)
		status = ort->disable_cpu_arena(options);
	/* Other sessions compute while this one waits: its threads must not burn their cores. */
	if (!status)
		status = ort->add_config(options, "session.intra_op.allow_spinning", "0");
	if (!status && program->what.device->gpu >= 0)
		status = add_cuda(ort, program->what.device->gpu, options);
	return status;
}

/* Hands the weights that stay over. The session keeps pointers to their contents, not these
 * values. */
static struct ort_status *add_weights(struct program *program, const struct engine_value *weights,
				      struct ort_session_options *options, const char **names,
				      struct ort_value **values)
{
	const struct engine_subgraph *subgraph = program->what.subgraph;
	struct ort_status *status = NULL;
	size_t count = 0;

	for (size_t i = 0; !status && i < subgraph->weight_count; i++)
		if (program->roles[i] == ORT_EXTERNAL) {
			names[count] = subgraph->weights[i];
			status = tensor_of(program->ort, &weights[i], &values[count++]);
		}
	if (!status && count)
		status = program->ort->add_external_initializers(
			options, names, (const struct ort_value *const *)values, count);
	return status;
}

static int make_session(struct program *program, const struct engine_value *weights,
			const struct ort_bytes *bytes, struct strata_error *err)
{
	const struct ort *ort = program->ort;
	size_t count = program->what.subgraph->weight_count;
	size_t room = count * sizeof(void *);
	const char **names = engine_heap_get(program->what.device->heap, room);
	struct ort_value **values = engine_heap_get(program->what.device->heap, room);
	struct ort_session_options *options = NULL;
	int rc = names && values ? 0 : strata_fail_memory(err);

	if (values)
		memset(values, 0, room);
	if (rc == 0) {
		struct ort_status *status = ort->create_session_options(&options);

		if (!status)
			status = set_options(program, options);
		if (!status)
			status = add_weights(program, weights, options, names, values);
		if (!status)
			status = ort->create_session(ort->env, bytes->at, bytes->length, options,
						     &program->session);
		rc = fail(program, status, -ENOTSUP, err);
	}
	if (options)
		ort->release_session_options(options);
	if (values)
		release_values(ort, values, count);
	engine_heap_put(program->what.device->heap, values, room);
	engine_heap_put(program->what.device->heap, names, room);
	return rc;
}

static bool fits(const struct program *program, const struct engine_value *inputs)
{
	for (size_t i = 0; i < program->what.subgraph->input_count; i++)
		if (inputs[i].dtype != program->signatures[i].dtype ||
		    inputs[i].rank != program->signatures[i].rank)
			return false;
	return program->session;
}

/* A session for what came in. */
static int prepare(struct program *program, const struct engine_value *inputs,
		   const struct engine_value *weights, struct strata_error *err)
{
	const struct engine_subgraph *subgraph = program->what.subgraph;
	const struct ort_source source = { .model = program->what.model,
					   .subgraph = subgraph,
					   .inputs = inputs,
					   .weights = weights,
					   .roles = program->roles,
					   .heap = program->what.device->heap };
	struct ort_bytes bytes;

	if (program->session)
		program->ort->release_session(program->session);
	program->session = NULL;
	program->name_count = subgraph->input_count;
	for (size_t i = 0; i < subgraph->weight_count; i++) {
		program->roles[i] = (uint8_t)role_of(program, &weights[i]);
		if (program->roles[i] == ORT_INPUT)
			program->names[program->name_count++] = subgraph->weights[i];
	}
	for (size_t i = 0; i < subgraph->input_count; i++)
		program->signatures[i] = (struct signature){ inputs[i].dtype, inputs[i].rank };
	int rc = ort_write(&source, &bytes, err);

	if (rc == 0)
		rc = make_session(program, weights, &bytes, err);
	ort_bytes_free(&bytes);
	return rc;
}

/* ---- running ---- */

static struct ort_status *bind(struct program *program, const struct engine_value *inputs,
			       const struct engine_value *weights)
{
	const struct engine_subgraph *subgraph = program->what.subgraph;
	struct ort_status *status = NULL;
	size_t count = 0;

	for (size_t i = 0; !status && i < subgraph->input_count; i++)
		status = tensor_of(program->ort, &inputs[i], &program->values[count++]);
	for (size_t i = 0; !status && i < subgraph->weight_count; i++)
		if (program->roles[i] == ORT_INPUT)
			status = tensor_of(program->ort, &weights[i], &program->values[count++]);
	return status;
}

static int run_session(struct program *program, const struct engine_watch *watch,
		       struct strata_error *err)
{
	const struct engine_subgraph *subgraph = program->what.subgraph;
	const struct ort *ort = program->ort;
	struct ort_stop stop = { .ort = ort, .options = program->options, .stop = watch->stop };
	struct ort_status *status = ort->unset_terminate(program->options);

	if (status)
		return fail(program, status, -EIO, err);
	if (watch->stop)
		ort_stop_begin(&stop);
	status = ort->run(program->session, program->options, program->names,
			  (const struct ort_value *const *)program->values, program->name_count,
			  subgraph->outputs, subgraph->output_count, program->outputs);
	if (watch->stop)
		ort_stop_end(&stop);
	if (status && watch->stop && *watch->stop) {
		ort->release_status(status);
		return strata_fail(err, -ECANCELED, "stopped");
	}
	return fail(program, status, -EINVAL, err);
}

static struct ort_status *shape_of(const struct ort *ort, const struct ort_value *value,
				   int *ret_dtype, size_t *ret_rank,
				   int64_t ret_dims[STRATA_TENSOR_RANK_MAX])
{
	struct ort_shape_info *info;
	struct ort_status *status = ort->tensor_shape(value, &info);

	if (status)
		return status;
	status = ort->shape_dtype(info, ret_dtype);
	if (!status)
		status = ort->shape_rank(info, ret_rank);
	if (!status && *ret_rank <= STRATA_TENSOR_RANK_MAX)
		status = ort->shape_dims(info, ret_dims, *ret_rank);
	ort->release_shape_info(info);
	return status;
}

/* One result, copied into the engine's own memory. */
static int take_output(struct program *program, size_t index, struct engine_value *ret_output,
		       struct strata_error *err)
{
	const struct ort *ort = program->ort;
	struct ort_value *value = program->outputs[index];
	const char *name = program->what.subgraph->outputs[index];
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	int type = 0, dtype = ONNX_NONE;
	size_t rank = 0;
	void *data = NULL;
	struct ort_status *status = value ? ort->value_type(value, &type) : NULL;

	if (!status && type == ORT_TYPE_TENSOR)
		status = shape_of(ort, value, &dtype, &rank, dims);
	if (status)
		return fail(program, status, -EIO, err);
	if (dtype == ONNX_NONE || dtype == ONNX_STRING)
		return strata_fail(
			err, -ENOTSUP,
			"value '%.64s' is a sequence or has texts, which onnxruntime does not "
			"give out here; the backend native does",
			name);
	if (rank > STRATA_TENSOR_RANK_MAX)
		return strata_fail(err, -E2BIG, "value '%.64s' has %zu dimensions; at most %d",
				   name, rank, STRATA_TENSOR_RANK_MAX);
	int rc = fail(program, ort->tensor_data(value, &data), -EIO, err);

	if (rc == 0)
		rc = engine_value_make(program->what.device->heap, dtype, rank, dims, ret_output,
				       err);
	if (rc == 0 && engine_value_bytes(ret_output))
		memcpy(ret_output->data, data, engine_value_bytes(ret_output));
	return rc;
}

static int run(void *program_any, const struct engine_value *inputs,
	       const struct engine_value *weights, const struct engine_watch *watch,
	       struct engine_value *ret_outputs, struct strata_error *err)
{
	struct program *program = program_any;
	const struct engine_subgraph *subgraph = program->what.subgraph;
	size_t taken = 0;
	int rc = watch->stop && *watch->stop ? strata_fail(err, -ECANCELED, "stopped") : 0;

	if (rc == 0 && !fits(program, inputs))
		rc = prepare(program, inputs, weights, err);
	if (rc == 0)
		rc = fail(program, bind(program, inputs, weights), -EINVAL, err);
	if (rc == 0)
		rc = run_session(program, watch, err);
	for (; rc == 0 && taken < subgraph->output_count; taken += rc == 0)
		rc = take_output(program, taken, &ret_outputs[taken], err);
	for (size_t i = 0; rc && i < taken; i++)
		engine_value_drop(&ret_outputs[i]);
	release_values(program->ort, program->values, program->name_count);
	release_values(program->ort, program->outputs, subgraph->output_count);
	return rc;
}

/* ---- the class ---- */

static int probe(const void *conf, struct strata_error *err)
{
	const struct ort *ort;

	(void)conf;
	return ort_get(&ort, NULL, err);
}

static void close_program(void *program_any)
{
	struct program *program = program_any;

	if (!program)
		return;
	struct strata_memory *memory = program->what.device->heap->memory;

	if (program->session)
		program->ort->release_session(program->session);
	if (program->options)
		program->ort->release_run_options(program->options);
	strata_arena_fini(&program->arena);
	strata_memory_put(memory, program, sizeof(*program));
}

static int make_lists(struct program *program, struct strata_error *err)
{
	const struct engine_subgraph *subgraph = program->what.subgraph;
	size_t most = subgraph->input_count + subgraph->weight_count;
	struct strata_arena *arena = &program->arena;

	program->signatures =
		strata_arena_array(arena, subgraph->input_count, sizeof(*program->signatures));
	program->roles = strata_arena_array(arena, subgraph->weight_count, 1);
	program->names = strata_arena_array(arena, most, sizeof(char *));
	program->values = strata_arena_array(arena, most, sizeof(void *));
	program->outputs = strata_arena_array(arena, subgraph->output_count, sizeof(void *));
	if (!program->signatures || !program->roles || !program->names || !program->values ||
	    !program->outputs)
		return strata_fail_memory(err);
	for (size_t i = 0; i < subgraph->input_count; i++)
		program->names[i] = subgraph->inputs[i];
	return 0;
}

static int compile(const void *conf, const struct engine_compile *what, void **ret_program,
		   struct strata_error *err)
{
	struct strata_memory *memory = what->device->heap->memory;
	const struct ort *ort;
	int rc = ort_get(&ort, NULL, err);
	struct program *program = rc ? NULL : strata_memory_get(memory, sizeof(*program));

	if (rc)
		return rc;
	if (!program)
		return strata_fail_memory(err);
	program->ort = ort;
	program->conf = *(const struct conf *)conf;
	program->what = *what;
	strata_arena_init(&program->arena, memory, 0);
	rc = make_lists(program, err);
	if (rc == 0)
		rc = fail(program, ort->create_run_options(&program->options), -EIO, err);
	if (rc)
		close_program(program);
	else
		*ret_program = program;
	return rc;
}

static const struct strata_choice optimizations[] = {
	{ "none", 0, "nodes as they are" },
	{ "basic", 1, "constants are folded, nodes that do nothing go" },
	{ "extended", 2, "nodes are fused" },
	{ "all", 99, "pictures are laid out for convolutions" },
	{ 0 },
};

static const struct strata_option options[] = {
	{ "threads", STRATA_INT, offsetof(struct conf, threads), .integer = { 0, 0, 1024 },
	  .help = "threads of a subgraph (0: as many as its device has cores)" },
	{ "optimization", STRATA_ENUM, offsetof(struct conf, optimization),
	  .choice = { optimizations, 99 }, .help = "what the library may change in a subgraph" },
	{ "prepack", STRATA_BOOL, offsetof(struct conf, prepack), .boolean = true,
	  .help = "keep a packed copy of weights that stay: faster, twice their memory" },
	{ 0 },
};

const struct engine_backend_class engine_backend_onnxruntime = {
	.base = { .name = "onnxruntime",
		  .aliases = "ort",
		  .summary = "ONNX Runtime's library, if there is one: STRATA_ONNXRUNTIME or `pip "
			     "install onnxruntime`",
		  .conf_size = sizeof(struct conf),
		  .options = options },
	.probe = probe,
	.compile = compile,
	.run = run,
	.close = close_program,
};
