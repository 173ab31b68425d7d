/* What `strata engine bench` measures beside others: see engine_bench.h. */
#include "cli/engine_bench.h"

#include "bench/stream_bench.h"
#include "core/env.h"
#include "engine/ort_whole.h"

#include <strata/engine.h>
#include <strata/stage.h>
#include <strata/stream.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 8 };

/* ---- the peer ---- */

struct peer {
	struct cli *cli;
	struct ort_whole *whole;
	struct ort_whole_call call;
};

/* With the inputs of a runner, which it borrows. */
static int peer_open(struct peer *peer, struct cli *cli, const struct engine_bench_subject *subject,
		     const struct engine_bench_runner *runner)
{
	const char **names = strata_arena_array(
		&cli->arena, runner->input_count + runner->output_count, sizeof(char *));

	if (!names)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < runner->input_count; i++)
		names[i] = strata_engine_input_at(runner->model, i)->name;
	for (size_t i = 0; i < runner->output_count; i++)
		names[runner->input_count + i] = strata_engine_output_at(runner->model, i)->name;
	*peer = (struct peer){ .cli = cli,
			       .call = { names, runner->inputs, runner->input_count,
					 names + runner->input_count, runner->output_count } };
	return ort_whole_open(subject->path, 1, &cli->memory, &peer->whole, &cli->err);
}

static int peer_run(void *any)
{
	struct peer *peer = any;

	return ort_whole_run(peer->whole, &peer->call, &peer->cli->err);
}

/* How far results are apart, at most, for the largest number of an output. */
static double differs(const struct engine_bench_runner *runner, struct peer *peer)
{
	struct strata_error err = { 0 };
	double worst = 0;

	for (size_t i = 0; i < runner->output_count; i++) {
		const struct strata_array *ours = &runner->outputs[i];
		struct strata_array theirs;
		double most = 0, apart = 0;

		if (ours->dtype != STRATA_DTYPE_F32 ||
		    ort_whole_output(peer->whole, i, &theirs, &err) ||
		    theirs.dtype != STRATA_DTYPE_F32 ||
		    strata_array_elements(&theirs) != strata_array_elements(ours))
			continue;
		for (int64_t k = 0; k < strata_array_elements(ours); k++) {
			double a = (double)((const float *)ours->data)[k];
			double b = (double)((const float *)theirs.data)[k];

			most = fmax(most, fabs(b));
			apart = a == b ? apart : isnan(a - b) ? INFINITY : fmax(apart, fabs(a - b));
		}
		worst = fmax(worst, most > 0 ? apart / most : apart);
	}
	return worst;
}

json_t *engine_bench_native(struct cli *cli, const struct engine_bench_subject *subject)
{
	const struct strata_engine_conf conf = { .devices = "cpu" };
	struct strata_engine_metrics metrics;
	struct engine_bench_runner runner = { 0 };
	struct peer peer = { 0 };
	json_t *row = NULL;
	cpu_set_t before;

	engine_bench_stay(&before);
	int rc = engine_bench_open(&runner, cli, subject, &conf, 0);

	if (rc == 0)
		rc = engine_bench_call(&runner);
	struct engine_bench_side sides[2] = { { engine_bench_call, &runner }, { peer_run, &peer } };
	bool alone = rc == 0 && peer_open(&peer, cli, subject, &runner) != 0;
	char why[sizeof(cli->err.text)];

	snprintf(why, sizeof(why), "%s", alone ? cli->err.text : "");
	if (rc == 0)
		rc = engine_bench_compare(sides, alone ? 1 : 2, CLOCK_PROCESS_CPUTIME_ID, subject->rounds);
	if (rc == 0) {
		strata_engine_metrics(runner.model, &metrics);
		row = json_pack("{s:s,s:f,s:f,s:f}", "model", subject->name, "native_ms",
				sides[0].ns / 1e6, "gflop", metrics.flops / 1e9, "gflop_per_s",
				metrics.flops / sides[0].ns);
		if (alone)
			json_object_set_new(row, "why", json_string(why));
		else
			json_object_update_new(
				row, json_pack("{s:f,s:f,s:f}", "onnxruntime_ms", sides[1].ns / 1e6,
					       "ratio", sides[0].ns / sides[1].ns, "differs",
					       differs(&runner, &peer)));
	} else {
		row = engine_bench_why(cli, subject);
	}
	ort_whole_close(peer.whole);
	engine_bench_close(&runner);
	sched_setaffinity(0, sizeof(before), &before);
	return row;
}

