/*
 * Pictures that tasks start from. They are checked as strictly as if they were drawn with (the
 * engine's own reader, in the memory of one row), and kept like results: by content hash, durable
 * before the task is acknowledged, gone with it. HTTP threads.
 */
#ifndef SERVER_INIT_IMAGE_H
#define SERVER_INIT_IMAGE_H

#include "server/request.h"
#include "store/store.h"

struct init_image {
	const void *bytes; /* NULL: there is none; in the request's arena or body */
	size_t length;
	uint32_t width, height;
	char hash[STORE_HASH_BYTES]; /* "": it is not kept yet */
};

/* -EBADMSG, -E2BIG: why it is not taken. */
int init_image_read(struct request *request, const void *bytes, size_t length,
		    struct init_image *ret_image, struct strata_error *err);
/* The same of base64, with or without "data:image/png;base64," before it. */
int init_image_read_text(struct request *request, const char *text, struct init_image *ret_image,
			 struct strata_error *err);
/* Writes it, durably; none is nothing. When all else was good: what no task names lies about. */
int init_image_keep(struct request *request, struct init_image *image, struct strata_error *err);

#endif
