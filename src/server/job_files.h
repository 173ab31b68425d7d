/* The files that a job reads and writes: from the patterns of its request to paths. Any thread. */
#ifndef SERVER_JOB_FILES_H
#define SERVER_JOB_FILES_H

#include "formats/job_spec.h"
#include "server/job.h"

struct job_files {
	const char *directory; /* that the others are named from */
	const char *output;
	const char *error; /* NULL: where the output goes */
	const char *input; /* NULL: none */
};

/* Of a job that is on `node`, by a user with this home directory; in the arena. -ENOMEM. */
int job_files_make(const struct job *job, const struct job_spec *spec, const char *node,
		   const char *home, struct strata_arena *arena, struct job_files *ret_files,
		   struct strata_error *err);

/* Where a job that has been started writes its output, or its errors. -ENOENT: that is named after
 * a node, and which that was is not known any more. */
int job_files_output(const struct job *job, const struct job_spec *spec, bool error,
		     struct strata_arena *arena, const char **ret_path, struct strata_error *err);

#endif
