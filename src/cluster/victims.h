/* The options that every victim chooser has; VICTIMS_OPTIONS(conf) is their rows for a conf that
 * begins with `common`. */
#ifndef CLUSTER_VICTIMS_H
#define CLUSTER_VICTIMS_H

#include <strata/cluster.h>

extern const struct strata_choice victims_modes[];

#define VICTIMS_SECOND INT64_C(1000000000)

#define VICTIMS_OPTIONS(conf)                                                     \
	{ "grace",                                                                \
	  STRATA_DURATION,                                                        \
	  offsetof(conf, common.grace_ns),                                        \
	  .integer = { 60 * VICTIMS_SECOND, 0, STRATA_DURATION_NS_MAX },          \
	  .unit = "s",                                                            \
	  .help = "between the request to stop and the end" },                    \
		{ "mode", STRATA_ENUM, offsetof(conf, common.mode),               \
		  .choice = { victims_modes, STRATA_STOP_REQUEUE },               \
		  .help = "what becomes of a job that is stopped" },              \
		{ "protect",                                                      \
		  STRATA_DURATION,                                                \
		  offsetof(conf, common.protect_ns),                              \
		  .integer = { 300 * VICTIMS_SECOND, 0, STRATA_DURATION_NS_MAX }, \
		  .unit = "s",                                                    \
		  .help = "a job is left alone for so long after its start" },    \
	{                                                                         \
		"times", STRATA_INT, offsetof(conf, common.times_max),            \
			.integer = { 5, 0, 1000000 },                             \
			.help = "a job that was stopped so often is left alone"   \
	}

#endif
