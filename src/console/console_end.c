/*
 * How a program is ended whose owner has gone: it is hung up on, as a terminal does, which shells
 * hand on to all they started; what does not go is asked to, and in the end killed. Whatever else
 * the job has is killed by its supervisor when the host ends.
 */
#include "console/console.h"

#include <strata/text.h>

#include <signal.h>

static const struct {
	int64_t after_ns;
	int signal;
} steps[] = {
	{ 0, SIGHUP },
	{ 0, SIGCONT }, /* one that was stopped could not hear it */
	{ 2 * STRATA_SECOND_NS, SIGTERM },
	{ 7 * STRATA_SECOND_NS, SIGKILL },
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

int console_stop_due(struct console_stop *stop, int64_t now_ns, int64_t *ret_wait_ns)
{
	*ret_wait_ns = -1;
	if (!stop->since_ns || stop->sent == STEPS)
		return 0;
	int64_t at_ns = stop->since_ns + steps[stop->sent].after_ns;

	if (now_ns >= at_ns) {
		*ret_wait_ns = 0;
		return steps[stop->sent++].signal;
	}
	*ret_wait_ns = at_ns - now_ns;
	return 0;
}
