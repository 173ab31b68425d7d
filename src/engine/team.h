/*
 * The threads of one device: they share the work of an operator. Work is cut into parts of equal worth by index; which thread does a part makes no
 * difference to its result. A team is OpenMP's of the thread that calls it, so that oneDNN, which brings OpenMP, uses the same threads.
 */
#ifndef ENGINE_TEAM_H
#define ENGINE_TEAM_H

#include <stddef.h>
#include <stdint.h>

struct engine_team {
	int thread_count; /* at least 1 */
};

/* Calls work(arg, first, past) for ranges that cover 0 … count − 1, in any order. A range has at least `grain` parts unless count has fewer; with one
 * thread, or with no more than `grain`, it is one range in the calling thread. */
void engine_team_run(struct engine_team *team, int64_t count, int64_t grain,
		     void (*work)(void *arg, int64_t first, int64_t past), void *arg);

#endif
