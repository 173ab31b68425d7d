#include "test.h"

#include "slurm/job_state.h"

#include <stdio.h>

static const char *status(const char *state, const char *reason)
{
	static char text[64];
	struct slurm_status found;

	slurm_status_find(state, reason, &found);
	snprintf(text, sizeof(text), "%s %s", found.state->code, found.reason);
	return text;
}

TEST(states_have_a_code_and_a_name)
{
	CHECK_TEXT(slurm_state_find("pd", 2)->name, "PENDING");
	CHECK_TEXT(slurm_state_find("Out_Of_Memory,R", 13)->code, "OOM");
	CHECK(!slurm_state_find("PEND", 4));
	CHECK(!slurm_state_find("", 0));
	size_t count = 0;

	while (slurm_state_at(count))
		count++;
	CHECK_INT(count, 24);
}

TEST(our_words_have_theirs)
{
	CHECK_TEXT(status("queued", "resources"), "PD Resources");
	CHECK_TEXT(status("queued", "gang"), "PD Resources");
	CHECK_TEXT(status("queued", "what comes later"), "PD BeginTime");
	CHECK_TEXT(status("preempted", "suspended"), "S None");
	CHECK_TEXT(status("preempted", NULL), "PD BeginTime");
	CHECK_TEXT(status("failed", "time_limit"), "TO TimeLimit");
	CHECK_TEXT(status("failed", "exit_code"), "F NonZeroExitCode");
	CHECK_TEXT(status("cancelled", "dependency_never"), "CA Dependency");
	CHECK_TEXT(status(NULL, NULL), "PD None");
	CHECK_TEXT(status("of a later version", "x"), "PD None");
}
