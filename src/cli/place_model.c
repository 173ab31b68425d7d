/* Models and machines for the commands about placing: files of every form that is known, devices from a file or found here. */
#include "cli/place.h"

#include "core/env.h"
#include "sim/input.h"

#include <strata/limits.h>

#include <string.h>

int place_model_open(struct cli *cli, const char *path, const struct strata_map *dims,
		     struct place_model *ret_model)
{
	struct place_model model = { .name = path, .workload = "other" };
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	(void)dims;
	if (rc == 0)
		rc = graph_file_read(text, length, path, &cli->arena, &model.file, &cli->err);
	if (rc)
		return rc;
	const struct graph_case *one = &model.file.cases[0];

	model.graph = one->graph;
	model.machine = one->machine;
	model.objective = one->objective;
	model.fixed_order = one->fixed_order;
	*ret_model = model;
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

	return rc ? rc : graph_devices_read(text, length, &cli->arena, ret_machine, &cli->err);
}
