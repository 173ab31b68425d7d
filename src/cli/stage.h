/* What the commands of the stage level share. */
#ifndef CLI_STAGE_H
#define CLI_STAGE_H

#include "cli/cli.h"

#include <strata/stage.h>
#include <strata/stream.h>

/* Where a schedule comes from; the file's own layers, sizes and budget count unless these say
 * otherwise. */
struct stage_source {
	const char *layers; /* file; NULL: as the schedule says */
	int64_t budget, page, bandwidth;
};
extern const struct strata_schema stage_source_schema;

/* Reads a schedule of any form and makes a plan of it. It is verified. */
int stage_source_read(struct cli *cli, const struct stage_source *source, const char *path,
		      struct strata_stage_model *ret_model, struct strata_stage_plan *ret_plan);
/* The layers of a model, from a file as people write it. */
int stage_layers_read(struct cli *cli, const char *path, struct strata_stage_model *ret_model);

#endif
