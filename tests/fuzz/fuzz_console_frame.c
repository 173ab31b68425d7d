/* Frames of a console: what was read is written as the same bytes again, and the readers of what is
 * in a frame take any. */
#include "console/console.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct console_frame frame;
	struct console_hello hello;
	struct console_size console_size;
	struct strata_error err;
	char again[CONSOLE_HELLO_BYTES];
	uint32_t count;
	size_t used;

	for (size_t at = 0; console_frame_read(bytes + at, size - at, &frame, &used, &err) > 0;
	     at += used) {
		assert(used == CONSOLE_HEAD_BYTES + frame.count && used <= size - at);
		console_frame_head(frame.type, frame.count, again);
		assert(memcmp(again, bytes + at, CONSOLE_HEAD_BYTES) == 0);
		if (console_hello_read(&frame, &hello)) {
			console_hello_write(&hello, again);
			assert(memcmp(again + 3, frame.bytes + 3, 4) == 0);
		}
		if (console_size_read(&frame, &console_size)) {
			console_size_write(console_size, again);
			assert(memcmp(again, frame.bytes, 4) == 0);
		}
		if (console_count_read(&frame, &count)) {
			console_count_write(count, again);
			assert(memcmp(again, frame.bytes, 4) == 0);
		}
	}
	return 0;
}
