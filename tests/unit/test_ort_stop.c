/* Runs that are ended by a flag, with a library that only counts. */
#include "test.h"

#include "engine/ort_stop.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int ended[2];

static struct ort_status *count(struct ort_run_options *options)
{
	atomic_fetch_add((_Atomic int *)options, 1);
	return NULL;
}

static void wait_for(_Atomic int *number)
{
	const struct timespec pause = { 0, 1000000 };

	while (atomic_load(number) == 0)
		nanosleep(&pause, NULL);
}

TEST(a_flag_ends_its_run_and_no_other)
{
	const struct ort ort = { .set_terminate = count };
	_Atomic bool stops[2] = { false, false };
	struct ort_stop runs[2];

	for (int i = 0; i < 2; i++) {
		runs[i] = (struct ort_stop){ .ort = &ort,
					     .options = (struct ort_run_options *)&ended[i],
					     .stop = &stops[i] };
		ort_stop_begin(&runs[i]);
	}
	atomic_store(&stops[1], true);
	wait_for(&ended[1]);
	CHECK_INT(atomic_load(&ended[0]), 0);
	ort_stop_end(&runs[0]);
	atomic_store(&stops[0], true);
	atomic_store(&ended[1], 0);
	wait_for(&ended[1]); /* it was looked at again, and the one that is over was not */
	CHECK_INT(atomic_load(&ended[0]), 0);
	ort_stop_end(&runs[1]);
}

TEST(it_wakes_for_a_run_after_a_pause)
{
	const struct timespec pause = { 0, 30000000 };
	const struct ort ort = { .set_terminate = count };
	_Atomic bool stop = true;
	struct ort_stop run = { .ort = &ort,
				.options = (struct ort_run_options *)&ended[0],
				.stop = &stop };

	nanosleep(&pause, NULL); /* nothing is under way: it sleeps */
	atomic_store(&ended[0], 0);
	ort_stop_begin(&run);
	wait_for(&ended[0]);
	ort_stop_end(&run);
}
