/* Quantities: whatever the text, a number that is not negative, or none. */
#include "kubernetes/kube_quantity.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	int64_t one = -1, thousand = -1;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (kube_quantity_read(text, 1, &one))
		assert(one >= 0);
	if (kube_quantity_read(text, 1000, &thousand))
		assert(thousand >= 0 && (one == -1 || thousand / 1000 <= one));
	return 0;
}
