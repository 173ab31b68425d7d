/*
 * A growing text. Failure is sticky: append as you like and ask once at the end (`failed`).
 * The text is always NUL-terminated and never NULL.
 */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdarg.h>

struct buf {
	struct strata_memory *memory; /* borrowed until buf_fini */
	char *text;                   /* owned; NUL-terminated */
	size_t length;                /* without the NUL */
	size_t room_bytes;  /* size of the block; 0 while text is the shared empty string */
	size_t limit_bytes; /* longest text; 0: no limit of its own */
	bool failed;        /* an append did not fit: the text ends before it */
};

void buf_init(struct buf *buf, struct strata_memory *memory, size_t limit_bytes);
void buf_fini(struct buf *buf);
/* Empty again, failure forgotten, the block kept. */
void buf_reset(struct buf *buf);

void buf_add(struct buf *buf, const char *text);
void buf_add_bytes(struct buf *buf, const char *bytes, size_t count);
void buf_add_char(struct buf *buf, char c);
/* count times the character: padding and rules. */
void buf_add_repeat(struct buf *buf, char c, size_t count);
/* As one word of a shell: in quotes, with those in it escaped. */
void buf_add_quoted(struct buf *buf, const char *word);
/* As base64, with padding. */
void buf_add_base64(struct buf *buf, const void *bytes, size_t count);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *buf, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* 0, or -ENOMEM with the sentence when an append failed. */
int buf_check(const struct buf *buf, struct strata_error *err);

#endif
