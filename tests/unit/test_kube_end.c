/* How attempts end whose pods have ended. */
#include "test.h"

#include "exec/exec_kubernetes.h"

#include <string.h>

static struct kube_pod ended(int64_t exit_code, int64_t ended_s)
{
	return (struct kube_pod){ .phase = exit_code ? KUBE_FAILED : KUBE_SUCCEEDED,
				  .started = true,
				  .terminated = true,
				  .exit_code = exit_code,
				  .started_ns = STRATA_SECOND_NS,
				  .ended_ns = ended_s * STRATA_SECOND_NS,
				  .reason = "",
				  .message = "" };
}

static struct exec_status status_of(struct kube_part *parts, size_t count, int why)
{
	struct exec_status status;

	kube_status(parts, count, why, "", &status);
	return status;
}

TEST(one_pod_speaks_for_itself)
{
	static const struct {
		int64_t exit_code;
		int why;
		bool told, oom;
		int how;
		int64_t want_code, want_signal;
	} cases[] = {
		{ 0, -1, false, false, EXEC_EXITED, 0, 0 },
		{ 3, -1, false, false, EXEC_EXITED, 3, 0 },
		{ 137, -1, false, false, EXEC_EXITED, 0, 9 },
		{ 128, -1, false, false, EXEC_EXITED, 128, 0 },
		{ 192, -1, false, false, EXEC_EXITED, 0, 64 },
		{ 193, -1, false, false, EXEC_EXITED, 193, 0 },
		{ 137, -1, false, true, EXEC_MEMORY, 0, 9 },
		{ 143, EXEC_CANCELLED, true, false, EXEC_CANCELLED, 0, 15 },
		{ 0, EXEC_PREEMPTED, true, false, EXEC_PREEMPTED, 0, 0 },
		{ 0, EXEC_CANCELLED, false, false, EXEC_EXITED, 0, 0 }, /* it was quicker */
		{ 143, -1, true, false, EXEC_SHUT_DOWN, 0, 15 }, /* somebody else deleted it */
		{ 137, EXEC_TIME_LIMIT, true, false, EXEC_TIME_LIMIT, 0, 9 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kube_pod pod = ended(cases[i].exit_code, 5);
		struct kube_part part = { .pod = &pod };

		pod.deleting = cases[i].told;
		pod.out_of_memory = cases[i].oom;
		struct exec_status status = status_of(&part, 1, cases[i].why);

		CHECK_INT(status.how, cases[i].how);
		CHECK_INT(status.exit_code, cases[i].want_code);
		CHECK_INT(status.signal, cases[i].want_signal);
		CHECK_INT(status.ran_ns, 4 * STRATA_SECOND_NS);
	}
}

TEST(what_vanished_or_was_refused_is_lost)
{
	struct kube_part gone = { .gone = true };
	struct kube_pod refused = { .phase = KUBE_FAILED,
				    .reason = "OutOfcpu",
				    .message = "Node had no room" };
	struct kube_part part = { .pod = &refused };
	struct exec_status status = status_of(&gone, 1, -1);

	CHECK_INT(status.how, EXEC_LOST);
	CHECK(strstr(status.error, "gone"));
	CHECK_INT(status_of(&gone, 1, EXEC_CANCELLED).how, EXEC_CANCELLED);
	status = status_of(&part, 1, -1);
	CHECK_INT(status.how, EXEC_LOST);
	CHECK_TEXT(status.error, "Node had no room");
	status = status_of(&part, 1, EXEC_NOT_STARTED);
	CHECK_TEXT(status.error, "Node had no room");
	CHECK_INT(status.started_ns, 0);
}

TEST(of_several_the_first_that_failed_by_itself_counts)
{
	struct kube_pod one = ended(137, 9), two = ended(7, 9), three = ended(0, 3);
	struct kube_part parts[] = { { .pod = &one, .asked_ns = 1 },
				     { .pod = &two },
				     { .pod = &three } };

	CHECK_INT(status_of(parts, 3, -1).exit_code, 7);
	CHECK_INT(status_of(parts, 3, -1).how, EXEC_EXITED);
	CHECK(kube_part_over(&parts[2]) && !kube_part_failed(&parts[2]));
	two = ended(0, 9);
	parts[0].asked_ns = 0;
	CHECK_INT(status_of(parts, 3, -1).signal, 9);
}
