/*
 * Experience: what was learned, kept between runs in one small file. It is JSON, so that it can be read and edited; it is written as a whole, durably, or not at
 * all; a file that is damaged or of another version is an error and not believed.
 *
 *	{"strata_experience": 1,
 *	 "devices": {"cpu": {"MatMul": {"slow": 0.31, "fast": 0.30, "count": 24}, …}},
 *	 "features": {"semantic_optimization": {"on": true, "withdrawn": false, "since": 11, "wait": 100,
 *						"with": [4, 0.1, 0.02], "without": [11, 0.2, 0.05]}, …},
 *	 "schedules": {"all": 15, "successes": 15, "failures": 0, "fallbacks": 3, "enabled": 1, "withdrawn": 0, "off_by": […]}}
 *
 * Sums are a count, a mean and squares. The last two keys are of all devices together and may be absent.
 */
#ifndef ENGINE_EXPERIENCE_H
#define ENGINE_EXPERIENCE_H

#include "engine/device.h"

#include <strata/adaptive.h>

#include <jansson.h>

/* What is filled from a file and written into one. */
struct engine_experience {
	const char *backend;                 /* what computed; times of another one say nothing */
	const struct engine_device *devices; /* whose names the file goes by: "cpu:0", "cpu:0 onnxruntime" */
	size_t device_count;
	struct strata_corrections *corrections;
	struct strata_adaptive *adaptive;
};

/* Takes what the file has of these devices and of features. A file that is not there is no experience. */
int engine_experience_load(const char *path, const struct engine_experience *experience,
			   struct strata_error *err);
/* Writes what there is; what the file has of other devices stays. */
int engine_experience_save(const char *path, const struct engine_experience *experience,
			   struct strata_error *err);
/* The file as it is, for who shows it: its version is ours and it has devices. -ENOENT where there is none. */
int engine_experience_read(const char *path, json_t **ret_object, struct strata_error *err);

#endif
