/* What service accounts have used. */
#include "test.h"

#include "pods/pods_usage.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double hours_of(const struct pods_usage *usage, const char *user)
{
	const struct pods_used *used = map_text_get(&usage->users, user, strlen(user));

	return used ? used->gpu_hours : 0;
}

TEST(usage_halves_in_a_half_life_and_is_forgotten_at_last)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct pods_usage usage;

	pods_usage_init(&usage, &memory, STRATA_HOUR_NS);
	pods_usage_fade(&usage, STRATA_HOUR_NS);
	CHECK_OK(pods_usage_charge(&usage, "a/b", 8, &err));
	pods_usage_fade(&usage, 3 * STRATA_HOUR_NS);
	CHECK_NEAR(hours_of(&usage, "a/b"), 2, 1e-9);
	pods_usage_fade(&usage, STRATA_HOUR_NS);
	CHECK_NEAR(hours_of(&usage, "a/b"), 2, 1e-9);
	pods_usage_fade(&usage, 100 * STRATA_HOUR_NS);
	CHECK_INT(usage.users.count, 0);
	pods_usage_fini(&usage);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_written_is_read_back)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct pods_usage usage, again;

	pods_usage_init(&usage, &memory, STRATA_HOUR_NS);
	pods_usage_init(&again, &memory, STRATA_HOUR_NS);
	pods_usage_fade(&usage, STRATA_DAY_NS);
	CHECK_OK(pods_usage_charge(&usage, "a/\"b", 1.25, &err));
	CHECK_OK(pods_usage_charge(&usage, "c/d", 1e9, &err));
	CHECK_OK(pods_usage_charge(&again, "gone/gone", 1, &err));
	char *text = pods_usage_write(&usage);

	CHECK_TEXT(text, "{\"at\":\"1970-01-02T00:00:00Z\",\"gpu_hours\":{\"a/\\\"b\":1.25,\"c/d\":"
			 "1000000000.0}}");
	CHECK_OK(pods_usage_read(&again, text, &err));
	CHECK_NEAR(hours_of(&again, "a/\"b"), 1.25, 0);
	CHECK_INT(again.users.count, 2);
	CHECK_INT(again.at_ns, STRATA_DAY_NS);
	free(text);
	pods_usage_fini(&usage);
	pods_usage_fini(&again);
}

TEST(what_is_something_else_is_refused_and_changes_nothing)
{
	static const char *const cases[] = {
		"",
		"[]",
		"{}",
		"{\"at\":\"soon\",\"gpu_hours\":{}}",
		"{\"at\":\"2026-01-01T00:00:00Z\"}",
		"{\"at\":\"2026-01-01T00:00:00Z\",\"gpu_hours\":{\"a\":-1}}",
		"{\"at\":\"2026-01-01T00:00:00Z\",\"gpu_hours\":{\"a\":\"1\"}}",
		"{\"at\":\"2026-01-01T00:00:00Z\",\"gpu_hours\":{\"a\":1e300}}",
	};
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct pods_usage usage;

	pods_usage_init(&usage, &memory, STRATA_HOUR_NS);
	CHECK_OK(pods_usage_charge(&usage, "a", 1, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(pods_usage_read(&usage, cases[i], &err), -EINVAL, "the usage is not");
	CHECK_NEAR(hours_of(&usage, "a"), 1, 0);
	pods_usage_fini(&usage);
}
