/* What S3 answers, as far as it is needed: elements that hold text, one after the other. */
#ifndef S3_S3_XML_H
#define S3_S3_XML_H

#include <strata/error.h>

#include <stddef.h>

/* An element without others in it: its name (without a prefix), that of the one around it, and its
 * text with entities taken out; borrowed during the call. Not 0 ends the walk and is returned. */
typedef int s3_xml_visit(void *context, const char *parent, const char *name, const char *text);

/* -EBADMSG: it is not such a document, has a DOCTYPE, is deeper than STRATA_S3_XML_DEPTH_MAX, or a
 * name or text is longer than STRATA_S3_XML_TEXT_BYTES_MAX. */
int s3_xml_walk(const char *text, size_t length, s3_xml_visit *visit, void *context,
		struct strata_error *err);

#endif
