#include "test.h"

#include "console/console.h"

#include <strata/text.h>

#include <signal.h>

TEST(nobody_is_ended_before_it_is_asked_for)
{
	struct console_stop stop = { 0 };
	int64_t wait_ns;

	CHECK_INT(console_stop_due(&stop, STRATA_HOUR_NS, &wait_ns), 0);
	CHECK_INT(wait_ns, -1);
}

TEST(it_gets_harder_with_time)
{
	struct console_stop stop = { .since_ns = 1000 };
	int64_t wait_ns;

	CHECK_INT(console_stop_due(&stop, 1000, &wait_ns), SIGHUP);
	CHECK_INT(console_stop_due(&stop, 1000, &wait_ns), SIGCONT);
	CHECK_INT(console_stop_due(&stop, 1000, &wait_ns), 0);
	CHECK_INT(wait_ns, 2 * STRATA_SECOND_NS);
	CHECK_INT(console_stop_due(&stop, 1000 + 2 * STRATA_SECOND_NS, &wait_ns), SIGTERM);
	CHECK_INT(console_stop_due(&stop, 1000 + 2 * STRATA_SECOND_NS, &wait_ns), 0);
	CHECK_INT(wait_ns, 5 * STRATA_SECOND_NS);
	CHECK_INT(console_stop_due(&stop, STRATA_HOUR_NS, &wait_ns), SIGKILL);
	CHECK_INT(console_stop_due(&stop, STRATA_HOUR_NS, &wait_ns), 0);
	CHECK_INT(wait_ns, -1);
}
