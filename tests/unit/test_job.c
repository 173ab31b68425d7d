#include "test.h"

#include <strata/cluster.h>

#include <string.h>

TEST(only_the_transitions_of_the_table_are_allowed)
{
	static const char *const rows[STRATA_JOB_STATE_COUNT] = {
		/* to: queued scheduled running preempted completed failed cancelled */
		[STRATA_JOB_QUEUED] = ".x...xx",    [STRATA_JOB_SCHEDULED] = "x.xxxxx",
		[STRATA_JOB_RUNNING] = "x..xxxx",   [STRATA_JOB_PREEMPTED] = "xx..xxx",
		[STRATA_JOB_COMPLETED] = ".......", [STRATA_JOB_FAILED] = ".......",
		[STRATA_JOB_CANCELLED] = ".......",
	};

	for (int from = 0; from < STRATA_JOB_STATE_COUNT; from++)
		for (int to = 0; to < STRATA_JOB_STATE_COUNT; to++)
			CHECK_INT(strata_job_may((enum strata_job_state)from,
						 (enum strata_job_state)to),
				  rows[from][to] == 'x');
	CHECK(!strata_job_may((enum strata_job_state)99, STRATA_JOB_QUEUED));
	CHECK(!strata_job_may(STRATA_JOB_QUEUED, (enum strata_job_state)99));
}

TEST(an_ended_job_stays_ended)
{
	for (int state = 0; state < STRATA_JOB_STATE_COUNT; state++) {
		bool leaves = false;

		for (int to = 0; to < STRATA_JOB_STATE_COUNT; to++)
			leaves |= strata_job_may((enum strata_job_state)state,
						 (enum strata_job_state)to);
		CHECK(leaves != strata_job_ended((enum strata_job_state)state));
	}
}

TEST(every_state_reason_and_band_has_a_name_of_its_own)
{
	for (int a = 0; a < STRATA_REASON_COUNT; a++)
		for (int b = 0; b < a; b++)
			CHECK(strcmp(strata_reason_name((enum strata_reason)a),
				     strata_reason_name((enum strata_reason)b)));
	for (int a = 1; a < STRATA_REASON_COUNT; a++)
		CHECK(*strata_reason_words((enum strata_reason)a));
	for (int a = 0; a < STRATA_JOB_STATE_COUNT; a++)
		for (int b = 0; b < a; b++)
			CHECK(strcmp(strata_job_state_name((enum strata_job_state)a),
				     strata_job_state_name((enum strata_job_state)b)));
	CHECK_TEXT(strata_job_state_name(STRATA_JOB_PREEMPTED), "preempted");
	CHECK_TEXT(strata_reason_name(STRATA_REASON_BEGIN_TIME), "begin_time");
	CHECK_TEXT(strata_band_name(STRATA_BAND_HIGH), "high");
	CHECK_TEXT(strata_job_state_name((enum strata_job_state)99), "unknown");
	CHECK_TEXT(strata_reason_name((enum strata_reason)99), "unknown");
}
