/* strata engine run, in the full program: inputs from files or made up, calls, a table of subgraphs. */
#include "cli/engine_options.h"

#include "core/env.h"
#include "formats/npy.h"

#include <strata/engine.h>
#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct session {
	struct cli *cli;
	const struct engine_run_options *options;
	struct strata_engine *engine;
	struct strata_engine_model *model;
	struct strata_array *inputs, *outputs;
	size_t input_count, output_count;
	struct engine_trace trace;
	double *took_ms; /* of each call */
};

/* ---- budgets ---- */

/* "2GiB", or "33%" of the weights. */
static int read_budget(struct session *session, const char *path, int64_t *ret_bytes)
{
	struct cli *cli = session->cli;
	const char *text = session->options->budget;
	size_t length = text ? strlen(text) : 0;
	struct strata_engine_model *model;
	double share;

	*ret_bytes = 0;
	if (!text)
		return 0;
	if (length == 0 || text[length - 1] != '%')
		return strata_size_parse(text, length, 1, 0, ret_bytes, &cli->err);
	int rc = strata_real_parse(text, length - 1, &share, &cli->err);

	if (rc == 0 && !(share > 0 && share <= 100))
		rc = strata_fail(&cli->err, -EINVAL, "--budget %s: expected more than 0%% and at most 100%%",
				 text);
	if (rc == 0)
		rc = strata_engine_open(session->engine, path, NULL, &model, &cli->err);
	if (rc)
		return rc;
	*ret_bytes = (int64_t)((double)strata_engine_weight_bytes(model) * share / 100);
	strata_engine_close(model);
	return 0;
}

/* ---- inputs ---- */

static const char *input_file(const struct session *session, const char *name)
{
	const struct strata_map *files = &session->options->inputs;

	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->keys[i], name) == 0)
			return ((const char *const *)files->items)[i];
	return NULL;
}

static int read_input(struct session *session, const char *path, struct strata_array *ret_array)
{
	struct cli *cli = session->cli;
	struct npy npy;
	char *bytes;
	size_t length;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_ENGINE_INPUT_BYTES_MAX, &cli->arena, &bytes,
			       &length, &cli->err);

	if (rc == 0) {
		struct strata_error why = { 0 };

		rc = npy_read(bytes, length, &npy, &why);
		if (rc)
			strata_fail(&cli->err, rc, "%s: %s", path, why.text);
	}
	if (rc == 0)
		rc = strata_array_make(session->engine, npy.dtype, npy.rank, npy.dims, ret_array,
				       &cli->err);
	if (rc == 0)
		memcpy(ret_array->data, npy.data, npy.data_bytes);
	return rc;
}

static bool has_dim(const struct strata_engine_port *port, const char *name)
{
	for (uint32_t i = 0; port->ranked && i < port->rank; i++)
		if (port->dims[i] < 0 && port->dim_names[i] && strcmp(port->dim_names[i], name) == 0)
			return true;
	return false;
}

/* A misspelt name would be 1 without a word. */
static int check_dims(struct session *session)
{
	const struct strata_map *dims = &session->options->dims;

	for (size_t i = 0; i < dims->count; i++) {
		bool found = false;

		for (size_t k = 0; !found && k < session->input_count; k++)
			found = has_dim(strata_engine_input_at(session->model, k), dims->keys[i]);
		if (!found)
			return strata_fail(&session->cli->err, -EINVAL,
					   "the model has no dimension '%s' that could be set",
					   dims->keys[i]);
	}
	return 0;
}

static int prepare_inputs(struct session *session)
{
	struct cli *cli = session->cli;

	session->input_count = strata_engine_input_count(session->model);
	session->output_count = strata_engine_output_count(session->model);
	session->inputs = strata_arena_array(&cli->arena, session->input_count,
					     sizeof(*session->inputs));
	session->outputs = strata_arena_array(&cli->arena, session->output_count,
					      sizeof(*session->outputs));
	if (!session->inputs || !session->outputs)
		return strata_fail_memory(&cli->err);
	int rc = check_dims(session);

	for (size_t i = 0; i < session->options->inputs.count && rc == 0; i++)
		if (strata_engine_input_find(session->model,
					     session->options->inputs.keys[i]) < 0)
			rc = strata_fail(&cli->err, -EINVAL, "the model has no input '%s'",
					 session->options->inputs.keys[i]);
	for (size_t i = 0; rc == 0 && i < session->input_count; i++) {
		const struct strata_engine_port *port = strata_engine_input_at(session->model, i);
		const char *path = input_file(session, port->name);

		rc = path ? read_input(session, path, &session->inputs[i])
			  : engine_input_made_up(session->engine, port, &session->options->dims,
						 (uint32_t)i + 1, &session->inputs[i], &cli->err);
	}
	return rc;
}

/* ---- calls ---- */

static struct strata_engine *interrupted;

static void on_interrupt(int number)
{
	(void)number;
	strata_engine_stop(interrupted, true);
}

