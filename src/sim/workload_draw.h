/*
 * What models draw from: distributions, popular time limits, moments of arrival. All of it through
 * core's repeatable arithmetic, so that a seed gives the same jobs on every machine.
 */
#ifndef SIM_WORKLOAD_DRAW_H
#define SIM_WORKLOAD_DRAW_H

#include <strata/error.h>
#include <strata/memory.h>
#include <strata/rng.h>
#include <strata/swf.h>

/* e to the power x. */
double draw_exp(double x);

/* Gamma with shape alpha > 0 and scale beta: mean alpha · beta, variance alpha · beta². */
double draw_gamma(struct strata_rng *rng, double alpha, double beta);

/* true with this probability. */
bool draw_chance(struct strata_rng *rng, double probability);

/* A choice among count things with given weights. */
struct draw_table {
	double *sums; /* ascending; the arena's */
	size_t count;
};

/* weights are not negative, their sum positive; count is 1 or more. */
int draw_table_init(struct draw_table *table, const double *weights, size_t count,
		    struct strata_arena *arena, struct strata_error *err);
/* Zipf: thing k has weight 1 / (k + 1)^exponent. */
int draw_table_init_zipf(struct draw_table *table, size_t count, double exponent,
			 struct strata_arena *arena, struct strata_error *err);
/* 0 … count − 1. */
size_t draw_table_pick(const struct draw_table *table, struct strata_rng *rng);

/*
 * The time limit that a user asks for, at least run_s. People round up generously to round values:
 * the share of the limit that is used is about even from a twentieth to all, then the limit is
 * raised to the next of 5 min, 10 min … 30 days; past that, to the next hour.
 */
int64_t draw_requested_s(struct strata_rng *rng, int64_t run_s);

/* How busy the half hours of a day, from midnight, and the days of a week, from Monday, are beside
 * one another. Weights, all positive. */
struct draw_rhythm {
	double slots[48];
	double days[7];
};

/*
 * Puts jobs at moments of an even clock into the days and weeks of a rhythm: moments ascend from 0,
 * in any unit; they are stretched so that the last job is submitted at span_s, and moved so that as
 * many fall into each half hour as its weight says. Sets submit_s, the first being 0.
 */
void draw_arrivals(const struct draw_rhythm *rhythm, const double *moments, int64_t span_s,
		   struct strata_swf_job *jobs, size_t count);

/* How long `work` processor seconds keep `procs` busy at this load; -ERANGE when that is past
 * STRATA_TIME_NS_MAX. */
int draw_span_s(double work, double procs, double load, int64_t *ret_span_s,
		struct strata_error *err);

#endif
