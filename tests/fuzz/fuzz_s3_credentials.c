/* Files of credentials: what is taken can be sent, and what is refused is not shown. */
#include "s3/s3_address.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct s3_credentials found = { 0 };
	struct strata_error err = { 0 };
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (s3_credentials_read(text, &found, &err) == 0)
		assert(*found.access_key && *found.secret_key && !strpbrk(found.secret_key, " \r\n"));
	free(text);
	return 0;
}
