/*
 * UUIDs of version 7 (RFC 9562): the time in front, chance behind, so that they sort by when they
 * were made and an index over them grows at its end.
 */
#ifndef STORE_UUID_H
#define STORE_UUID_H

#include "core/env.h"

enum { UUID_TEXT_BYTES = 37, UUID_RANDOM_BYTES = 8 };
#define UUID_MOVES_MAX (INT64_C(1) << 47)

/* The UUID of a time, 1970 to 10889, and these random bytes. Of two times the later one's text
 * is the greater, down to a quarter of a microsecond. */
char *uuid_print(int64_t now_ns, const uint8_t random[UUID_RANDOM_BYTES],
		 char ret_text[UUID_TEXT_BYTES]);

/* One of now; the next UUID_MOVES_MAX ones, by uuid_move, are nobody else's. */
int uuid_make(const struct env *env, char ret_text[UUID_TEXT_BYTES], struct strata_error *err);

/* The one so many behind it, or before it when negative. */
char *uuid_move(const char *uuid, int64_t by, char ret_text[UUID_TEXT_BYTES]);
/* How many is `to` behind `from`? False: no moves lead from one to the other, or one of them is no
 * UUID. */
bool uuid_distance(const char *from, const char *to, int64_t *ret_by);

#endif
