/* Base64 with its padding, the standard's alphabet. */
#include "kubernetes/kube_base64.h"

#include <stdint.h>

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool kube_base64_read(const char *text, size_t length, char *bytes, size_t *ret_count)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t signs = 0, padding = 0, count = 0;

	for (size_t i = 0; i < length; i++) {
		int value = value_of(text[i]);

		if (text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=' && padding < 2) {
			padding++;
			continue;
		}
		if (value < 0 || padding)
			return false;
		signs++;
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			bytes[count++] = (char)(bits >> have);
		}
	}
	if ((signs + padding) % 4 || signs % 4 == 1)
		return false;
	*ret_count = count;
	return true;
}
