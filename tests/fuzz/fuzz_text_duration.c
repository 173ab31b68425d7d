/* Durations: whatever is read lies in range, prints, and is read back as the same value. The first
 * byte picks the unit of a bare number and the flags. */
#include <strata/text.h>

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t units[] = { 0, 1, STRATA_SECOND_NS, STRATA_MINUTE_NS };
	char text[STRATA_FORM_BYTES];
	struct strata_error err;
	int64_t ns = -7, back = -7;

	if (size == 0)
		return 0;
	unsigned flags = data[0] & 4 ? STRATA_DURATION_UNLIMITED_OK : 0;
	int rc = strata_duration_parse((const char *)data + 1, size - 1, units[data[0] % 4], flags,
				       &ns, &err);

	if (rc != 0) {
		assert(ns == -7 && err.code == rc && err.text[0]);
		return 0;
	}
	assert(ns >= 0 &&
	       (ns <= STRATA_DURATION_NS_MAX || (flags && ns == STRATA_DURATION_UNLIMITED)));
	strata_duration_print(ns, text);
	assert(strata_duration_parse(text, STRATA_TEXT_NUL, 0, flags, &back, &err) == 0 &&
	       back == ns);
	strata_duration_print_slurm(ns, text);
	assert(strata_duration_parse(text, STRATA_TEXT_NUL, 0, flags, &back, &err) == 0);
	assert(ns == STRATA_DURATION_UNLIMITED || back == ns / STRATA_SECOND_NS * STRATA_SECOND_NS);
	strata_duration_print_short(ns, text);
	assert(ns > STRATA_DURATION_NS_MAX - STRATA_DAY_NS ||
	       strata_duration_parse(text, STRATA_TEXT_NUL, 0, flags, &back, &err) == 0);
	return 0;
}
