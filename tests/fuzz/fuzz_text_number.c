/* Numbers: what is read is finite and in range, prints, and is read back to the bit; any bit
 * pattern prints and, if finite, is read back too. */
#include <strata/text.h>

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_back(double value)
{
	char text[STRATA_FORM_BYTES];
	struct strata_error err;
	double back = 7;

	strata_real_print(value, text);
	int rc = strata_real_parse(text, STRATA_TEXT_NUL, &back, &err);

	assert(isfinite(value) ? rc == 0 && memcmp(&back, &value, sizeof(value)) == 0 : rc < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct strata_error err;
	int64_t whole = -7;
	double real = -7;
	int rc = strata_int_parse(text, size, -1000000, INT64_MAX - 1, &whole, &err);

	if (rc != 0)
		assert(whole == -7 && err.code == rc && err.text[0]);
	else
		assert(whole >= -1000000 && whole < INT64_MAX);
	rc = strata_real_parse(text, size, &real, &err);
	if (rc != 0)
		assert(real == -7 && err.code == rc && err.text[0]);
	else
		check_back(real);
	if (size >= sizeof(real)) {
		memcpy(&real, data, sizeof(real));
		check_back(real);
	}
	return 0;
}