static void drop_outputs(struct session *session)
{
	for (size_t i = 0; session->outputs && i < session->output_count; i++)
		strata_array_drop(&session->outputs[i]);
}

static int run_calls(struct session *session)
{
	struct sigaction action = { .sa_handler = on_interrupt }, before;
	struct cli *cli = session->cli;
	struct cli_progress progress;
	int rc = 0;

	session->took_ms = strata_arena_array(&cli->arena, (size_t)session->options->repeat,
					      sizeof(double));
	if (!session->took_ms)
		return strata_fail_memory(&cli->err);
	interrupted = session->engine;
	sigaction(SIGINT, &action, &before);
	cli_progress_start(&progress, cli, "running", (double)session->options->repeat);
	for (int64_t i = 0; rc == 0 && i < session->options->repeat; i++) {
		int64_t begin_ns = env_now_ns(env_system(), ENV_MONOTONIC);

		drop_outputs(session);
		rc = strata_engine_run(session->model, session->inputs, session->outputs, &cli->err);
		session->took_ms[i] =
			(double)(env_now_ns(env_system(), ENV_MONOTONIC) - begin_ns) / 1e6;
		cli_progress_show(&progress, (double)i + 1);
	}
	cli_progress_end(&progress);
	sigaction(SIGINT, &before, NULL);
	return rc;
}

static int write_outputs(struct session *session)
{
	struct cli *cli = session->cli;
	const char *directory = session->options->output;
	int rc = 0;

	if (!directory)
		return 0;
	if (mkdir(directory, 0777) && errno != EEXIST)
		return strata_fail(&cli->err, -errno, "%s: %s", directory, strerror(errno));
	for (size_t i = 0; rc == 0 && i < session->output_count; i++) {
		const struct strata_array *array = &session->outputs[i];
		const char *name = strata_engine_output_at(session->model, i)->name;
		char *path = strata_arena_printf(&cli->arena, "%s/%s.npy", directory, name);
		struct buf buf;

		buf_init(&buf, &cli->memory, 0);
		npy_write(&buf, array->dtype, array->rank, array->dims, array->data);
		for (char *at = path ? path + strlen(directory) + 1 : NULL; at && *at; at++)
			*at = *at == '/' ? '_' : *at; /* names of exports have slashes */
		rc = path && !buf.failed
			     ? engine_file_write(cli, path, buf.text, buf.length)
			     : strata_fail_memory(&cli->err);
		buf_fini(&buf);
	}
	return rc;
}

/* ---- what came of it ---- */

static int by_value(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return a < b ? -1 : a > b;
}

static double median_ms(struct session *session)
{
	size_t count = (size_t)session->options->repeat;

	qsort(session->took_ms, count, sizeof(double), by_value);
	return session->took_ms[count / 2];
}

static json_t *subgraphs_json(const struct session *session)
{
	struct strata_engine_subgraph subgraph;
	json_t *list = json_array();

	for (size_t i = 0; strata_engine_subgraph_at(session->model, i, &subgraph); i++)
		json_array_append_new(
			list,
			json_pack("{s:s,s:s,s:I,s:I,s:b,s:f,s:f,s:f,s:I}", "device", subgraph.device,
				  "first", subgraph.first, "ops", (json_int_t)subgraph.op_count,
				  "weight_bytes", (json_int_t)subgraph.weight_bytes, "streams",
				  subgraph.streams, "predicted_us", subgraph.predicted_ns / 1e3,
				  "observed_us", (double)subgraph.least_ns / 1e3, "wait_us",
				  subgraph.calls ? (double)subgraph.wait_ns / 1e3 /
							   (double)subgraph.calls
						 : 0,
				  "calls", (json_int_t)subgraph.calls));
	return list;
}

static int print_json(struct session *session)
{
	struct strata_engine_metrics metrics;

	double median = median_ms(session); /* sorts: the first is the fastest then */

	strata_engine_metrics(session->model, &metrics);
	json_t *object = json_pack(
		"{s:f,s:f,s:f,s:s,s:f,s:I,s:I,s:I,s:I}", "median_ms", median, "least_ms",
		session->took_ms[0], "predicted_ms", metrics.predicted_ns / 1e6, "strategy",
		metrics.strategy, "gflop", metrics.flops / 1e9, "weight_bytes",
		(json_int_t)strata_engine_weight_bytes(session->model), "kept_bytes",
		(json_int_t)metrics.kept_bytes, "frame_bytes", (json_int_t)metrics.frame_bytes,
		"read_bytes", (json_int_t)metrics.read_bytes);

	if (object)
		json_object_update_new(
			object,
			json_pack("{s:I,s:I,s:I,s:I,s:I,s:o}", "tensor_bytes",
				  (json_int_t)metrics.tensor_bytes_peak, "planned_bytes",
				  (json_int_t)metrics.planned_bytes, "transfers",
				  (json_int_t)metrics.transfers, "transfer_bytes",
				  (json_int_t)metrics.transfer_bytes, "transfer_ns",
				  (json_int_t)metrics.transfer_ns, "subgraphs",
				  subgraphs_json(session)));
	return cli_print_json(session->cli, object);
}

