/* What sbatch makes of a script, as a job of ours: the fields of formats/job_spec.h. Pure: nothing is looked up. */
#ifndef SLURM_JOB_SCRIPT_H
#define SLURM_JOB_SCRIPT_H

#include "formats/job_spec.h"

#include <strata/sbatch.h>

/* What a script's request asks for, as fields of the body: everything but the script itself. What has no field is named in ret_notes, a
 * line each. */
int job_script_add(const struct strata_sbatch *job, const struct job_caller *caller,
		   struct strata_arena *arena, json_t *body, struct buf *ret_notes,
		   struct strata_error *err);

/* The script and its arguments. */
int job_script_add_text(const char *script, size_t length, const char *name,
			const char *const *arguments, size_t argument_count, json_t *body,
			struct strata_error *err);

#endif
