/* Times to begin at: in range or refused; the first byte picks now and the zone. */
#include <strata/slurm.h>

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t nows[] = { STRATA_TIME_NO_NOW, 0, 1772368200 * STRATA_SECOND_NS,
					STRATA_TIME_NS_MAX, INT64_MAX };
	static const int32_t zones[] = { 0, 3600, -18000, 86399, -86399 };
	struct strata_error err;
	int64_t ns = -7;

	if (size == 0)
		return 0;
	int rc = strata_begin_parse((const char *)data + 1, size - 1, nows[data[0] % 5],
				    zones[data[0] / 5 % 5], &ns, &err);

	if (rc)
		assert(ns == -7 && err.code == rc && err.text[0]);
	else
		assert(ns >= 0 && ns <= STRATA_TIME_NS_MAX);
	return 0;
}
