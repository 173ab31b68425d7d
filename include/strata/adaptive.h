/*
 * The adaptive scheduler of the place level: how much is done to place a model, from what is known of the model, the machine and the user, and from
 * how earlier plans turned out. It starts with little, adds features as they are earned or needed, and takes back what made things worse.
 * Every such step is recorded and can be read.
 *
 * It decides what is to be tried; strata_place_plan tries it. Nothing here reads a clock: outcomes are arguments. Not thread-safe.
 */
#ifndef STRATA_ADAPTIVE_H
#define STRATA_ADAPTIVE_H

#include <strata/place.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum strata_mode {
	STRATA_MODE_AUTO,     /* by workload, machine and experience */
	STRATA_MODE_BASIC,    /* costs only */
	STRATA_MODE_SEMANTIC, /* and what the model is: phases, KV caches, memory */
	STRATA_MODE_ADVANCED, /* and every strategy there is */
};
enum { STRATA_MODE_COUNT = STRATA_MODE_ADVANCED + 1 };
const char *strata_mode_name(enum strata_mode mode); /* "auto" */

enum strata_feature {
	STRATA_FEATURE_COST, /* cost_estimation: always on */
	STRATA_FEATURE_SEMANTIC, /* semantic_optimization: detectors, KV caches beside their attention */
	STRATA_FEATURE_MEMORY,   /* memory_optimization: splits that spread memory */
	STRATA_FEATURE_ADVANCED, /* advanced_optimization: exact and local search, larger budgets */
	STRATA_FEATURE_EXPERIMENTAL, /* experimental_optimizations: what is new; never by itself */
};
enum { STRATA_FEATURE_COUNT = STRATA_FEATURE_EXPERIMENTAL + 1 };
const char *strata_feature_name(enum strata_feature feature); /* "cost_estimation" */
/* By name; -ENOENT with "did you mean". */
int strata_feature_find(const char *name, enum strata_feature *ret_feature,
			struct strata_error *err);

struct strata_profile {
	const char *name, *summary;
	unsigned features; /* 1 << enum strata_feature */
};
/* basic_inference, diffusion_serving, llm_serving, research_training; NULL past the end. */
const struct strata_profile *strata_profile_at(size_t index);
int strata_profile_find(const char *name, const struct strata_profile **ret_profile,
			struct strata_error *err);
/* What suits a workload ("llm", "diffusion" …). */
const struct strata_profile *strata_profile_recommend(const char *workload);

struct strata_adaptive_conf {
	enum strata_mode mode;
	const struct strata_profile *profile; /* NULL: by mode */
	/* features that the user switched, 1 << …; disabled wins. Cost estimation stays on */
	unsigned enabled, disabled;
};

/* What is known when a model is to be placed. */
struct strata_adaptive_facts {
	/* "llm", "cnn", "multimodal", "diffusion", "recurrent"; "other": not known */
	const char *workload;
	size_t device_count; /* that are not lost */
	double memory_pressure; /* bytes that must be kept, of those that devices have; above 0.8 is pressure */
	bool expert; /* the user's own options (cost models, strategies, rules, budgets) show that they know */
};

struct strata_adaptive_choice {
	unsigned features;
	const char *profile;    /* name of the one it started from */
	const char *strategies; /* a list for strata_spec_read_list, in the arena; never empty */
	const char *const *reasons; /* sentences, in the arena */
	size_t reason_count;
};

struct strata_adaptive;
int strata_adaptive_new(const struct strata_adaptive_conf *conf, struct strata_memory *memory,
			struct strata_adaptive **ret_adaptive, struct strata_error *err);
void strata_adaptive_free(struct strata_adaptive *adaptive); /* NULL is nothing */

/* Switches a feature by hand from now on. -EINVAL for cost estimation, which stays on. */
int strata_adaptive_switch(struct strata_adaptive *adaptive, enum strata_feature feature, bool on,
			   struct strata_error *err);

int strata_adaptive_decide(struct strata_adaptive *adaptive,
			   const struct strata_adaptive_facts *facts, struct strata_arena *arena,
			   struct strata_adaptive_choice *ret_choice, struct strata_error *err);

/* ---- a plan without settings ---- */

