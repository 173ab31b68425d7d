/* PNG files: what is read can be written, and is the same when read again; a look at a file says the same as
 * reading it. */
#include "engine/png.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 256 << 20 };
	struct engine_picture picture, again;
	struct strata_error err = { 0 };
	struct strata_arena arena;
	uint32_t width, height;
	struct buf buf;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	int looked = engine_png_check(data, size, UINT64_MAX, &memory, &width, &height, &err);
	int rc = engine_png_read(data, size, &arena, &picture, &err);

	assert(rc == looked || rc == -ENOMEM);
	if (rc == 0)
		assert(picture.width == width && picture.height == height);
	if (rc) {
		assert(err.text[0]);
	} else if ((size_t)picture.width * picture.height < 1 << 20) {
		picture.parameters = NULL;
		if (engine_png_write(&buf, &picture, &err) == 0 &&
		    engine_png_read(buf.text, buf.length, &arena, &again, &err) == 0)
			assert(memcmp(picture.rgb, again.rgb,
				      (size_t)picture.width * picture.height * 3) == 0);
	}
	buf_fini(&buf);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
