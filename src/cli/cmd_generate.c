/* strata generate: a picture from the service. What is not said is the model's. */
#include "cli/engine_options.h"
#include "cli/task.h"

#include "core/env.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

struct generate_conf {
	const char *model, *solver, *schedule, *size, *negative, *deadline, *output, *init;
	const char *webhook, *quality;
	int64_t steps, seed, n, priority;
	double guidance, strength;
	bool no_wait, trace;
	int preview; /* enum engine_preview_mode */
};

#define OFFSET(field) offsetof(struct generate_conf, field)
static const struct strata_option rows[] = {
	{ "output", STRATA_TEXT, OFFSET(output), .text = { "image.png" }, .value = "FILE",
	  .letter = 'o', .help = "the PNG file to write; of several, FILE-1, FILE-2 …" },
	{ "model", STRATA_TEXT, OFFSET(model), .value = "NAME", .letter = 'm',
	  .help = "what draws it: `strata models`; the service's default when left out" },
	{ "solver", STRATA_TEXT, OFFSET(solver), .value = "NAME", .aliases = "sampler, scheduler",
	  .help = "any name that users know, as \"DPM++ 2M Karras\"" },
	{ "schedule", STRATA_TEXT, OFFSET(schedule), .value = "NAME",
	  .help = "the solver's noise levels, as karras" },
	{ "steps", STRATA_INT, OFFSET(steps), .integer = { 0, 0, STRATA_GENERATE_STEPS_MAX },
	  .help = "solver steps; 0: the model's default" },
	{ "quality", STRATA_TEXT, OFFSET(quality), .value = "WORD",
	  .help = "exact: every model call; normal and draft leave some out" },
	{ "seed", STRATA_INT, OFFSET(seed), .integer = { -1, -1, INT64_MAX },
	  .help = "where the noise starts; -1: somewhere else each time" },
	{ "size", STRATA_TEXT, OFFSET(size), .value = "WxH",
	  .help = "width and height, as 512x768; the model's default when left out" },
	{ "guidance", STRATA_REAL, OFFSET(guidance), .real = { -1, -1, 1000 },
	  .aliases = "cfg_scale, guidance_scale",
	  .help = "how much the prompt counts; -1: the model's default" },
	{ "negative", STRATA_TEXT, OFFSET(negative), .value = "PROMPT",
	  .aliases = "negative_prompt", .help = "what should not be in the picture" },
	{ "init", STRATA_TEXT, OFFSET(init), .value = "FILE",
	  .help = "a PNG file to start from, in place of noise alone" },
	{ "strength", STRATA_REAL, OFFSET(strength), .real = { -1, -1, 1 },
	  .aliases = "denoising_strength",
	  .help = "how much of that picture is drawn anew, above 0; -1: 0.75" },
	{ "n", STRATA_INT, OFFSET(n), .integer = { 1, 1, STRATA_PIPELINE_IMAGES_MAX },
	  .letter = 'n', .help = "pictures, each with the next seed" },
	{ "priority", STRATA_INT, OFFSET(priority), .integer = { -1, -1, STRATA_TASK_PRIORITY_MAX },
	  .help = "0 to 10, the higher the sooner among your own; -1: the usual, 5" },
	{ "webhook", STRATA_TEXT, OFFSET(webhook), .value = "URL",
	  .help = "hears how it ended: http://… or https://…" },
	{ "deadline", STRATA_TEXT, OFFSET(deadline), .value = "TIME",
	  .help = "when it is of no use any more: 10m from now, or a time" },
	{ "trace", STRATA_BOOL, OFFSET(trace),
	  .help = "its worker records what it does for it: `strata trace T17` shows it" },
	{ "preview", STRATA_ENUM, OFFSET(preview),
	  .choice = { engine_previews, ENGINE_PREVIEW_NONE },
	  .help = "show the picture in the terminal while it is drawn; auto: half blocks where "
		  "there are colours" },
	{ "no_wait", STRATA_BOOL, OFFSET(no_wait),
	  .help = "print the task and end; `strata tasks image` gets the picture later" },
	{ 0 }
};
static const struct strata_schema schema = { "generate", NULL, sizeof(struct generate_conf), rows };

/* "10m" from now, or a time, as the API's text. */
static int read_deadline(struct cli *cli, const char *text, char ret_text[STRATA_FORM_BYTES])
{
	int64_t now_ns = when_now_ns(), ns;

	if (strata_duration_parse(text, STRATA_TEXT_NUL, 0, 0, &ns, NULL) == 0)
		ns = ns < STRATA_TIME_NS_MAX - now_ns ? now_ns + ns : STRATA_TIME_NS_MAX;
	else if (strata_time_parse(text, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), &ns, NULL))
		return strata_fail_at(&cli->err, -EINVAL, "deadline",
				      "--deadline is '%.60s'; expected a duration such as 10m or a "
				      "time such as 18:00",
				      text);
	strata_time_print(ns - ns % STRATA_SECOND_NS, ret_text);
	return 0;
}

static int add_text(json_t *body, const char *key, const char *text)
{
	return text ? json_object_set_new(body, key, json_string(text)) : 0;
}

static int add_int(json_t *body, const char *key, int64_t value, int64_t otherwise)
{
	return value == otherwise ? 0 : json_object_set_new(body, key, json_integer(value));
}

