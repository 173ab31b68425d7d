/* strata worker, in the full program: from the job's variables to a worker that runs
 * (src/worker). */
#include "cli/engine_options.h"
#include "cli/service.h"
#include "cli/worker_options.h"

#include "core/env.h"
#include "worker/worker_loop.h"

#include <strata/text.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t told_to_end; /* for the signal handler */

static void end(int signal)
{
	(void)signal;
	told_to_end = 1;
}

/* What a thread asks the service through. */
struct line {
	struct cli *cli;
	struct client *client; /* the thread's own */
};

static int ask(void *context, const struct client_request *request, json_t **ret_json,
	       struct strata_error *err)
{
	return client_json(((struct line *)context)->client, request, ret_json, err);
}

static int take(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct buf *all = context;

	buf_add_bytes(all, bytes, count);
	return buf_check(all, err);
}

static int fetch(void *context, const char *path, struct buf *bytes, struct strata_error *err)
{
	return client_stream(((struct line *)context)->client, path, take, bytes, err);
}

static int64_t now_ns(void *context)
{
	(void)context;
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

/* In pieces, so that the end is not waited for. */
static void pause_for(void *context, int64_t ns)
{
	const int64_t piece_ns = 100 * STRATA_MS_NS;

	(void)context;
	for (; ns > 0 && !told_to_end; ns -= piece_ns)
		follow_sleep(ns < piece_ns ? ns : piece_ns);
}

static bool ending(void *context)
{
	(void)context;
	return told_to_end;
}

static void say(void *context, const char *sentence)
{
	cli_note(((struct line *)context)->cli, "%s", sentence);
}

/* The client shows the job's token, on the socket too: there it counts instead of the uid. */
static int open_client(struct cli *cli, struct strata_memory *memory, struct client **ret_client)
{
	struct client_place place;
	int rc = service_find(cli, &place);

	if (rc == 0)
		rc = service_token(cli, &place.token);
	place.web = cli_web();
	return rc ? rc : client_open(&place, memory, ret_client, &cli->err);
}

/* What the service knows of the model, for what the flags do not say. A model without a folder
 * comes with the program. */
static int ask_model(struct cli *cli, struct worker_options *options)
{
	struct buf path;
	json_t *json;

	if (options->folder && options->backend)
		return 0;
	service_path(cli, &path, "models", options->model, NULL);
	int rc = service_get(cli, &path, &json);

	if (rc)
		return rc;
	const char *folder = grid_string(json, "folder"), *backend = grid_string(json, "backend");

	if (!options->folder)
		options->folder =
			strata_arena_printf(&cli->arena, "%s", folder ? folder : options->model);
	if (!options->backend)
		options->backend =
			strata_arena_printf(&cli->arena, "%s", backend ? backend : "native");
	json_decref(json);
	return options->folder && options->backend ? 0 : strata_fail_memory(&cli->err);
}

/* With a heartbeat beside it, which has its own memory and client. */
static int work_with_beat(struct cli *cli, const struct worker_options *options,
			  struct worker_conf *conf)
{
	struct strata_memory memory = { 0 };
	struct line line = { .cli = cli };
	const struct worker_link link = { &line, ask, fetch, now_ns, pause_for, ending, say };
	struct worker_beat beat;
	int rc = open_client(cli, &memory, &line.client);

	if (rc)
		return rc;
	rc = worker_beat_init(&beat, &link, options->call_limit_ns, &cli->err);
	if (rc == 0) {
		conf->beat = &beat;
		rc = worker_beat_start(&beat, &cli->err);
		if (rc == 0)
			rc = worker_run(conf, &cli->memory, &cli->err);
		worker_beat_fini(&beat);
	}
	client_close(line.client);
	return rc;
}

static int work(struct cli *cli, const struct worker_options *options, struct strata_engine *engine,
		struct worker_trace *trace)
{
	struct strata_pipeline_conf conf = { .noise = options->noise };
	struct line line = { cli, cli->client };
	const struct worker_link link = { &line, ask, fetch, now_ns, pause_for, ending, say };
	struct worker_conf worker = { .model = options->model,
				      .link = &link,
				      .trace = trace,
				      .away_ns_max = options->away_ns };
	int rc = engine_budget_read(cli, options->budget, &conf.budget_bytes, &conf.budget_share);

	if (rc == 0)
		rc = strata_pipeline_open(engine, options->folder, &conf, &cli->memory,
					  &worker.pipeline, &cli->err);
	if (rc)
		return rc;
	rc = worker_trace_pipeline(trace, worker.pipeline, &cli->err);
	if (rc == 0)
		rc = work_with_beat(cli, options, &worker);
	strata_pipeline_close(worker.pipeline);
	return rc;
}

/* The job that this is, 0: none, as a program that was started by hand. */
static uint64_t own_job(void)
{
	const char *text = getenv("STRATA_JOB_ID");
	int64_t job = 0;

	return text && strata_int_parse(text, STRATA_TEXT_NUL, 1, INT64_MAX, &job, NULL) == 0
		       ? (uint64_t)job
		       : 0;
}

/* The service shows it to those who wait. That nobody hears it changes nothing. */
static void tell_trouble(struct cli *cli)
{
	struct line line = { cli, cli->client };
	const struct worker_link link = { &line, ask, fetch, now_ns, pause_for, ending, say };
	struct strata_error ignored = { 0 };

	worker_api_trouble(&link, cli->err.text, &ignored);
}

int worker_run_cli(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct worker_options options = *(const struct worker_options *)conf;
	struct sigaction action = { .sa_handler = end };
	struct worker_trace trace = { 0 };
	struct strata_engine *engine;

	(void)operands, (void)operand_count;
	if (!options.model)
		return strata_fail_at(&cli->err, -EINVAL, "model",
				      "--model is missing; `strata models` lists them");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	int rc = open_client(cli, &cli->memory, &cli->client);

	if (rc == 0)
		rc = ask_model(cli, &options);
	if (rc)
		return rc;
	const struct strata_engine_conf engine_conf = { .devices = options.devices,
							.backend = options.backend };

	rc = engine_open(cli, &engine_conf, "none", &engine);
	if (rc == 0) {
		rc = worker_trace_open(&trace, own_job(), engine, &cli->err);
		if (rc == 0)
			rc = work(cli, &options, engine, &trace);
		strata_engine_free(engine);
		worker_trace_close(&trace);
	}
	if (rc && !worker_is_away(rc))
		tell_trouble(cli);
	return rc;
}