json_t *engine_bench_ort(struct cli *cli, const struct engine_bench_subject *subject)
{
	const char *core = engine_bench_one_core(cli, 0);
	const struct strata_engine_conf one = { .devices = "cpu", .backend = "onnxruntime" };
	const struct strata_engine_conf split = {
		.devices = strata_arena_printf(&cli->arena, "%s,%s", core, core),
		.backend = "onnxruntime",
		.objective = STRATA_THROUGHPUT
	};
	struct engine_bench_runner whole = { 0 }, parts = { 0 };
	struct peer peer = { 0 };
	json_t *row = NULL;
	cpu_set_t before;

	engine_bench_stay(&before);
	int rc = engine_bench_open(&whole, cli, subject, &one, 0);

	if (rc == 0)
		rc = peer_open(&peer, cli, subject, &whole);
	if (rc == 0)
		rc = engine_bench_open(&parts, cli, subject, &split, 0);
	struct engine_bench_side sides[3] = { { engine_bench_call, &whole },
				 { engine_bench_call, &parts },
				 { peer_run, &peer } };

	if (rc == 0)
		rc = engine_bench_compare(sides, 3, CLOCK_PROCESS_CPUTIME_ID, subject->rounds);
	row = rc ? engine_bench_why(cli, subject)
		 : json_pack("{s:s,s:f,s:f,s:f,s:I,s:f,s:f}", "model", subject->name, "one_ms",
			     sides[0].ns / 1e6, "split_ms", sides[1].ns / 1e6, "onnxruntime_ms",
			     sides[2].ns / 1e6, "subgraphs",
			     (json_int_t)strata_engine_subgraph_count(parts.model), "ratio",
			     sides[0].ns / sides[2].ns, "split_ratio", sides[1].ns / sides[2].ns);
	ort_whole_close(peer.whole);
	engine_bench_close(&parts);
	engine_bench_close(&whole);
	sched_setaffinity(0, sizeof(before), &before);
	return row;
}

/* ---- budgets ---- */

