/*
 * A loop over a model on a virtual clock: calls the hooks of a stage run as a training or sampling loop would and does what they make due, in no
 * time but that of one channel and of computing.
 */
#ifndef SIM_STAGING_H
#define SIM_STAGING_H

#include <strata/stage.h>

/* One entry that a hook made due. */
struct staging_event {
	uint64_t step; /* from 0 */
	enum strata_stage_hook hook;
	uint32_t layer; /* of the hook; UINT32_MAX: the step's own */
	const struct strata_stage_entry *entry;
	struct strata_stage_span span; /* of reading or computing */
	bool surprise;
};

struct staging_conf {
	const struct strata_stage_model *model; /* its order is what the loop does */
	struct strata_stage_run *run;
	int64_t page_bytes, bytes_per_s;
	uint64_t steps;                                                 /* at least 1 */
	void (*tell)(void *context, const struct staging_event *event); /* may be NULL */
	void *context;
};

struct staging_result {
	double first_ns, step_ns; /* of the first step, and of one of the second half of them */
	double wait_ns;           /* of that, for pages */
	double bytes_per_step;    /* likewise */
	int64_t peak_bytes;
	uint64_t surprises;
};

int staging_run(const struct staging_conf *conf, struct strata_arena *arena,
		struct staging_result *ret_result, struct strata_error *err);

#endif
