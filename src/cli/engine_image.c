/* strata engine image, in the full program: a request from flags, a bar while it is drawn, a PNG file with the settings in it. */
#include "cli/engine_options.h"
#include "cli/engine_preview.h"
#include "cli/task.h"

#include "core/env.h"
#include "engine/picture_text.h"
#include "engine/png.h"

#include <strata/pipeline.h>
#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct drawing {
	struct cli *cli;
	const struct engine_image_options *options;
	struct strata_engine *engine;
	struct strata_pipeline *pipeline;
	struct strata_pipeline_run *run;
	const char *folder, *prompt;
	uint64_t seed;
	struct strata_pipeline_request request;
	struct strata_picture init;
	struct engine_trace trace;
};

/* The picture to start from, in the size that is drawn: a multiple of 64 near its own, where none was asked for. */
static int read_init(struct drawing *it)
{
	struct cli *cli = it->cli;
	struct engine_picture picture;
	struct strata_error why = { 0 };
	char *bytes;
	size_t count;

	if (!it->options->init)
		return 0;
	int rc = env_read_file(env_system(), AT_FDCWD, it->options->init, STRATA_PNG_BYTES_MAX,
			       &cli->arena, &bytes, &count, &cli->err);

	if (rc)
		return rc;
	rc = engine_png_read(bytes, count, &cli->arena, &picture, &why);
	if (rc)
		return strata_fail(&cli->err, rc, "%s: %s", it->options->init, why.text);
	if (!it->request.width) {
		it->request.width = engine_init_side(picture.width);
		it->request.height = engine_init_side(picture.height);
	}
	rc = engine_picture_resize(&picture, it->request.width, it->request.height, &cli->arena,
				   &picture, &cli->err);
	if (rc)
		return rc;
	it->init = (struct strata_picture){ picture.width, picture.height, picture.rgb };
	it->request.init = &it->init;
	it->request.strength = it->options->strength;
	return 0;
}

static int make_request(struct drawing *it)
{
	const struct engine_image_options *options = it->options;
	uint32_t any;
	int rc = options->seed < 0 ? env_random(env_system(), &any, sizeof(any), &it->cli->err) : 0;

	if (rc)
		return rc;
	it->seed = options->seed < 0 ? any : (uint64_t)options->seed;
	it->request = (struct strata_pipeline_request){
		.prompts = &it->prompt,
		.negatives = options->negative ? &options->negative : NULL,
		.solver = options->solver,
		.quality = options->quality,
		.steps = options->steps,
		.has_guidance = options->guidance >= 0,
		.guidance = options->guidance,
		.seeds = &it->seed,
		.seed_count = 1,
		.flow = 1,
	};
	rc = task_size(it->cli, options->size, &it->request.width, &it->request.height);
	return rc ? rc : read_init(it);
}

static void add_parameters(const struct drawing *it, const struct strata_picture *picture,
			   struct buf *buf)
{
	const struct engine_image_options *options = it->options;
	const struct engine_settings settings = {
		.prompt = it->prompt,
		.negative = options->negative,
		.quality = options->quality,
		.solver = options->solver ? options->solver : strata_pipeline_solver(it->run),
		.model = it->folder,
		.seed = it->seed,
		.steps = strata_pipeline_steps(it->run),
		.guidance = strata_pipeline_guidance(it->run),
		.width = picture->width,
		.height = picture->height,
		.has_strength = options->init != NULL,
		.strength = options->strength,
	};

	engine_picture_text(&settings, buf);
}

/* Each pixel becomes a square. */
static int enlarge(struct cli *cli, const struct strata_picture *picture, uint32_t times,
		   struct strata_picture *ret_large)
{
	uint64_t width = (uint64_t)picture->width * times;
	uint64_t height = (uint64_t)picture->height * times;

	if (width > STRATA_IMAGE_SIDE_MAX || height > STRATA_IMAGE_SIDE_MAX)
		return strata_fail(&cli->err, -ERANGE,
				   "--scale %u makes a picture of %llux%llu; at most %d each way",
				   times, (unsigned long long)width, (unsigned long long)height,
				   STRATA_IMAGE_SIDE_MAX);
	uint8_t *rgb = strata_arena_array(&cli->arena, height, width * 3);

	if (!rgb)
		return strata_fail_memory(&cli->err);
	for (size_t y = 0; y < height; y++)
		for (size_t x = 0; x < width; x++)
			memcpy(rgb + (y * width + x) * 3,
			       picture->rgb + (y / times * picture->width + x / times) * 3, 3);
	*ret_large = (struct strata_picture){ (uint32_t)width, (uint32_t)height, rgb };
	return 0;
}

static int write_picture(struct drawing *it, const struct strata_picture *picture,
			 struct strata_picture *ret_written)
{
	struct cli *cli = it->cli;
	struct strata_picture large;
	struct buf parameters, file;
	int rc = enlarge(cli, picture, (uint32_t)it->options->scale, &large);

