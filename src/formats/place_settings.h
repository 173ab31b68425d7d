/*
 * Settings of the place level as a file: a profile, and what of its features is switched on or off. `strata place wizard` writes them, `strata place
 * --settings` reads them with all of its other options. The first line says who wrote it, so that a file of somebody else is not written over.
 */
#ifndef FORMATS_PLACE_SETTINGS_H
#define FORMATS_PLACE_SETTINGS_H

#include "core/buf.h"

#include <strata/adaptive.h>

/* features: 1 << enum strata_feature. Failure is the buffer's. */
void place_settings_print(const struct strata_profile *profile, unsigned features,
			  struct buf *ret_text);
/* Whether such a file has this text. */
bool place_settings_ours(const char *text, size_t length);

#endif
