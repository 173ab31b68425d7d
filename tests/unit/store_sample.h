/* Rows for tests of the store, and what a walk found. */
#ifndef STORE_SAMPLE_H
#define STORE_SAMPLE_H

#include "store/store.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct sample_job {
	struct store_job row;
	char uuid[40];
};

/* A job that could be, with this id. Its row stays valid as long as *sample. */
static inline const struct store_job *sample_job(struct sample_job *sample, int64_t id)
{
	snprintf(sample->uuid, sizeof(sample->uuid), "01890000-0000-7000-8000-%012" PRIx64,
		 (uint64_t)id & 0xFFFFFFFFFFFF);
	sample->row = (struct store_job){
		.id = id,
		.uuid = sample->uuid,
		.user = "ada",
		.uid = 1000,
		.gid = 1000,
		.account = "vision",
		.name = "train",
		.state = "queued",
		.gpu_count = 8,
		.cpu_cores = 64,
		.memory_bytes = INT64_C(512) << 30,
		.command = "[\"python3\",\"train.py\"]",
		.working_dir = "/home/ada/run",
		.created_ns = id * 1000,
		.spec = "{}",
	};
	return &sample->row;
}

static inline int sample_put_job(struct store *store, int64_t id, uint64_t epoch,
				 struct strata_error *err)
{
	struct sample_job sample;
	struct store_change change = STORE_PUT(sample_job(&sample, id));

	return store_apply(store, &change, 1, epoch, err);
}

/* The ids of jobs, or sequence numbers of events, of a walk. */
struct sample_ids {
	int64_t ids[4096];
	size_t count;
};

static inline int sample_take_id(void *context, const void *row, struct strata_error *err)
{
	struct sample_ids *found = context;

	(void)err;
	CHECK(found->count < 4096);
	found->ids[found->count++] = *(const int64_t *)row; /* the first field of both */
	return 0;
}

#endif
