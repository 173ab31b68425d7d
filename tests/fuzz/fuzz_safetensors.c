/* Headers of safetensors files, as they are, and indices of several: what is believed must add up. */
#include "formats/tensor_layers.h"

#include <strata/safetensors.h>

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct strata_safetensors *file, int64_t file_bytes,
		  struct strata_arena *arena)
{
	const char **names = strata_arena_array(arena, file->tensor_count, sizeof(*names));
	struct tensor_layer *layers;
	struct strata_error err;
	size_t layer_count, members = 0;
	int64_t end = file->tensor_count ? file->tensors[0].offset : file_bytes;

	for (size_t i = 0; names && i < file->tensor_count; i++) {
		assert(file->tensors[i].offset == end && file->tensors[i].bytes >= 0);
		end += file->tensors[i].bytes;
		names[i] = file->tensors[i].name;
	}
	assert(!names || end == file_bytes);
	if (names && tensor_layers_make(names, file->tensor_count, "a.*, *.b", arena, &layers,
					&layer_count, &err) == 0) {
		for (size_t i = 0; i < layer_count; i++)
			members += layers[i].member_count;
		assert(members == file->tensor_count);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_safetensors_index indices;
	struct strata_safetensors file;
	struct strata_arena arena;
	struct strata_error err = { 0 };
	size_t header;

	strata_arena_init(&arena, &memory, 0);
	if (size >= 8 && strata_safetensors_begin(data, (int64_t)size, &header, &err) == 0) {
		if (strata_safetensors_read((const char *)data + 8, header, (int64_t)size, &arena,
					    &file, &err))
			assert(err.text[0]);
		else
			check(&file, (int64_t)size, &arena);
	}
	if (strata_safetensors_read_index((const char *)data, size, &arena, &indices, &err) == 0)
		for (size_t i = 0; i < indices.tensor_count; i++)
			assert(indices.file[i] < indices.file_count);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
