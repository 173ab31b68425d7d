/*
 * UUIDs of version 7. The twelve bits behind the milliseconds hold the fraction of the millisecond
 * (method 3 of RFC 9562, 6.2), the last 62 are random.
 */
#include "store/uuid.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last 48 bits are what is behind the last dash. */
enum { TAIL_AT = 24, TAIL_DIGITS = 12 };

char *uuid_print(int64_t now_ns, const uint8_t random[UUID_RANDOM_BYTES],
		 char ret_text[UUID_TEXT_BYTES])
{
	uint64_t ns = now_ns > 0 ? (uint64_t)now_ns : 0, low = 0;
	uint64_t ms = ns / 1000000, fraction = ns % 1000000 * 4096 / 1000000;

	for (size_t i = 0; i < UUID_RANDOM_BYTES; i++)
		low = low << 8 | random[i];
	low = (low & UINT64_MAX >> 2) | UINT64_C(2) << 62;
	snprintf(ret_text, UUID_TEXT_BYTES,
		 "%08" PRIx64 "-%04" PRIx64 "-7%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
		 ms >> 16 & 0xFFFFFFFF, ms & 0xFFFF, fraction, low >> 48,
		 low & UINT64_C(0xFFFFFFFFFFFF));
	return ret_text;
}

int uuid_make(const struct env *env, char ret_text[UUID_TEXT_BYTES], struct strata_error *err)
{
	uint8_t random[UUID_RANDOM_BYTES];
	int rc = env_random(env, random, sizeof(random), err);

	random[2] &= 0x7F; /* the highest of the last 48 bits: moves do not reach the others */
	if (rc == 0)
		uuid_print(env_now_ns(env, ENV_REALTIME), random, ret_text);
	return rc;
}

char *uuid_move(const char *uuid, int64_t by, char ret_text[UUID_TEXT_BYTES])
{
	uint64_t tail = strtoull(uuid + TAIL_AT, NULL, 16) + (uint64_t)by;

	snprintf(ret_text, UUID_TEXT_BYTES, "%.*s%012" PRIx64, TAIL_AT, uuid,
		 tail & UINT64_C(0xFFFFFFFFFFFF));
	return ret_text;
}

static bool has_tail(const char *uuid)
{
	if (strlen(uuid) != UUID_TEXT_BYTES - 1)
		return false;
	for (int i = 0; i < TAIL_DIGITS; i++)
		if (!isxdigit((unsigned char)uuid[TAIL_AT + i]))
			return false;
	return true;
}

bool uuid_distance(const char *from, const char *to, int64_t *ret_by)
{
	if (!has_tail(from) || !has_tail(to) || strncmp(from, to, TAIL_AT) != 0)
		return false;
	*ret_by = (int64_t)(strtoull(to + TAIL_AT, NULL, 16) - strtoull(from + TAIL_AT, NULL, 16));
	return true;
}
