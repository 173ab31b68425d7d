/* What the tests of workload models share: a log from a spec, and a digest of its text. */
#ifndef TESTS_WORKLOAD_TEXT_H
#define TESTS_WORKLOAD_TEXT_H

#include "sim/workload.h"
#include "test.h"

#include <string.h>

static inline int workload_from(const char *spec_text, size_t jobs, uint64_t seed,
				struct strata_arena *arena, struct strata_swf *ret_swf,
				struct strata_error *err)
{
	struct strata_registry *registry;
	struct strata_spec spec;
	int rc = strata_registry_new(&workload_kind, arena->memory, &registry, err);

	if (rc)
		return rc;
	rc = strata_spec_read(registry, spec_text, strlen(spec_text), arena, &spec, err);
	if (rc == 0)
		rc = workload_make(&spec, jobs, seed, arena, ret_swf, err);
	strata_registry_free(registry);
	return rc;
}

static inline int workload_nodes_from(const char *spec_text, struct strata_arena *arena,
				      struct openb_node **ret_nodes, size_t *ret_count,
				      struct strata_error *err)
{
	struct strata_registry *registry;
	struct strata_spec spec;
	int rc = strata_registry_new(&workload_kind, arena->memory, &registry, err);

	if (rc)
		return rc;
	rc = strata_spec_read(registry, spec_text, strlen(spec_text), arena, &spec, err);
	if (rc == 0)
		rc = workload_nodes(&spec, arena, ret_nodes, ret_count, err);
	strata_registry_free(registry);
	return rc;
}

/* FNV-1a. */
static inline uint64_t workload_digest(const struct strata_swf *swf, struct strata_arena *arena)
{
	struct strata_error err;
	const char *text;
	size_t length;
	uint64_t digest = 0xCBF29CE484222325;

	if (strata_swf_write(swf, arena, &text, &length, &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	for (size_t i = 0; i < length; i++)
		digest = (digest ^ (unsigned char)text[i]) * 0x100000001B3;
	return digest;
}

#endif
