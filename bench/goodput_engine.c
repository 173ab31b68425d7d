/*
 * The engine alone, for bench_goodput: draws pictures of mixed steps with a batch that is refilled as soon as one has ended, and says how many that were in a minute.
 *
 *	goodput_engine FOLDER DEVICES BATCH SIZE:STEPS...	a picture for each; SIZE 0 is the model's own
 */
#include "engine/picture_text.h"
#include "engine/png.h"

#include "core/buf.h"

#include <strata/limits.h>
#include <strata/pipeline.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct strata_memory memory;
static struct strata_error err;

static void need(int rc)
{
	if (rc == 0)
		return;
	fprintf(stderr, "goodput_engine: %s\n", err.text);
	exit(1);
}

static double now_s(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct strata_pipeline_run *begin(struct strata_pipeline *pipeline, const char *word,
					 uint64_t seed)
{
	static const char *const prompts[] = { "a seven" };
	char *colon;
	long size = strtol(word, &colon, 10);
	const struct strata_pipeline_request request = { .image_count = 1,
							 .prompts = prompts,
							 .steps = strtol(colon + 1, NULL, 10),
							 .seeds = &seed,
							 .seed_count = 1,
							 .width = (uint32_t)size,
							 .height = (uint32_t)size };
	struct strata_pipeline_run *run;

	need(strata_pipeline_encode(pipeline, &request, &run, &err));
	return run;
}

static size_t end(struct strata_pipeline *pipeline, struct strata_pipeline_run *run)
{
	struct strata_picture picture;
	struct strata_arena arena;
	struct buf file;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&file, &memory, 0);
	need(strata_pipeline_decode(pipeline, run, 0, &arena, &picture, &err));
	const struct engine_picture whole = { picture.width, picture.height, picture.rgb, NULL };

	need(engine_png_write(&file, &whole, &err));
	size_t bytes = file.length;

	buf_fini(&file);
	strata_arena_fini(&arena);
	strata_pipeline_run_free(run);
	return bytes;
}

int main(int argc, char **argv)
{
	struct strata_pipeline_run *runs[STRATA_BATCH_MAX];
	size_t batch = argc > 4 ? strtoul(argv[3], NULL, 10) : 0, count = 0, bytes = 0;
	struct strata_engine *engine;
	struct strata_pipeline *pipeline;

	if (batch < 1 || batch > STRATA_BATCH_MAX) {
		fprintf(stderr, "usage: goodput_engine FOLDER DEVICES BATCH SIZE:STEPS...\n");
		return 2;
	}
	need(strata_engine_new(&(struct strata_engine_conf){ .devices = argv[2] }, &memory, &engine,
			       &err));
	need(strata_pipeline_open(engine, argv[1], NULL, &memory, &pipeline, &err));
	bytes += end(pipeline, begin(pipeline, argv[4], 0)); /* warm */
	double wall_s = now_s(CLOCK_MONOTONIC), cpu_s = now_s(CLOCK_PROCESS_CPUTIME_ID);

	for (int next = 4; next < argc || count > 0;) {
		while (next < argc && count < batch) {
			runs[count++] = begin(pipeline, argv[next], (uint64_t)next);
			next++;
		}
		need(strata_pipeline_step(pipeline, runs, count, &err));
		for (size_t i = count; i-- > 0;)
			if (strata_pipeline_left(runs[i]) == 0) {
				bytes += end(pipeline, runs[i]);
				runs[i] = runs[--count];
			}
	}
	wall_s = now_s(CLOCK_MONOTONIC) - wall_s;
	cpu_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	printf("%.6f %.6f %zu\n", wall_s, cpu_s, bytes);
	strata_pipeline_close(pipeline);
	strata_engine_free(engine);
	return 0;
}
