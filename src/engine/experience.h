/*
 * Experience: what was learned, kept between runs in one small file. It is JSON, so that it can be read and edited; it is written as a whole, durably, or not at
 * all; a file that is damaged or of another version is an error and not believed.
 *
 *	{"strata_experience": 1, "devices": {"cpu": {"MatMul": {"slow": 0.31, "fast": 0.30, "count": 24}, …}}}
 */
#ifndef ENGINE_EXPERIENCE_H
#define ENGINE_EXPERIENCE_H

#include "engine/device.h"

#include <strata/place.h>

/* Takes what the file has of these devices into the corrections. A file that is not there is no experience. */
int engine_experience_load(const char *path, const struct engine_device *devices,
			   size_t device_count, struct strata_corrections *corrections,
			   struct strata_error *err);
/* Writes what the corrections have; what the file has of other devices stays. */
int engine_experience_save(const char *path, const struct engine_device *devices,
			   size_t device_count, const struct strata_corrections *corrections,
			   struct strata_error *err);

#endif
