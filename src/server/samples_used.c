/* The last samples of samples_used.h. A file that is not there, or is just being replaced, is no
 * trouble: then nothing is known. */
#include "server/samples_used.h"

#include "exec/journal.h"
#include "exec/samples.h"

#include <fcntl.h>
#include <inttypes.h>

/* Of what was used in the last stretch of time, how much of it at once, in thousandths. */
static int64_t rate_milli(const struct record_samples *record, const struct strata_list *list)
{
	const int64_t *at_ms = record->at_ms.items, *used_ms = list->items;
	size_t last = list->count - 1;
	int64_t span_ms = at_ms[last] - (last ? at_ms[last - 1] : 0);

	return span_ms > 0 ? used_ms[last] * 1000 / span_ms : VIEW_NULL;
}

static int64_t last_of(const struct strata_list *list)
{
	const int64_t *items = list->items;

	return items[list->count - 1];
}

void samples_used(const struct front *front, struct view *view)
{
	struct strata_memory memory = { 0 };
	struct record_samples record;
	struct strata_arena arena;
	const char *path;
	size_t length;
	char *text;

	strata_arena_init(&arena, &memory, 0);
	path = strata_arena_printf(&arena, "%s/jobs/%" PRId64 ".%" PRId64 JOURNAL_SAMPLES,
				   front->conf->state_dir, view->job.id, view->job.attempt);
	if (path &&
	    env_read_file(front->env, AT_FDCWD, path, SAMPLES_BYTES_MAX, &arena, &text, &length,
			  NULL) == 0 &&
	    samples_read(text, length, &arena, &record, NULL) == 0 && record.at_ms.count) {
		view->cpus_used_milli = rate_milli(&record, &record.cpu_ms);
		view->memory_used_bytes = last_of(&record.memory_bytes);
		if (record.gpus && record.gpu_ms.count) {
			view->gpus_used_milli = rate_milli(&record, &record.gpu_ms);
			view->gpu_memory_used_bytes = last_of(&record.gpu_memory_bytes);
		}
	}
	strata_arena_fini(&arena);
}
