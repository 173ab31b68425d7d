/* Quantities of CPUs, bytes and devices. */
#include "test.h"

#include "kubernetes/kube_quantity.h"

TEST(quantities_are_read_exactly_and_rounded_up)
{
	static const struct {
		const char *text;
		int64_t scale, value;
	} cases[] = {
		{ "0", 1, 0 },
		{ "4", 1000, 4000 },
		{ "500m", 1000, 500 },
		{ "0.5", 1000, 500 },
		{ "1.5", 1, 2 },
		{ "1n", 1000, 1 },
		{ "0.0000000001", 1000, 1 },
		{ "100u", 1000, 1 },
		{ "1Ki", 1, 1024 },
		{ "1.5Gi", 1, INT64_C(3) << 29 },
		{ "1G", 1, 1000000000 },
		{ "1k", 1, 1000 },
		{ "1e3", 1, 1000 },
		{ "12E2", 1, 1200 },
		{ "1E", 1, 1000000000000000000 },
		{ "5e-1", 1000, 500 },
		{ "+3", 1, 3 },
		{ ".5", 1000, 500 },
		{ "7Ei", 1, INT64_C(7) << 60 },
		{ "9223372036854775807", 1, -1 }, /* 19 digits */
		{ "922337203685477580m", 1, 922337203685478 },
		{ "16374276Ki", 1, INT64_C(16374276) << 10 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = -1;

		CHECK_INT(kube_quantity_read(cases[i].text, cases[i].scale, &value),
			  cases[i].value >= 0);
		CHECK_INT(value, cases[i].value);
	}
}

TEST(what_is_none_is_refused)
{
	static const char *const bad[] = { "",    "m",   "-1",     "1 ", " 1",  "1.2.3",
					   "1x",  "1mi", "1Kib",   "1e", "1e+", "1e99",
					   "8Ei", "1ki", "1e30Ki", "." };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int64_t value = -7;

		CHECK(!kube_quantity_read(bad[i], 1, &value));
		CHECK_INT(value, -7);
	}
}
