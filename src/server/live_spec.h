/*
 * What live jobs were submitted with: typed, for who starts them, and as the JSON that the store
 * keeps. The jobs of one submission share it, however many elements its array has, and so do
 * submissions that follow each other and ask for the same. The decider's.
 */
#ifndef SERVER_LIVE_SPEC_H
#define SERVER_LIVE_SPEC_H

#include "formats/job_spec.h"
#include "server/job.h"

/* An array as its elements need it: read once, since that costs as much as it has elements. */
struct live_array {
	uint32_t count; /* 0: it is none */
	uint32_t min, max, step;
	uint32_t limit; /* elements at a time; 0: any */
};

struct live_spec {
	size_t refs;
	struct job_spec spec;         /* without script and environment, which are blobs */
	bool asked_tasks, asked_cpus; /* the request names tasks, cpus_per_task */
	enum job_hold held;           /* as submitted */
	struct live_array array;      /* what the text spec.array says */
	const char *text;             /* the JSON, held as submitted */
	const char *rest;             /* what in it does not say who holds it: `"name":"x"}` */
};

/* From what was read and the JSON it was read from, which loses "hold" and "held_by". One
 * reference. NULL: no memory. */
struct live_spec *live_spec_new(const struct job_spec *spec, json_t *json);
/* From what the store has. -EINVAL: it is not what a job can be. */
int live_spec_restore(const char *text, struct live_spec **ret_spec, struct strata_error *err);
struct live_spec *live_spec_ref(struct live_spec *spec);
/* Two that are alike are one: gives back the reference to `spec` and returns one to `before`, which
 * may be NULL. Else `spec`. */
struct live_spec *live_spec_merge(struct live_spec *before, struct live_spec *spec);
void live_spec_unref(struct live_spec *spec); /* NULL is nothing */

/* The JSON of a job that somebody else holds, or nobody; malloc's. NULL: no memory. */
char *live_spec_text(const struct live_spec *spec, enum job_hold held);

#endif
