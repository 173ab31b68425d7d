/* Sizes and rates: whatever is read is not negative, prints, and is read back as the same value.
 * The first byte picks the unit of a bare number and the flags. */
#include <strata/text.h>

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_size(const char *text, size_t length, int64_t unit, unsigned flags)
{
	char printed[STRATA_FORM_BYTES];
	struct strata_error err;
	int64_t bytes = -7, back = -7;
	int rc = strata_size_parse(text, length, unit, flags, &bytes, &err);

	if (rc != 0) {
		assert(bytes == -7 && err.code == rc && err.text[0]);
		return;
	}
	assert(bytes >= 0);
	strata_size_print(bytes, printed);
	assert(strata_size_parse(printed, STRATA_TEXT_NUL, 1, 0, &back, &err) == 0 &&
	       back == bytes);
	strata_size_print_short(bytes, printed);
}

static void check_rate(const char *text, size_t length)
{
	char printed[STRATA_FORM_BYTES];
	struct strata_error err;
	int64_t rate = -7, back = -7;
	int rc = strata_rate_parse(text, length, &rate, &err);

	if (rc != 0) {
		assert(rate == -7 && err.code == rc && err.text[0]);
		return;
	}
	assert(rate >= 0);
	strata_rate_print(rate, printed);
	assert(strata_rate_parse(printed, STRATA_TEXT_NUL, &back, &err) == 0 && back == rate);
	strata_rate_print_short(rate, printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t units[] = { 0, 1, 1 << 20, INT64_MAX };

	if (size == 0)
		return 0;
	check_size((const char *)data + 1, size - 1, units[data[0] % 4],
		   data[0] & 4 ? STRATA_SIZE_BINARY : 0);
	check_rate((const char *)data + 1, size - 1);
	return 0;
}
