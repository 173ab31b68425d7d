/* The backend that is always there: operators in plain C and oneDNN (native/). */
#include "engine/backend.h"

#include "engine/native/instructions.h"
#include "engine/native/program.h"

#include <errno.h>
#include <stddef.h>

enum { WEIGHTS_FLOAT32, WEIGHTS_INT8 };
struct native_conf {
	int weights;
};

static int compile(const void *conf, const struct engine_compile *what, void **ret_program,
		   struct strata_error *err)
{
	const struct engine_subgraph *subgraph = what->subgraph;
	const struct native_conf *own = conf;
	const struct native_source source = { .model = &what->model->onnx,
					      .directory = what->model->directory,
					      .nodes = subgraph->nodes,
					      .node_count = subgraph->node_count,
					      .inputs = subgraph->inputs,
					      .input_count = subgraph->input_count,
					      .weights = subgraph->weights,
					      .weight_count = subgraph->weight_count,
					      .weights_stay = what->weights_stay,
					      .int8_weights = what->experimental ||
							      own->weights == WEIGHTS_INT8,
					      .outputs = subgraph->outputs,
					      .output_count = subgraph->output_count };
	struct native_program *program;

	if (what->device->gpu >= 0)
		return strata_fail(err, -ENOTSUP,
				   "%s: the backend native computes on processors; GPUs need the "
				   "backend onnxruntime",
				   what->device->name);
	int rc = native_isa_check(err);

	if (rc == 0)
		rc = native_program_new(&source, what->device->heap, &what->device->team, &program,
					err);
	if (rc == 0)
		*ret_program = program;
	return rc;
}

static bool stopped(void *context)
{
	const _Atomic bool *stop = context;

	return *stop;
}

static int run(void *program, const struct engine_value *inputs, const struct engine_value *weights,
	       const struct engine_watch *watch, struct engine_value *ret_outputs,
	       struct strata_error *err)
{
	const struct native_run run = { .inputs = inputs,
					.weights = weights,
					.watch = watch->node,
					.watch_context = watch->context,
					.stop = watch->stop ? stopped : NULL,
					.stop_context = (void *)watch->stop };

	return native_program_run(program, &run, ret_outputs, err);
}

static void close_program(void *program)
{
	native_program_free(program);
}

static int plan(const void *program, const struct native_types *types, struct strata_memory *memory,
		int64_t *ret_bytes, struct strata_error *err)
{
	return native_program_peak(program, types, memory, ret_bytes, err);
}

static const struct strata_choice weights[] = {
	{ "float32", WEIGHTS_FLOAT32, "as the model has them" },
	{ "int8", WEIGHTS_INT8, "of matrix products, in memory: a quarter of the bytes, off by up to half a percent" },
	{ 0 },
};

static const struct strata_option options[] = {
	{ "weights", STRATA_ENUM, offsetof(struct native_conf, weights),
	  .choice = { weights, WEIGHTS_FLOAT32 }, .help = "how weights that stay in memory are kept" },
	{ 0 },
};

const struct engine_backend_class engine_backend_native = {
	.base = { .name = "native",
		  .summary = "operators in plain C and oneDNN; a result does not depend on its batch",
		  .conf_size = sizeof(struct native_conf),
		  .options = options },
	.compile = compile,
	.run = run,
	.close = close_program,
	.plan = plan,
};
