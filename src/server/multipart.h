/*
 * multipart/form-data (RFC 7578): what browsers and curl -F send, cut into its parts. The body is
 * there as a whole; parts point into it. Pure: it is given bytes and says what they mean.
 */
#ifndef SERVER_MULTIPART_H
#define SERVER_MULTIPART_H

#include <strata/error.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	MULTIPART_BOUNDARY_BYTES = 71, /* with the NUL: RFC 2046 has 70 at most */
	MULTIPART_NAME_BYTES = 64,
	MULTIPART_PARTS_MAX = 64,
};

struct multipart {
	char boundary[MULTIPART_BOUNDARY_BYTES];
	const char *at, *end; /* what is left of the body */
	size_t count;         /* parts so far */
};

struct multipart_part {
	char name[MULTIPART_NAME_BYTES]; /* of the field */
	const char *bytes;               /* in the body */
	size_t length;
};

/* Is a body of this Content-Type one? NULL is none. -EBADMSG: it should be, and has no good
 * boundary. 0: it is not; 1: it is, and can be walked. The body is borrowed. */
int multipart_init(struct multipart *multipart, const char *type, const char *body, size_t length,
		   struct strata_error *err);
/* 1: the next part; 0: there is none; -EBADMSG, -E2BIG: what is wrong with it. */
int multipart_next(struct multipart *multipart, struct multipart_part *ret_part,
		   struct strata_error *err);

#endif
