/* Pictures to start from: see init_image.h. */
#include "server/init_image.h"

#include "engine/png.h"
#include "server/front.h"
#include "server/results.h"

#include <strata/limits.h>

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

int init_image_read(struct request *request, const void *bytes, size_t length,
		    struct init_image *ret_image, struct strata_error *err)
{
	struct init_image image = { .bytes = bytes, .length = length };
	struct strata_error why = { 0 };

	if (length > STRATA_INIT_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the picture has %zu bytes; expected at most %d",
				   length, STRATA_INIT_BYTES_MAX);
	int rc = engine_png_check(bytes, length, STRATA_INIT_PIXELS_MAX, &request->memory,
				  &image.width, &image.height, &why);

	if (rc)
		return strata_fail(err, rc, "the picture to start from: %s", why.text);
	*ret_image = image;
	return 0;
}

int init_image_keep(struct request *request, struct init_image *image, struct strata_error *err)
{
	if (!image->bytes)
		return 0;
	return results_put(request->front->conf->state_dir, image->bytes, image->length,
			   image->hash, err);
}

int init_image_read_text(struct request *request, const char *text, struct init_image *ret_image,
			 struct strata_error *err)
{
	static const char prefix[] = "data:", mark[] = ";base64,";
	const char *begin = text, *end = NULL;

	if (strncasecmp(text, prefix, sizeof(prefix) - 1) == 0) {
		begin = strstr(text, mark);
		if (!begin)
			return strata_fail(err, -EBADMSG,
					   "the picture is a data: URL without \";base64,\"");
		begin += sizeof(mark) - 1;
	}
	size_t length = strlen(begin), room = length / 4 * 3 + 3, count = 0;
	unsigned char *bytes = strata_arena_get(&request->arena, room);

	if (!bytes)
		return strata_fail_memory(err);
	if (sodium_base642bin(bytes, room, begin, length, "\r\n ", &count, &end,
			      sodium_base64_VARIANT_ORIGINAL) ||
	    end != begin + length || count == 0)
		return strata_fail(err, -EBADMSG, "the picture is not base64 of a PNG file");
	return init_image_read(request, bytes, count, ret_image, err);
}
