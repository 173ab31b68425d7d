/* A picture's settings in A1111's words; picture_text.h says what for. */
#include "engine/picture_text.h"

#include <strata/text.h>

#include <string.h>

/* The last part of a path, without slashes behind it. */
static const char *last_part(const char *path, size_t *ret_length)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	*ret_length = end - start;
	return path + start;
}

void engine_picture_text(const struct engine_settings *settings, struct buf *buf)
{
	char number[STRATA_FORM_BYTES];
	size_t length;
	const char *name = last_part(settings->model, &length);

	buf_add(buf, settings->prompt);
	if (settings->negative && *settings->negative)
		buf_printf(buf, "\nNegative prompt: %s", settings->negative);
	buf_printf(buf, "\nSteps: %zu, Sampler: %s", settings->steps, settings->solver);
	buf_printf(buf, ", CFG scale: %s", strata_real_print(settings->guidance, number));
	buf_printf(buf, ", Seed: %llu, Size: %ux%u, Model: %.*s",
		   (unsigned long long)settings->seed, settings->width, settings->height,
		   (int)length, name);
	if (settings->has_strength)
		buf_printf(buf, ", Denoising strength: %s",
			   strata_real_print(settings->strength, number));
	if (settings->quality)
		buf_printf(buf, ", Quality: %s", settings->quality);
	buf_add(buf, ", Version: strata " STRATA_VERSION);
}
