/*
 * A StrataJob: an object of Kubernetes that is a job of the service. What is to be done about one
 * is a pure function of the object and of the job, as far as it is known; every step may be done
 * twice without harm, so whoever dies in the middle of one goes on from what the two servers say.
 */
#ifndef STRATAJOBS_STRATAJOB_H
#define STRATAJOBS_STRATAJOB_H

#include <strata/error.h>
#include <strata/limits.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define STRATAJOB_FINALIZER "strata.io/job"
#define STRATAJOB_PATH "/apis/strata.io/v1alpha1"

enum stratajob_step {
	STRATAJOB_NOTHING,
	STRATAJOB_GUARD, /* a finalizer first: so its deletion waits for the cancellation */
	/* the job, with the object's uid as the key: however often, it is one job */
	STRATAJOB_SUBMIT,
	STRATAJOB_LOOK,    /* what has become of the job? */
	STRATAJOB_CANCEL,  /* the object is being deleted */
	STRATAJOB_RELEASE, /* nothing of it runs: the finalizer goes, and with it the object */
};
enum stratajob_step stratajob_next(const json_t *object);

/* The job's number in its status; 0: it was not submitted yet. */
int64_t stratajob_id(const json_t *object);
/* Its job has ended, or was refused. */
bool stratajob_ended(const json_t *object);

/* Bodies; the caller's. NULL: out of memory. */
json_t *stratajob_job(const json_t *object);                   /* of the submission */
json_t *stratajob_finalizers(const json_t *object, bool ours); /* a merge patch */
/* A merge patch of the status by what the service says of the job; *ret_same: that is in it
 * already. */
json_t *stratajob_status(const json_t *object, const json_t *job, bool *ret_same);
/* The same for a job that the service refused, or knows no more. */
json_t *stratajob_failed(const char *reason, const char *message);

#endif