/* What a caller may know or want; zeroed it is all found out. */
struct strata_place_auto {
	struct strata_adaptive_conf adaptive;
	const char *workload; /* what detectors said (strata_workload_name); NULL: not known */
	bool expert;          /* as in the facts */
	/* What has learned from earlier plans, and decides; NULL: one that knows nothing, by the conf above. */
	struct strata_adaptive *learned;
};

/*
 * From a graph and a machine to a plan: the facts follow from both, strata_adaptive_decide chooses by them, and the strategies of that choice are
 * asked. An ask that has strategies keeps those. how may be NULL, and ret_choice too; the choice lives in the arena. Errors are those of
 * strata_place_plan.
 */
int strata_place_auto(const struct strata_place_request *ask, const struct strata_place_auto *how,
		      struct strata_arena *arena, struct strata_place_plan *ret_plan,
		      struct strata_adaptive_choice *ret_choice, struct strata_error *err);

/* Bytes that must be kept (weights, KV state), of those that the devices have which are not lost; 0 where a device has no limit. */
double strata_place_pressure(const struct strata_graph *graph,
			     const struct strata_machine *machine);

/* The device of that name; -ENOENT. */
int strata_place_device(const struct strata_machine *machine, const char *name,
			uint32_t *ret_device, struct strata_error *err);

/* Says where the KV caches that detectors found are now. */
void strata_graph_put_kv(struct strata_graph *graph, uint32_t device);

/* How a plan turned out. */
struct strata_adaptive_outcome {
	unsigned features; /* as chosen */
	bool success;      /* it ran */
	bool fallback;     /* the best single device, or an earlier plan, had to do */
	double predicted_ns, observed_ns; /* 0: not known */
	double single_ns; /* of the best single device, predicted: what makes models comparable; 0: not known */
};
/* Learns from it: features may be enabled, or withdrawn when times became more than 2 % worse with them. */
int strata_adaptive_report(struct strata_adaptive *adaptive,
			   const struct strata_adaptive_outcome *outcome, struct strata_error *err);

/* One step of the record. */
struct strata_adaptive_event {
	uint64_t schedule; /* after so many */
	enum strata_feature feature;
	bool on;
	const char *why; /* static */
	double change;   /* of withdrawn ones: by how much it was slower, 0.05: 5 %; else 0 */
};
/* The newest STRATA_ADAPTIVE_EVENTS_MAX, oldest first; false past the end. */
bool strata_adaptive_event_at(const struct strata_adaptive *adaptive, size_t index,
			      struct strata_adaptive_event *ret_event);

/* What is known of one feature, to be kept between runs. Sums are over logarithms of times. */
struct strata_adaptive_sum {
	uint64_t count;
	double mean, squares;
};
struct strata_adaptive_trial {
	enum strata_feature feature;
	bool on;              /* by experience or need */
	bool withdrawn;       /* it made things worse */
	uint64_t since, wait; /* schedule of the last change, and schedules until it is tried again */
	struct strata_adaptive_sum without, with;
};
/* In the order of enum strata_feature; false past the end. */
bool strata_adaptive_trial_at(const struct strata_adaptive *adaptive, size_t index,
			      struct strata_adaptive_trial *ret_trial);

enum { STRATA_ADAPTIVE_BUCKETS = 9 };
/* Counters and a histogram, ready to be exposed. */
struct strata_adaptive_metrics {
	uint64_t schedules, successes, failures, fallbacks;
	uint64_t enabled, withdrawn;         /* features, by experience */
	uint64_t used[STRATA_FEATURE_COUNT]; /* schedules with each feature */
	/* observed over predicted or the inverse, up to each bound */
	uint64_t off_by[STRATA_ADAPTIVE_BUCKETS];
	double off_by_max[STRATA_ADAPTIVE_BUCKETS]; /* the bounds; the last is infinite */
};
void strata_adaptive_metrics(const struct strata_adaptive *adaptive,
			     struct strata_adaptive_metrics *ret_metrics);

/* Puts back what was kept, over what is there: trials of some features, and the metrics' counters but for the bounds. -EINVAL for numbers that no
 * schedule leaves behind; nothing has changed then. The record of steps begins anew. */
int strata_adaptive_restore(struct strata_adaptive *adaptive,
			    const struct strata_adaptive_trial *trials, size_t trial_count,
			    const struct strata_adaptive_metrics *metrics,
			    struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