	if (rc)
		return rc;
	buf_init(&parameters, &cli->memory, 0);
	buf_init(&file, &cli->memory, 0);
	add_parameters(it, picture, &parameters);
	const struct engine_picture whole = { large.width, large.height, large.rgb,
					      parameters.text };
	rc = buf_check(&parameters, &cli->err);
	if (rc == 0)
		rc = engine_png_write(&file, &whole, &cli->err);
	if (rc == 0)
		rc = engine_file_write(cli, it->options->output, file.text, file.length);
	if (rc == 0)
		*ret_written = large;
	buf_fini(&parameters);
	buf_fini(&file);
	return rc;
}

static int say_done(struct drawing *it, const struct strata_picture *picture)
{
	struct cli *cli = it->cli;

	if (!cli->globals.json) {
		cli_note(cli, "%s: %ux%u, %zu steps, seed %llu", it->options->output,
			 picture->width, picture->height, strata_pipeline_steps(it->run),
			 (unsigned long long)it->seed);
		return 0;
	}
	return cli_print_json(
		cli, json_pack("{s:s,s:i,s:i,s:I,s:I,s:s,s:s}", "file", it->options->output,
			       "width", (int)picture->width, "height", (int)picture->height,
			       "steps", (json_int_t)strata_pipeline_steps(it->run), "seed",
			       (json_int_t)it->seed, "solver", strata_pipeline_solver(it->run),
			       "pipeline", strata_pipeline_class(it->pipeline)->name));
}

/* A look at where the run stands, in memory of its own. */
static int show_latents(struct drawing *it, struct engine_preview *preview)
{
	struct strata_picture picture;
	struct strata_arena arena;

	strata_arena_init(&arena, &it->cli->memory, 0);
	int rc = strata_pipeline_preview(it->pipeline, it->run, 0, &arena, &picture, &it->cli->err);

	if (rc == 0)
		rc = engine_preview_show(preview, &picture, &arena);
	strata_arena_fini(&arena);
	return rc;
}

static int draw_all(struct drawing *it, struct strata_picture *ret_picture)
{
	struct cli *cli = it->cli;
	struct engine_preview preview;
	double calls = (double)strata_pipeline_calls(it->run);
	int rc = 0;

	engine_preview_start(&preview, cli, it->options->preview, calls);
	while (rc == 0 && strata_pipeline_left(it->run)) {
		if (engine_preview_due(&preview))
			rc = show_latents(it, &preview);
		engine_preview_bar(&preview, calls - (double)strata_pipeline_left(it->run));
		if (rc == 0)
			rc = strata_pipeline_step(it->pipeline, &it->run, 1, &cli->err);
	}
	if (rc == 0)
		rc = strata_pipeline_decode(it->pipeline, it->run, 0, &cli->arena, ret_picture,
					    &cli->err);
	if (rc == 0)
		rc = engine_preview_show(&preview, ret_picture, &cli->arena);
	engine_preview_end(&preview);
	return rc;
}

static int draw(struct drawing *it)
{
	struct cli *cli = it->cli;
	struct strata_picture picture, written;
	int rc = make_request(it);

	if (rc == 0)
		rc = strata_pipeline_encode(it->pipeline, &it->request, &it->run, &cli->err);
	if (rc)
		return rc;
	rc = draw_all(it, &picture);
	if (rc == 0)
		rc = write_picture(it, &picture, &written);
	return rc ? rc : say_done(it, &written);
}

int engine_image_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct engine_image_options *options = conf;
	struct drawing it = {
		.cli = cli, .options = options, .folder = operands[0], .prompt = operands[1]
	};
	const struct strata_engine_conf engine = { .devices = options->devices,
						   .backend = options->backend,
						   .experimental = options->experimental };
	struct strata_pipeline_conf pipeline = { .noise = options->noise };
	const char *target;
	int rc = engine_budget_read(cli, options->budget, &pipeline.budget_bytes,
				    &pipeline.budget_share);

	(void)operand_count;
	if (rc == 0)
		rc = engine_file_target(cli, options->output, &target);
	if (rc == 0)
		rc = engine_open(cli, &engine, options->experience, &it.engine);
	if (rc)
		return rc;
	engine_interruptible(it.engine);
	rc = engine_trace_start(cli, options->trace, it.engine, &it.trace);
	if (rc == 0)
		rc = strata_pipeline_open(it.engine, operands[0], &pipeline, &cli->memory,
					  &it.pipeline, &cli->err);
	if (rc == 0 && it.trace.trace)
		rc = strata_pipeline_trace(it.pipeline, it.trace.trace, 1, &cli->err);
	if (rc == 0)
		rc = draw(&it);
	if (rc == 0)
		rc = engine_trace_write(cli, &it.trace);
	strata_pipeline_run_free(it.run);
	strata_pipeline_close(it.pipeline);
	engine_interruptible(NULL);
	if (rc == 0)
		rc = engine_keep(cli, it.engine, options->experience);
	strata_engine_free(it.engine);
	engine_trace_end(&it.trace);
	return rc;
}