static void chill(void *context)
{
	const struct strata_weights *weights = context;

	for (size_t i = 0; i < weights->path_count; i++) {
		int fd = open(weights->paths[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
}

/* A page such that frames of that size hold many. */
static int64_t page_of(int64_t frame_bytes)
{
	int64_t page = 4096;

	while (page < 1 << 20 && page * 128 <= frame_bytes)
		page *= 2;
	return page;
}

/* Bytes a second of a stream over the model's layers whose reader does nothing else. */
static int reading_rate(struct cli *cli, const struct strata_weights *weights, int64_t budget_bytes,
			double *ret_bytes_per_s)
{
	struct strata_stream_layer *layers =
		strata_arena_array(&cli->arena, weights->layer_count, sizeof(*layers));
	struct strata_stream_metrics metrics;
	struct strata_stream *stream;
	int64_t largest = 0;

	if (!layers)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < weights->layer_count; i++) {
		const struct strata_weights_layer *layer = &weights->layers[i];

		layers[i] = (struct strata_stream_layer){ layer->name, layer->extents,
							  layer->tensor_count, 0 };
		largest = layer->bytes > largest ? layer->bytes : largest;
	}
	const struct strata_stream_conf conf = {
		.paths = weights->paths,
		.path_count = weights->path_count,
		.layers = layers,
		.layer_count = weights->layer_count,
		.budget_bytes = budget_bytes > 2 * largest ? budget_bytes : 2 * largest,
		.page_bytes = page_of(budget_bytes),
		.bytes_per_s = INT64_C(1000000000),
	};
	int rc = strata_stream_open(&conf, &cli->memory, &stream, &cli->err);

	if (rc)
		return rc;
	int64_t begin_ns = env_now_ns(env_system(), ENV_MONOTONIC);

	for (int step = 0; rc == 0 && step < 3; step++) {
		rc = strata_stream_step_start(stream, &cli->err);
		for (uint32_t i = 0; rc == 0 && i < weights->layer_count; i++) {
			rc = strata_stream_pre_forward(stream, i, &cli->err);
			if (rc == 0)
				rc = strata_stream_post_forward(stream, i, &cli->err);
		}
		if (rc == 0)
			rc = strata_stream_step_end(stream, &cli->err);
	}
	int64_t took_ns = env_now_ns(env_system(), ENV_MONOTONIC) - begin_ns;

	strata_stream_metrics(stream, &metrics);
	strata_stream_close(stream);
	*ret_bytes_per_s = (double)metrics.bytes_read * 1e9 / (double)(took_ns ? took_ns : 1);
	return rc;
}

/* What the stage level says of subgraphs that compute as long as the fastest call did, with frames of that size and a disk of that speed. */
static int predict(struct cli *cli, const struct engine_bench_runner *runner, double bytes_per_s,
		   struct strata_stage_metrics *ret_metrics)
{
	size_t count = strata_engine_subgraph_count(runner->model), used = 0;
	struct strata_stage_layer *layers = strata_arena_array(&cli->arena, count, sizeof(*layers));
	struct strata_engine_subgraph subgraph;
	struct strata_engine_metrics metrics;
	struct strata_stage_plan plan;
	int64_t before_ns = 0;

	if (!layers)
		return strata_fail_memory(&cli->err);
	strata_engine_metrics(runner->model, &metrics);
	for (size_t i = 0; strata_engine_subgraph_at(runner->model, i, &subgraph); i++) {
		before_ns += subgraph.least_ns;
		if (!subgraph.streams)
			continue;
		layers[used++] = (struct strata_stage_layer){ subgraph.first, subgraph.weight_bytes,
							      before_ns };
		before_ns = 0;
	}
	if (used == 0)
		return strata_fail(&cli->err, -EINVAL, "no weights of it come and go");
	layers[used - 1].compute_ns += before_ns;
	const struct strata_stage_model model = { .layers = layers,
						  .layer_count = used,
						  .visit_count = used };
	const struct strata_stage_machine machine = { .page_bytes = page_of(metrics.frame_bytes),
						      .budget_bytes = metrics.frame_bytes,
						      .bytes_per_s = (int64_t)bytes_per_s };
	int rc = strata_stage_build("best", &model, &machine, &cli->arena, &plan, &cli->err);

	if (rc == 0)
		*ret_metrics = plan.metrics;
	return rc;
}

json_t *engine_bench_budget(struct cli *cli, const struct engine_bench_subject *subject)
{
	const struct strata_engine_conf conf = { .devices = engine_bench_one_core(cli, 0) };
	struct strata_engine_metrics metrics;
	struct strata_stage_metrics stage = { 0 };
	struct strata_weights weights;
	struct engine_bench_runner all = { 0 }, some = { 0 };
	double bytes_per_s = 0;
	json_t *row = NULL;
	int rc = strata_weights_read(subject->path, NULL, &cli->arena, &weights, &cli->err);

	if (rc == 0)
		rc = engine_bench_open(&all, cli, subject, &conf, 0);
	if (rc == 0)
		rc = engine_bench_open(&some, cli, subject, &conf, subject->share);
	struct engine_bench_side sides[2] = { { engine_bench_call, &all }, { engine_bench_call, &some, chill, &weights } };

	if (rc == 0)
		rc = engine_bench_compare(sides, 2, CLOCK_PROCESS_CPUTIME_ID, subject->rounds);
	double cpu_ratio = sides[0].ns > 0 ? sides[1].ns / sides[0].ns : 0;

	if (rc == 0)
		rc = engine_bench_compare(sides, 2, CLOCK_MONOTONIC, subject->rounds);
	/* One more call, to see what the kernel read for it. */
	int64_t read_bytes = 0, disk_bytes = stream_bench_disk_bytes();

	if (rc == 0) {
		strata_engine_metrics(some.model, &metrics);
		read_bytes = metrics.read_bytes;
		chill(&weights);
		rc = engine_bench_call(&some);
		strata_engine_metrics(some.model, &metrics);
		read_bytes = metrics.read_bytes - read_bytes;
		disk_bytes = disk_bytes < 0 ? -1 : stream_bench_disk_bytes() - disk_bytes;
	}
	if (rc == 0)
		rc = reading_rate(cli, &weights, metrics.frame_bytes, &bytes_per_s);
	if (rc == 0)
		rc = predict(cli, &some, bytes_per_s, &stage);
	row = rc ? engine_bench_why(cli, subject)
		 : json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:I}", "model",
			     subject->name, "resident_ms", sides[0].ns / 1e6, "budget_ms",
			     sides[1].ns / 1e6, "ratio", sides[1].ns / sides[0].ns, "cpu_ratio", cpu_ratio, "predicted_ms",
			     stage.step_ns / 1e6, "bound_ms", stage.lower_bound_ns / 1e6,
			     "disk_mb_per_s", bytes_per_s / 1e6, "weight_bytes",
			     (json_int_t)strata_engine_weight_bytes(some.model), "budget_bytes",
			     (json_int_t)(metrics.kept_bytes + metrics.frame_bytes), "read_bytes",
			     (json_int_t)read_bytes, "disk_bytes", (json_int_t)disk_bytes);
	engine_bench_close(&some);
	engine_bench_close(&all);
	return row;
}

