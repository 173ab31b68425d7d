/*
 * Links to pictures that need no token and expire: the path says which picture and until when, and
 * ends in a keyed hash of that. The key is made from the one in the state directory (job_token.h),
 * so links are good after a restart and no two uses share a key.
 */
#ifndef SERVER_PICTURE_LINK_H
#define SERVER_PICTURE_LINK_H

#include "server/job_token.h"

#include <stdbool.h>
#include <stdint.h>

#define PICTURE_LINK_PREFIX "/pictures/"
enum { PICTURE_LINK_BYTES = 160 };

/* "/pictures/17/0/1763445600/HASH"; the time is in seconds since 1970. */
char *picture_link_make(const unsigned char key[JOB_TOKEN_KEY_BYTES], int64_t task, int64_t number,
			int64_t expires_s, char ret_path[PICTURE_LINK_BYTES]);
/* Was a link with these parts made with this key? Whether it has expired is the caller's to ask. */
bool picture_link_read(const unsigned char key[JOB_TOKEN_KEY_BYTES], const char *const parts[4],
		       int64_t *ret_task, int64_t *ret_number, int64_t *ret_expires_s);

#endif
