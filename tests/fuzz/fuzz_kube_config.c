/* A kubeconfig: whatever it is, it is read or refused, and what is read has a server that secrets may be sent to. */
#include "kubernetes/kube_config.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kube_config_from from = { 0 };
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct strata_arena arena;
	struct kube_config config;

	strata_arena_init(&arena, &memory, 0);
	int rc = kube_config_read((const char *)data, size, &from, "/d", &arena, &config, &err);

	assert((rc == 0) == (err.code == 0));
	if (rc == 0) {
		assert(strncmp(config.server, "https://", 8) == 0 ||
		       strncmp(config.server, "http://", 7) == 0);
		assert(config.space && !config.insecure);
	}
	strata_arena_fini(&arena);
	return 0;
}
