/* A safetensors file made up for a test. */
#ifndef TESTS_WEIGHTS_SAMPLE_H
#define TESTS_WEIGHTS_SAMPLE_H

#include "random.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes layers "blocks.I.weight" of these many bytes, filled from the seed, into the file. */
static inline void weights_write(const char *path, const int64_t *bytes, size_t count,
				 uint64_t seed)
{
	char header[1 << 16];
	size_t length = 0;
	int64_t offset = 0;
	FILE *file = fopen(path, "wb");

	CHECK(file);
	length += (size_t)snprintf(header, sizeof(header), "{\"__metadata__\":{\"format\":\"pt\"}");
	for (size_t i = 0; i < count; offset += bytes[i++])
		length += (size_t)snprintf(
			header + length, sizeof(header) - length,
			",\"blocks.%zu.weight\":{\"dtype\":\"U8\",\"shape\":[%" PRId64
			"],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}",
			i, bytes[i], offset, offset + bytes[i]);
	length += (size_t)snprintf(header + length, sizeof(header) - length, "}");
	CHECK(length < sizeof(header) - 1);
	for (int i = 0; i < 8; i++)
		fputc((int)((uint64_t)length >> 8 * i & 255), file);
	fwrite(header, 1, length, file);
	for (int64_t left = offset; left > 0;) {
		uint64_t block[512];
		size_t some = left < (int64_t)sizeof(block) ? (size_t)left : sizeof(block);

		for (size_t i = 0; i < 512; i++)
			block[i] = random_next(&seed);
		fwrite(block, 1, some, file);
		left -= (int64_t)some;
	}
	CHECK(fclose(file) == 0);
}

#endif
