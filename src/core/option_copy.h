/* A copy of a conf that stands by itself. */
#ifndef CORE_OPTION_COPY_H
#define CORE_OPTION_COPY_H

#include <strata/option.h>

/* What the copy takes, everything that the conf points to included; a multiple of 16. 0 for a schema without options. */
size_t option_copy_bytes(const struct strata_schema *schema, const void *conf);

/* Fills a block of so many bytes, aligned to 16. The conf is at its beginning. */
void option_copy(const struct strata_schema *schema, const void *conf, void *ret_block);

#endif
