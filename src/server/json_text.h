/* JSON that is written without a tree. */
#ifndef SERVER_JSON_TEXT_H
#define SERVER_JSON_TEXT_H

#include "core/buf.h"

#include <stdint.h>

/* A string with its quotes; the text is UTF-8. */
void json_text_add(struct buf *buf, const char *text);
void json_text_add_number(struct buf *buf, int64_t number);

#endif
