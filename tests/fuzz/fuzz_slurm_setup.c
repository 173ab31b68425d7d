/* Hosts of a cluster that is to be set up: what is taken becomes files whose lines are those that were meant. */
#include "slurm/slurm_setup.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 4 << 20 };
	struct slurm_setup setup = { .cluster = "lab", .controller = "a" };
	struct strata_arena arena;
	struct strata_error err;
	struct buf buf;
	char *text = malloc(size + 1);

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	if (slurm_setup_read(text, &arena, &setup, &err)) {
		assert(err.code < 0 && err.text[0] && setup.group_count == 0);
	} else {
		size_t with_gpus = 0;

		for (size_t i = 0; i < setup.group_count; i++)
			with_gpus += setup.groups[i].gpus > 0;
		slurm_setup_gres_conf(&setup, &buf);
		assert(buf.failed || lines(buf.text) == 1 + with_gpus);
	}
	buf_fini(&buf);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	free(text);
	return 0;
}
