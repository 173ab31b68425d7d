/* Forms: the boundary is the first line. What is found lies in the body, one part behind the other. */
#include "server/multipart.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data, *eol = size ? memchr(bytes, '\n', size) : NULL;
	size_t head = eol ? (size_t)(eol - bytes) : size;
	const char *body = eol ? eol + 1 : bytes + size, *last = body;
	struct strata_error err = { 0 };
	struct multipart form;
	struct multipart_part part;
	char type[300];
	int rc;

	snprintf(type, sizeof(type), "multipart/form-data; %.*s", (int)(head < 200 ? head : 200),
		 bytes ? bytes : "");
	rc = multipart_init(&form, type, body, size - (size_t)(body - bytes), &err);
	while (rc > 0 && (rc = multipart_next(&form, &part, &err)) > 0) {
		assert(part.bytes > last && part.bytes + part.length <= bytes + size);
		assert(part.name[0] && strlen(part.name) < sizeof(part.name));
		last = part.bytes;
	}
	assert(rc == 0 || err.text[0]);
	return 0;
}
