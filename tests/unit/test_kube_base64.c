/* Base64 as in objects of Kubernetes. */
#include "test.h"

#include "kubernetes/kube_base64.h"

#include <string.h>

TEST(bytes_come_back_whatever_their_count)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "Zg==", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9v\nYg==\n", "foob" },
		{ "+/+/", "\xfb\xff\xbf" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char bytes[32] = "";
		size_t count = 99;

		CHECK(kube_base64_read(cases[i][0], strlen(cases[i][0]), bytes, &count));
		CHECK_INT(count, strlen(cases[i][1]));
		CHECK_BYTES(bytes, cases[i][1], count);
	}
}

TEST(what_is_none_is_refused)
{
	static const char *const bad[] = { "Z",    "Zg",       "Zg=",  "Zg===",
					   "Z===", "Zg==Zg==", "Zm9 ", "Zm9v!" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char bytes[32];
		size_t count = 99;

		CHECK(!kube_base64_read(bad[i], strlen(bad[i]), bytes, &count));
		CHECK_INT(count, 99);
	}
}