static int print_table(struct session *session)
{
	static const struct cli_column columns[] = {
		{ "DEVICE" },
		{ "FROM", .flexible = true },
		{ "OPS", .right = true },
		{ "WEIGHTS", .right = true },
		{ "", .style = CLI_DIM },
		{ "PREDICTED", .right = true },
		{ "OBSERVED", .right = true },
	};
	struct strata_engine_subgraph subgraph;
	struct strata_engine_metrics metrics;
	char bytes[STRATA_FORM_BYTES], other[STRATA_FORM_BYTES];
	struct cli_table *table;
	struct cli *cli = session->cli;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (size_t i = 0; strata_engine_subgraph_at(session->model, i, &subgraph); i++) {
		cli_table_add(table, "%s", subgraph.device);
		cli_table_add(table, "%s", subgraph.first);
		cli_table_add(table, "%zu", subgraph.op_count);
		cli_table_add(table, "%s", strata_size_print_short(subgraph.weight_bytes, bytes));
		cli_table_add(table, "%s", subgraph.streams ? "fetched" : "");
		cli_table_add(table, "%.3f ms", subgraph.predicted_ns / 1e6);
		cli_table_add(table, "%.3f ms", (double)subgraph.least_ns / 1e6);
	}
	rc = cli_table_print(table);
	strata_engine_metrics(session->model, &metrics);
	double median = median_ms(session); /* sorts: the first is the fastest then */

	cli_printf(cli, "one call: %.3f ms (median of %lld), fastest %.3f ms, %.3f GFLOP\n",
		   median, (long long)session->options->repeat, session->took_ms[0],
		   metrics.flops / 1e9);
	if (metrics.transfers)
		cli_printf(cli, "between devices: %.0f tensors of %s a call, %.3f ms of waiting\n",
			   (double)metrics.transfers / (double)session->options->repeat,
			   strata_size_print_short(metrics.transfer_bytes / session->options->repeat,
						   bytes),
			   (double)metrics.transfer_ns / 1e6 / (double)session->options->repeat);
	/* Weights that stay, what was laid out anew of them and activations are one figure of the heap. */
	cli_printf(cli, "memory: weights %s, all tensors together up to %s\n",
		   strata_size_print_short(metrics.kept_bytes + metrics.frame_bytes, bytes),
		   strata_size_print_short(metrics.tensor_bytes_peak + metrics.frame_bytes,
					   other));
	return rc;
}

/* What the plan says, before anything is computed. */
static int announce(struct session *session)
{
	struct cli *cli = session->cli;
	struct strata_engine_metrics metrics;
	char bytes[STRATA_FORM_BYTES];
	int rc = strata_engine_prepare(session->model, session->inputs, &cli->err);

	if (rc || cli->globals.json)
		return rc;
	strata_engine_metrics(session->model, &metrics);
	if (metrics.planned_bytes >= 0)
		cli_printf(cli, "activations: %s at the most\n",
			   strata_size_print_short(metrics.planned_bytes, bytes));
	else
		cli_printf(cli, "activations: not known beforehand (a shape depends on contents, or the "
				"backend does not say)\n");
	return 0;
}

static int run_session(struct session *session, const char *path)
{
	struct cli *cli = session->cli;
	struct strata_engine_model_conf conf = { 0 };
	int rc = read_budget(session, path, &conf.budget_bytes);

	if (rc == 0)
		rc = engine_trace_start(cli, session->options->trace, session->engine, &session->trace);
	if (rc == 0)
		rc = strata_engine_open(session->engine, path, &conf, &session->model, &cli->err);
	if (rc == 0)
		rc = prepare_inputs(session);
	if (rc == 0)
		rc = announce(session);
	if (rc == 0)
		rc = run_calls(session);
	if (rc == 0)
		rc = write_outputs(session);
	if (rc == 0)
		rc = engine_trace_write(cli, &session->trace);
	if (rc == 0)
		rc = cli->globals.json ? print_json(session) : print_table(session);
	drop_outputs(session);
	for (size_t i = 0; session->inputs && i < session->input_count; i++)
		strata_array_drop(&session->inputs[i]);
	strata_engine_close(session->model);
	return rc ? rc : engine_keep(cli, session->engine, session->options->experience);
}

int engine_run_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct engine_run_options *options = conf;
	struct session session = { .cli = cli, .options = options };
	const struct strata_engine_conf engine = { .devices = options->devices,
						   .backend = options->backend,
						   .experimental = options->experimental,
						   .mode = (enum strata_mode)options->mode,
						   .objective =
							   (enum strata_objective)options->objective };
	int rc = engine_open(cli, &engine, options->experience, &session.engine);

	(void)operand_count;
	if (rc)
		return rc;
	rc = run_session(&session, operands[0]);
	strata_engine_free(session.engine);
	engine_trace_end(&session.trace);
	return rc;
}
