/* Elements of SVG and the bytes they are made of. Part of svg.c. */
#ifndef PLOT_SVG_MARK_H
#define PLOT_SVG_MARK_H

#include "core/buf.h"

/* What a document of this size begins with: styles and the background. */
void svg_add_head(struct buf *buf, int width, int height);

/* A coordinate with one decimal, none when it is whole. */
void svg_add_px(struct buf *buf, double px);
/* A blank and name="coordinate". */
void svg_add_attribute(struct buf *buf, const char *name, double px);
/* Text between tags: what XML reserves is escaped, what it forbids becomes a question mark. */
void svg_add_escaped(struct buf *buf, const char *text);
/* A line of text; anchor is "start", "middle" or "end". */
void svg_add_text(struct buf *buf, const char *class, const char *anchor, double x, double y,
		  const char *text);
void svg_add_line(struct buf *buf, const char *class, double x1, double y1, double x2, double y2);
/* The attributes of a rectangle. */
void svg_add_rect(struct buf *buf, double x, double y, double width, double height);

/* About how wide a text is, in pixels. */
double svg_wide(const char *text);

#endif
