/* Parameters of a task by their table; worker_request.h says what becomes of them. */
#include "worker/worker_request.h"

#include "worker/worker_trace.h"

#include "core/option.h"
#include "engine/png.h"

#include <errno.h>
#include <string.h>

#define OFFSET(field) offsetof(struct worker_request, field)
static const struct strata_option rows[] = {
	{ "prompt", STRATA_TEXT, OFFSET(prompt), .text = { "", STRATA_TOKENIZER_TEXT_BYTES_MAX },
	  .flags = STRATA_OPAQUE, .help = "what to draw" },
	{ "negative_prompt", STRATA_TEXT, OFFSET(negative),
	  .text = { "", STRATA_TOKENIZER_TEXT_BYTES_MAX }, .flags = STRATA_OPAQUE,
	  .help = "what not to draw" },
	{ "model", STRATA_TEXT, OFFSET(model), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "which model draws it" },
	{ "scheduler", STRATA_TEXT, OFFSET(solver), .text = { NULL, STRATA_SPEC_BYTES_MAX },
	  .aliases = "solver, sampler", .help = "by which solver" },
	{ "schedule", STRATA_TEXT, OFFSET(schedule), .text = { NULL, STRATA_SPEC_BYTES_MAX },
	  .help = "by which noise levels" },
	{ "steps", STRATA_INT, OFFSET(steps), .integer = { 0, 0, STRATA_SOLVER_STEPS_MAX },
	  .help = "solver steps; 0: as many as the model usually takes" },
	{ "quality", STRATA_TEXT, OFFSET(quality), .text = { NULL, STRATA_SPEC_BYTES_MAX },
	  .help = "exact, normal or draft" },
	{ "seed", STRATA_INT, OFFSET(seed), .integer = { 0, -1, INT64_MAX },
	  .help = "where the noise starts" },
	{ "width", STRATA_INT, OFFSET(width), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "pixels; 0: as the model was trained" },
	{ "height", STRATA_INT, OFFSET(height), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "pixels; 0: as the model was trained" },
	{ "guidance_scale", STRATA_REAL, OFFSET(guidance), .real = { -1, -1, 1000 },
	  .aliases = "guidance", .help = "how much the prompt counts; -1: as the model has it" },
	{ "strength", STRATA_REAL, OFFSET(strength), .real = { 0, 0, 1 },
	  .help = "how much of a picture to start from is drawn anew" },
	{ "init_image", STRATA_TEXT, OFFSET(init_image), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "the hash of the picture to start from" },
	{ "n", STRATA_INT, OFFSET(n), .integer = { 1, 1, STRATA_PIPELINE_IMAGES_MAX },
	  .help = "pictures" },
	{ "priority", STRATA_INT, OFFSET(priority),
	  .integer = { 0, STRATA_PRIORITY_MIN, STRATA_PRIORITY_MAX },
	  .help = "the service's affair" },
	{ "deadline", STRATA_TEXT, OFFSET(deadline), .help = "the service's affair" },
	{ "trace", STRATA_BOOL, OFFSET(trace), .help = "a timeline of it is wanted" },
	{ 0 }
};
const struct strata_schema worker_request_schema = { "parameters", NULL,
						     sizeof(struct worker_request), rows };

/* "euler" and "karras" are "euler karras"; what follows a ':' stays behind. */
static int name_solver(struct worker_request *it, struct strata_arena *arena,
		       struct strata_error *err)
{
	const char *solver = it->solver && *it->solver ? it->solver : NULL;

	it->pipeline.solver = solver;
	if (!it->schedule || !*it->schedule)
		return 0;
	if (!solver)
		return strata_fail_at(err, -EINVAL, "schedule",
				      "schedule is '%.64s' without a scheduler; name one",
				      it->schedule);
	int length = (int)strcspn(solver, ":");

	it->pipeline.solver = strata_arena_printf(arena, "%.*s %s%s", length, solver, it->schedule,
						  solver + length);
	return it->pipeline.solver ? 0 : strata_fail_memory(err);
}

/* One of each for every picture. */
static int fill_each(struct worker_request *it, struct strata_arena *arena,
		     struct strata_error *err)
{
	size_t count = (size_t)it->n;
	const char **prompts = strata_arena_array(arena, count, sizeof(*prompts));
	const char **negatives = strata_arena_array(arena, count, sizeof(*negatives));
	uint64_t *seeds = strata_arena_array(arena, count, sizeof(*seeds));

	if (!prompts || !negatives || !seeds)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		prompts[i] = it->prompt;
		negatives[i] = it->negative;
		seeds[i] = (uint64_t)it->seed + i;
	}
	it->pipeline.image_count = count;
	it->pipeline.prompts = prompts;
	it->pipeline.negatives = *it->negative ? negatives : NULL;
	it->pipeline.seeds = seeds;
	it->pipeline.seed_count = count;
	return 0;
}

int worker_request_read(const struct worker_task *task, struct strata_arena *arena,
			struct worker_request *ret_request, struct strata_error *err)
{
	struct worker_request it;
	int rc = strata_schema_defaults(&worker_request_schema, arena, &it, err);

	if (rc == 0)
		rc = option_read_json(&worker_request_schema, task->parameters, OPTION_STORED,
				      arena, &it, err);
	if (rc)
		return rc;
	if (task->seed >= 0)
		it.seed = task->seed;
	if (it.seed < 0)
		return strata_fail_at(err, -EINVAL, "seed",
				      "the service did not choose a seed for the task");
	it.pipeline = (struct strata_pipeline_request){
		.steps = it.steps,
		.quality = it.quality,
		.has_guidance = it.guidance >= 0,
		.guidance = it.guidance,
		.width = (uint32_t)it.width,
		.height = (uint32_t)it.height,
		.flow = worker_trace_flow(task->id),
	};
	rc = name_solver(&it, arena, err);
	if (rc == 0)
		rc = fill_each(&it, arena, err);
	if (rc == 0)
		*ret_request = it;
	return rc;
}

int worker_request_begin(struct worker_request *request, const void *bytes, size_t length,
			 struct strata_arena *arena, struct strata_error *err)
{
	struct strata_pipeline_request *pipeline = &request->pipeline;
	struct engine_picture picture;
	int rc = engine_png_read(bytes, length, arena, &picture, err);

	if (rc)
		return rc;
	if (!pipeline->width || !pipeline->height) {
		pipeline->width = engine_init_side(picture.width);
		pipeline->height = engine_init_side(picture.height);
	}
	rc = engine_picture_resize(&picture, pipeline->width, pipeline->height, arena, &picture,
				   err);
	if (rc)
		return rc;
	struct strata_picture *init = strata_arena_get(arena, sizeof(*init));

	if (!init)
		return strata_fail_memory(err);
	*init = (struct strata_picture){ picture.width, picture.height, picture.rgb };
	pipeline->init = init;
	pipeline->strength = request->strength;
	return 0;
}