/* ---- devices ---- */

/* So many requests at once. */
static int run_calls(void *any)
{
	struct engine_bench_runner *runner = any;
	struct strata_engine_call calls[CALLS];
	size_t count = runner->output_count;
	struct strata_array *outputs = calloc(CALLS * count + 1, sizeof(*outputs));

	if (!outputs)
		return strata_fail_memory(&runner->cli->err);
	for (size_t i = 0; i < CALLS; i++)
		calls[i] = (struct strata_engine_call){ runner->inputs, outputs + i * count };
	int rc = strata_engine_run_many(runner->model, calls, CALLS, &runner->cli->err);

	for (size_t i = 0; rc == 0 && i < CALLS * count; i++)
		strata_array_drop(&outputs[i]);
	free(outputs);
	return rc;
}

json_t *engine_bench_devices(struct cli *cli, const struct engine_bench_subject *subject)
{
	const struct strata_engine_conf one = { .devices = engine_bench_one_core(cli, 0) };
	const struct strata_engine_conf two = {
		.devices = strata_arena_printf(&cli->arena, "%s,%s", engine_bench_one_core(cli, 0),
					       engine_bench_one_core(cli, 1)),
		.objective = STRATA_THROUGHPUT
	};
	struct engine_bench_runner alone = { 0 }, both = { 0 };
	struct strata_engine_subgraph subgraph;
	int64_t busy_ns[2] = { 0 };
	json_t *row = NULL;
	int rc = engine_bench_core(1) >= 0 ? 0
				 : strata_fail(&cli->err, -ENOTSUP,
					       "this process may use one core only");

	if (rc == 0)
		rc = engine_bench_open(&alone, cli, subject, &one, 0);
	if (rc == 0)
		rc = engine_bench_open(&both, cli, subject, &two, 0);
	struct engine_bench_side sides[2] = { { run_calls, &alone }, { run_calls, &both } };

	if (rc == 0)
		rc = engine_bench_compare(sides, 2, CLOCK_MONOTONIC, subject->rounds);
	for (size_t i = 0; rc == 0 && strata_engine_subgraph_at(both.model, i, &subgraph); i++)
		busy_ns[strcmp(subgraph.device, one.devices) != 0] += subgraph.least_ns;
	double most = (double)(busy_ns[0] > busy_ns[1] ? busy_ns[0] : busy_ns[1]);

	row = rc ? engine_bench_why(cli, subject)
		 : json_pack("{s:s,s:f,s:f,s:f,s:f,s:I}", "model", subject->name, "one_per_s",
			     CALLS * 1e9 / sides[0].ns, "two_per_s", CALLS * 1e9 / sides[1].ns,
			     "ratio", sides[0].ns / sides[1].ns, "balance",
			     most > 0 ? (double)(busy_ns[0] + busy_ns[1]) / most : 0, "subgraphs",
			     (json_int_t)strata_engine_subgraph_count(both.model));
	engine_bench_close(&both);
	engine_bench_close(&alone);
	return row;
}
