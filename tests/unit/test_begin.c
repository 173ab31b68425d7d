#include "test.h"

#include <strata/slurm.h>

#include <errno.h>
#include <string.h>

static struct strata_error err;

/* 2026-11-15T23:30:46Z, a Sunday. */
#define NOW (INT64_C(1794785446) * STRATA_SECOND_NS)

static const char *at_zone(const char *text, int32_t zone_seconds)
{
	static char printed[STRATA_FORM_BYTES];
	int64_t ns = -7;

	CHECK_OK(strata_begin_parse(text, STRATA_TEXT_NUL, NOW, zone_seconds, &ns, &err));
	return strata_time_print(ns, printed);
}

static const char *at(const char *text)
{
	return at_zone(text, 0);
}

/* What sbatch 22.05 made of each at that moment. */
TEST(times_are_those_of_sbatch)
{
	CHECK_TEXT(at("now"), "2026-11-15T23:30:46Z");
	CHECK_TEXT(at("now+1hour"), "2026-11-16T00:30:46Z");
	CHECK_TEXT(at("now+60"), "2026-11-15T23:31:46Z");
	CHECK_TEXT(at("now + 2 days"), "2026-11-17T23:30:46Z");
	CHECK_TEXT(at("now+1week"), "2026-11-22T23:30:46Z");
	CHECK_TEXT(at("now-1hour"), "2026-11-15T22:30:46Z");
	CHECK_TEXT(at("16:00"), "2026-11-16T16:00:00Z");
	CHECK_TEXT(at("4:30 pm"), "2026-11-16T16:30:00Z");
	CHECK_TEXT(at("16:00:30"), "2026-11-16T16:00:30Z");
	CHECK_TEXT(at("midnight"), "2026-11-16T00:00:00Z");
	CHECK_TEXT(at("Noon"), "2026-11-16T12:00:00Z");
	CHECK_TEXT(at("teatime"), "2026-11-16T16:00:00Z");
	CHECK_TEXT(at("today"), "2026-11-15T00:00:00Z");
	CHECK_TEXT(at("tomorrow"), "2026-11-16T00:00:00Z");
	CHECK_TEXT(at("tomorrow 16:00"), "2026-11-16T16:00:00Z");
	CHECK_TEXT(at("16:00 tomorrow"), "2026-11-16T16:00:00Z");
	CHECK_TEXT(at("noon tomorrow"), "2026-11-16T12:00:00Z");
	CHECK_TEXT(at("2027-01-20"), "2027-01-20T00:00:00Z");
	CHECK_TEXT(at("2027-01-20T12:34"), "2027-01-20T12:34:00Z");
	CHECK_TEXT(at("2027-01-20T"), "2027-01-20T00:00:00Z");
	CHECK_TEXT(at("2027-01-20 12:00"), "2027-01-20T12:00:00Z");
	CHECK_TEXT(at("010227"), "2027-01-02T00:00:00Z");
	CHECK_TEXT(at("01/02/27"), "2027-01-02T00:00:00Z");
	CHECK_TEXT(at("01.02.27"), "2027-01-02T00:00:00Z");
	CHECK_TEXT(at("01/02"), "2027-01-02T00:00:00Z");
	CHECK_TEXT(at("12/31"), "2026-12-31T00:00:00Z");
	CHECK_TEXT(at("01/02/27-16:00"), "2027-01-02T16:00:00Z");
	CHECK_TEXT(at("16:00 01/02/27"), "2027-01-02T16:00:00Z");
	CHECK_TEXT(at("uts1800000000"), "2027-01-15T08:00:00Z");
	CHECK_TEXT(at("12:30am"), "2026-11-16T00:30:00Z");
}

TEST(local_times_know_their_zone)
{
	CHECK_TEXT(at_zone("tomorrow", 3600), "2026-11-16T23:00:00Z");
	CHECK_TEXT(at_zone("11/16", 3600), "2026-11-15T23:00:00Z");
	CHECK_TEXT(at_zone("11/15", 3600), "2027-11-14T23:00:00Z");
	CHECK_TEXT(at_zone("01/02/27 16:00", -18000), "2027-01-02T21:00:00Z");
}

TEST(what_is_no_time_is_refused)
{
	static const char *const bad[] = { "",
					   "nonsense",
					   "25:00",
					   "12:60",
					   "2027-13-01",
					   "2027-1-2",
					   "1700000000",
					   "12",
					   "16pm",
					   "01/02/2027",
					   "13/01/27",
					   "00/10",
					   "tomorrow tomorrow",
					   "01/02/27x",
					   "uts",
					   "T" };
	char longer[200];
	int64_t ns = -7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(strata_begin_parse(bad[i], STRATA_TEXT_NUL, NOW, 0, &ns, &err) == -EINVAL);
	CHECK_ERROR(strata_begin_parse("nonsense", 8, NOW, 0, &ns, &err), -EINVAL, "is not a time");
	memset(longer, ' ', sizeof(longer));
	memcpy(longer + 90, "now", 3);
	CHECK(strata_begin_parse(longer, 101, NOW, 0, &ns, &err) == -EINVAL);
	CHECK(strata_begin_parse("01/02", 5, STRATA_TIME_NO_NOW, 0, &ns, &err) == -EINVAL);
	CHECK_INT(ns, -7);
}
