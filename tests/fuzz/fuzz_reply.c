/* Answers of a server, in pieces: whatever comes, all of it is taken, or it is said to be complete or broken. */
#include "client/reply.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *body;
	struct reply reply;
	size_t piece = size ? 1 + data[0] % 64 : 1, at = 0, length;

	reply_init(&reply);
	while (at < size) {
		size_t count = size - at < piece ? size - at : piece;
		size_t taken = reply_feed(&reply, text + at, count, &body, &length);

		assert(taken <= count && length <= taken);
		assert(length == 0 || (body >= text + at && body + length <= text + at + count));
		if (taken == 0) {
			assert(reply.state == REPLY_COMPLETE || reply.state == REPLY_BROKEN);
			break;
		}
		at += taken;
	}
	bool ended = reply_end(&reply);

	assert(!ended || (reply.status >= 200 && reply.status <= 999));
	return 0;
}
