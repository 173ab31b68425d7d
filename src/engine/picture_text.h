/*
 * The settings of a picture as A1111 writes them into its PNG files ("parameters"), so that its users and their tools can read them. Both who draws a picture
 * at once (strata engine image) and who draws it for others (strata worker) write this text: the same request gives the same file.
 */
#ifndef ENGINE_PICTURE_TEXT_H
#define ENGINE_PICTURE_TEXT_H

#include "core/buf.h"

#include <stdint.h>

struct engine_settings {
	const char *prompt;
	const char *negative; /* NULL or "": there is none */
	const char *solver;   /* as it was asked for */
	const char *model;    /* a name, or the path of its folder, of which the last part counts */
	uint64_t seed;
	size_t steps;
	const char *quality;  /* NULL: every model call was made */
	double guidance;
	uint32_t width, height;
	bool has_strength; /* it starts from a picture */
	double strength;
};

/* Adds the text; the buf knows whether it fits. */
void engine_picture_text(const struct engine_settings *settings, struct buf *buf);

#endif
