/* What S3 answers: whatever it is, texts end, and are no longer than their limit. */
#include "s3/s3_xml.h"

#include <strata/limits.h>

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *context, const char *parent, const char *name, const char *text)
{
	(void)context;
	assert(strlen(parent) < 64 && strlen(name) < 64 && *name);
	assert(strlen(text) <= STRATA_S3_XML_TEXT_BYTES_MAX);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_error err = { 0 };
	int rc = s3_xml_walk((const char *)data, size, look, NULL, &err);

	assert((rc == 0) == (err.code == 0));
	return 0;
}
