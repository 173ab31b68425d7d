/* A job that is new, from what it was asked for with. Pure. */
#ifndef SERVER_JOB_MAKE_H
#define SERVER_JOB_MAKE_H

#include "formats/job_spec.h"
#include "server/job.h"

/* What the request says of it; texts are the spec's. Who submitted it, when and as which number is
 * the caller's to add. */
void job_make(const struct job_spec *spec, const struct strata_job_request *request,
	      struct job *ret_job);
/* ["python3","train.py"]; malloc's. NULL: no memory. */
char *job_make_command(const struct job_spec *spec);

#endif
