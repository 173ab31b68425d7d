/* Answers of the service to a worker: whatever comes, it is refused or gives a bounded batch, and
 * each task's parameters a bounded request or a sentence. */
#include "worker/worker_request.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_task(const struct worker_task *task, struct strata_memory *memory)
{
	struct worker_request request;
	struct strata_error err = { 0 };
	struct strata_arena arena;

	assert(task->id > 0 && task->steps_done >= 0 && json_is_object(task->parameters));
	strata_arena_init(&arena, memory, 0);
	if (worker_request_read(task, &arena, &request, &err) == 0) {
		assert(request.n >= 1 && request.n <= STRATA_PIPELINE_IMAGES_MAX);
		assert(request.pipeline.image_count == (size_t)request.n);
		assert(request.pipeline.seed_count == (size_t)request.n);
		assert(request.pipeline.prompts[request.n - 1] == request.prompt);
		assert(request.pipeline.width <= STRATA_IMAGE_SIDE_MAX);
	} else {
		assert(err.code < 0 && err.text[0]);
	}
	strata_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct worker_pick pick;
	struct strata_error err = { 0 };
	json_t *json = NULL;

	if (option_load_json((const char *)data, size, &json, &err))
		return 0;
	if (worker_pick_read(json, &pick, &err) == 0) {
		assert(pick.count <= STRATA_BATCH_MAX && (pick.count == 0 || pick.steps > 0));
		for (size_t i = 0; i < pick.count; i++)
			read_task(&pick.tasks[i], &memory);
		json_decref(pick.answer);
	} else {
		assert(err.code < 0 && err.text[0]);
	}
	json_decref(json);
	assert(memory.used_bytes == 0);
	return 0;
}
