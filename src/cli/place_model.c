/* Models and machines for the commands about placing: files of every form that is known, devices
 * from a file or found here. */
#include "cli/place_model.h"

#include "core/env.h"
#include "sim/input.h"

#include <strata/detector.h>
#include <strata/limits.h>
#include <strata/onnx.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* By what a file begins with: graphs in text begin with a letter, a digit, a brace or a blank; ONNX
 * with the tag of its first field. */
static bool is_onnx(const char *path)
{
	const char *dot = strrchr(path, '.');
	FILE *file = dot && strcmp(dot, ".onnx") == 0 ? NULL : fopen(path, "rb");
	int first = file ? fgetc(file) : 0;

	if (file)
		fclose(file);
	return first != EOF && first < ' ' && !strchr("\t\r\n", first ? first : 1);
}

static bool is_onnx_bytes(const char *text, size_t length)
{
	return length > 0 && text[0] > 0 && text[0] < ' ' && !strchr("\t\r\n", text[0]);
}

/* Dimensions that were not given count as 1, so that there is something to plan with, and are
 * named. */
static int make_dims(struct cli *cli, const struct strata_map *dims,
		     struct strata_onnx_dim **ret_list)
{
	const int64_t *values = dims->items;
	struct strata_onnx_dim *list =
		strata_arena_array(&cli->arena, dims->count + 1, sizeof(*list));

	if (!list)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < dims->count; i++)
		list[i] = (struct strata_onnx_dim){ dims->keys[i], values[i] };
	list[dims->count] = (struct strata_onnx_dim){ "*", 1 };
	*ret_list = list;
	return 0;
}

/* What was read without them goes; it is read again with all of them. */
static int keep_open_dims(struct cli *cli, const struct strata_onnx_metrics *metrics,
			  struct place_model *model)
{
	strata_graph_free(model->graph);
	model->graph = NULL;
	model->open_dims = strata_arena_text(&cli->arena, metrics->dims, strlen(metrics->dims));
	return model->open_dims ? 0 : strata_fail_memory(&cli->err);
}

static int open_onnx(struct cli *cli, const char *path, const struct strata_map *dims,
		     struct place_model *model)
{
	struct strata_onnx_dim *list;
	struct strata_onnx_metrics metrics;
	int rc = make_dims(cli, dims, &list);

	if (rc == 0)
		rc = strata_onnx_open(path, list, dims->count, &cli->memory, &model->graph,
				      &metrics, &cli->err);
	if (rc || !metrics.dim_count || metrics.shaped_count == metrics.output_count)
		return rc;
	rc = keep_open_dims(cli, &metrics, model);
	return rc ? rc : strata_onnx_open(path, list, dims->count + 1, &cli->memory, &model->graph, NULL,
				&cli->err);
}

/* What is wrong, and with which file. */
static int name_file(struct cli *cli, const char *path, int rc)
{
	struct strata_error why = cli->err;

	return rc == 0 || rc == -ENOMEM
		       ? rc
		       : strata_fail_at(&cli->err, rc, why.field, "%.200s: %s", path, why.text);
}

/* A model that comes by standard input; its weights count as there, wherever they are. */
static int read_onnx(struct cli *cli, const char *text, size_t length,
		     const struct strata_map *dims, struct place_model *model)
{
	struct strata_onnx_dim *list;
	struct strata_onnx_metrics metrics;
	int rc = make_dims(cli, dims, &list);

	if (rc == 0)
		rc = strata_onnx_read(text, length, "model.onnx", list, dims->count, &cli->memory,
				      &model->graph, &metrics, &cli->err);
	if (rc || !metrics.dim_count || metrics.shaped_count == metrics.output_count)
		return rc;
	rc = keep_open_dims(cli, &metrics, model);
	return rc ? rc
		  : strata_onnx_read(text, length, "model.onnx", list, dims->count + 1,
				     &cli->memory, &model->graph, NULL, &cli->err);
}

static int open_graph(struct cli *cli, const char *path, const struct strata_map *dims,
		      struct place_model *model)
{
	const char *text;
	size_t length;
	bool from_stdin = strcmp(path, "-") == 0;
	int rc = input_read(env_system(), path,
			    from_stdin ? STRATA_STUDY_FILE_BYTES_MAX : STRATA_JSON_BYTES_MAX,
			    &cli->arena, &text, &length, &cli->err);

	if (rc == 0 && from_stdin && is_onnx_bytes(text, length))
		return read_onnx(cli, text, length, dims, model);
	if (rc == 0)
		rc = name_file(
			cli, path,
			graph_file_read(text, length, path, &cli->arena, &model->file, &cli->err));
	if (rc)
		return rc;
	const struct graph_case *one = &model->file.cases[0];

	model->graph = one->graph;
	model->machine = one->machine;
	model->objective = one->objective;
	model->fixed_order = one->fixed_order;
	return 0;
}

int place_model_open(struct cli *cli, const char *path, const struct strata_map *dims,
		     struct place_model *ret_model)
{
	struct place_model model = { .name = path, .workload = "other" };
	int rc = strcmp(path, "-") != 0 && is_onnx(path)
			 ? open_onnx(cli, path, dims, &model) 
				      : open_graph(cli, path, dims, &model);

	if (rc == 0)
		*ret_model = model;
	return rc;
}

void place_model_note(const struct cli *cli, const struct place_model *model)
{
	if (model->open_dims)
		cli_note(cli, "dimensions without a value count as 1: %s; give them with --dim",
			 model->open_dims);
}

int place_model_detect(struct cli *cli, struct place_model *model)
{
	struct strata_registry *registry;
	struct strata_findings findings;
	int rc = cli_registry_open(cli, &strata_detector_kind, &registry);

	if (rc)
		return rc;
	rc = strata_graph_detect(model->graph, registry, &cli->arena, &findings, &cli->err);
	strata_registry_free(registry);
	if (rc)
		return rc;
	model->workload = strata_workload_name(findings.workload);
	model->why = findings.why;
	return 0;
}

void place_model_close(struct place_model *model)
{
	if (model->file.count)
		graph_file_fini(&model->file);
	else
		strata_graph_free(model->graph);
}

int place_machine_open(struct cli *cli, const char *devices, struct strata_machine *ret_machine)
{
	const char *text;
	size_t length;

	if (strcmp(devices, "detect") == 0) {
		struct strata_error note;
		size_t guessed;

		return cli_devices(cli, ret_machine, &note, &guessed);
	}
	int rc = input_read(env_system(), devices, STRATA_JSON_BYTES_MAX, &cli->arena, &text,
			    &length, &cli->err);

	return rc ? rc
		  : name_file(
			    cli, devices,
			    graph_devices_read(text, length, &cli->arena, ret_machine, &cli->err));
}
