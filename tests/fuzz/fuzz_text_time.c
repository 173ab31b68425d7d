/* Times: whatever is read lies in range, prints, and is read back as the same value; a clock alone
 * is the next of its kind. The first byte picks now and the zone. */
#include <strata/text.h>

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t nows[] = { STRATA_TIME_NO_NOW, 0, 1772368200 * STRATA_SECOND_NS,
					STRATA_TIME_NS_MAX, INT64_MAX };
	static const int32_t zones[] = { 0, 3600, -18000, 86399, -86399 };
	char text[STRATA_FORM_BYTES];
	struct strata_error err;
	int64_t ns = -7, back = -7;

	if (size == 0)
		return 0;
	int64_t now_ns = nows[data[0] % 5];
	int rc = strata_time_parse((const char *)data + 1, size - 1, now_ns, zones[data[0] / 5 % 5],
				   &ns, &err);

	if (rc != 0) {
		assert(ns == -7 && err.code == rc && err.text[0]);
		return 0;
	}
	assert(ns >= 0 && ns <= STRATA_TIME_NS_MAX);
	strata_time_print(ns, text);
	assert(strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 3600, &back, &err) ==
		       0 &&
	       back == ns);
	if (size > 2 && data[2] == ':') /* H:… */
		assert(ns > now_ns && ns <= now_ns + STRATA_DAY_NS);
	return 0;
}
