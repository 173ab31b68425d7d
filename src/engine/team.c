/* Teams of threads: see team.h. */
#include "engine/team.h"

#include <omp.h>

void engine_team_run(struct engine_team *team, int64_t count, int64_t grain,
		     void (*work)(void *arg, int64_t first, int64_t past), void *arg)
{
	int64_t parts = grain > 0 ? count / grain : count;

	if (parts > team->thread_count)
		parts = team->thread_count;
	if (parts <= 1) {
		if (count > 0)
			work(arg, 0, count);
		return;
	}
#pragma omp parallel for num_threads(team->thread_count) schedule(static, 1)
	for (int64_t part = 0; part < parts; part++)
		work(arg, count * part / parts, count * (part + 1) / parts);
}
