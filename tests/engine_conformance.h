/* One directory of conformance data, by an engine of its own: what is left in the memory afterwards was lost. */
#ifndef ENGINE_CONFORMANCE_TEST_H
#define ENGINE_CONFORMANCE_TEST_H

#include "test.h"

#include "engine/conformance.h"

static inline enum conformance conformance_of(const char *directory, struct strata_memory *memory,
					      struct strata_error *ret_why)
{
	const struct strata_engine_conf conf = { .devices = "cpu:0" };
	struct strata_engine *engine;
	enum conformance got = CONFORMANCE_REFUSED;

	if (strata_engine_new(&conf, memory, &engine, ret_why) == 0) {
		got = engine_conformance_run(engine, directory, ret_why);
		strata_engine_free(engine);
	}
	return got;
}

static inline int conformance_digest(const char *directory, const char *devices,
				     struct strata_memory *memory, uint64_t *ret_digest,
				     struct strata_error *err)
{
	const struct strata_engine_conf conf = { .devices = devices };
	struct strata_engine *engine;
	int rc = strata_engine_new(&conf, memory, &engine, err);

	if (rc)
		return rc;
	rc = engine_conformance_digest(engine, directory, ret_digest, err);
	strata_engine_free(engine);
	return rc;
}

#endif
