/* Base64 with its padding, the standard's alphabet: libsodium's, with line breaks passed over. */
#include "kubernetes/kube_base64.h"

#include <sodium.h>

bool kube_base64_read(const char *text, size_t length, char *bytes, size_t *ret_count)
{
	const char *end = NULL;
	size_t count;

	if (sodium_base642bin((unsigned char *)bytes, length, text, length, "\r\n", &count, &end,
			      sodium_base64_VARIANT_ORIGINAL) ||
	    end != text + length)
		return false;
	*ret_count = count;
	return true;
}