/* The file as base64, as the API takes it. */
static int add_init(struct cli *cli, json_t *body, const char *path)
{
	struct buf text;
	char *bytes;
	size_t count;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_INIT_BYTES_MAX, &cli->arena,
			       &bytes, &count, &cli->err);

	if (rc)
		return rc;
	buf_init(&text, &cli->memory, 0);
	buf_add_base64(&text, bytes, count);
	rc = buf_check(&text, &cli->err);
	if (rc == 0 && json_object_set_new(body, "init_image", json_string(text.text)))
		rc = strata_fail_memory(&cli->err);
	buf_fini(&text);
	return rc;
}

/* Only what was said. */
static int make_body(struct cli *cli, const struct generate_conf *conf, const char *prompt,
		     json_t **ret_body)
{
	char deadline[STRATA_FORM_BYTES];
	uint32_t width = 0, height = 0;
	int rc = task_size(cli, conf->size, &width, &height);

	if (rc == 0 && conf->strength >= 0 && !conf->init)
		rc = strata_fail_at(&cli->err, -EINVAL, "strength",
				    "--strength %g needs a picture to start from: --init FILE",
				    conf->strength);
	if (rc == 0 && conf->deadline)
		rc = read_deadline(cli, conf->deadline, deadline);
	if (rc)
		return rc;
	json_t *body = json_pack("{s:s}", "prompt", prompt);

	if (!body) /* jansson refuses what is not UTF-8 */
		return strata_fail(&cli->err, -EINVAL, "the prompt is not valid UTF-8");
	bool bad = add_text(body, "negative_prompt", conf->negative) ||
		   add_text(body, "model", conf->model) ||
		   add_text(body, "scheduler", conf->solver) ||
		   add_text(body, "schedule", conf->schedule) ||
		   add_text(body, "deadline", conf->deadline ? deadline : NULL) ||
		   add_text(body, "webhook", conf->webhook) ||
		   add_text(body, "quality", conf->quality) ||
		   add_int(body, "steps", conf->steps, 0) ||
		   add_int(body, "seed", conf->seed, -1) || add_int(body, "n", conf->n, 1) ||
		   add_int(body, "priority", conf->priority, -1) ||
		   add_int(body, "width", width, 0) || add_int(body, "height", height, 0);

	if (!bad && conf->guidance >= 0)
		bad = json_object_set_new(body, "guidance_scale", json_real(conf->guidance));
	if (!bad && conf->trace)
		bad = json_object_set_new(body, "trace", json_true());
	if (!bad && conf->strength >= 0)
		bad = json_object_set_new(body, "strength", json_real(conf->strength));
	rc = bad ? strata_fail_memory(&cli->err) : 0;
	if (rc == 0 && conf->init)
		rc = add_init(cli, body, conf->init);
	if (rc == 0)
		*ret_body = body;
	else
		json_decref(body);
	return rc;
}

static int wait_and_save(struct cli *cli, const struct generate_conf *conf, const char *id,
			 struct task_preview *preview)
{
	json_t *task;
	struct buf sentence;
	int rc = task_follow(cli, id, preview, &task);

	if (rc)
		return rc;
	if (strcmp(grid_or(json_object_get(task, "status"), ""), "finished") == 0) {
		rc = task_save(cli, task, conf->output);
	} else {
		buf_init(&sentence, &cli->memory, 0);
		task_sentence(task, when_now_ns(), &sentence);
		rc = strata_fail(&cli->err, -ECANCELED, "%s", sentence.text);
		buf_fini(&sentence);
	}
	json_decref(task);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct generate_conf *conf = conf_any;
	struct task_preview *preview = NULL;
	struct buf path;
	json_t *body = NULL, *task;
	char id[24];
	int rc = make_body(cli, conf, operands[0], &body);

	(void)operand_count;
	if (rc == 0 && conf->preview != ENGINE_PREVIEW_NONE && !conf->no_wait)
		rc = task_preview_open(cli, conf->preview, &preview);
	if (rc) {
		json_decref(body);
		return rc;
	}
	service_path(cli, &path, "generate", NULL, NULL);
	rc = service_ask(cli, "POST", &path, body, &task);
	if (rc) {
		task_preview_close(preview);
		return rc;
	}
	snprintf(id, sizeof(id), "%" PRId64, grid_int(task, "id"));
	if (conf->no_wait && cli->globals.json)
		return cli_print_json(cli, task);
	if (conf->no_wait) {
		task_sentence(task, when_now_ns(), &cli->out);
		cli_print(cli, "\n");
	}
	json_decref(task);
	if (conf->no_wait)
		return 0;
	rc = wait_and_save(cli, conf, id, preview);
	task_preview_close(preview);
	return rc;
}

const struct cli_command cli_generate = {
	.name = "generate",
	.operands = "PROMPT",
	.summary = "have the service draw a picture, and save it",
	.about = "The task is in the service's queue and survives its end. While it waits, its "
		 "place in line and the time\n"
		 "it is expected to start are shown. ^C ends the waiting, not the task. The same "
		 "seed and settings give\n"
		 "the same file.",
	.examples =
		"  strata generate 'a seven' -o seven.png\n"
		"  strata generate 'a red fox' --model sdxl --solver 'DPM++ 2M Karras' --steps 30 "
		"--seed 7\n"
		"  strata generate 'a red fox' --model sdxl --init photo.png --strength 0.6\n"
		"  strata generate 'a fox' -n 4 --no-wait",
	.options = &schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
