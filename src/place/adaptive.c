/*
 * Choosing how much to do. A choice is the features of the mode or profile, what workload and machine ask for, what the user switched, and, in `auto`,
 * what experience added: semantics after more than ten schedules that went well, memory under pressure, advanced for users whose options show
 * that they want it. A feature that came by experience or need is on trial: what plans take is compared, as a part of what the best single
 * device would take, before and since; when that is more than 2 % worse, and by more than the spread explains, the feature goes again.
 */
#include <strata/adaptive.h>

#include "core/real.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define BIT(feature) (1u << (feature))
#define PRESSURE 0.8
#define WORSE 1.02
#define SPREADS 2.5     /* of the difference's spread that a change must be above, */
#define SPREADS_FEW 6.0 /* and how many more when few were seen: by this over their number */
enum { EARNED_AFTER = 10, TRIAL_MIN = 3, RETRY_AFTER = 100, REASONS_MAX = 12 };


struct strata_adaptive {
	struct strata_memory *memory; /* borrowed until _free */
	struct strata_adaptive_conf conf;
	struct strata_adaptive_trial trials[STRATA_FEATURE_COUNT];
	struct strata_adaptive_metrics metrics;
	struct strata_adaptive_event events[STRATA_ADAPTIVE_EVENTS_MAX]; /* a ring */
	uint64_t event_count;
	bool pressed, expert; /* of the last facts */
};

static const double bounds[STRATA_ADAPTIVE_BUCKETS] = { 1.01, 1.02, 1.05, 1.1,     1.2,
							1.5,  2,    5,    INFINITY };

int strata_adaptive_new(const struct strata_adaptive_conf *conf, struct strata_memory *memory,
			struct strata_adaptive **ret_adaptive, struct strata_error *err)
{
	struct strata_adaptive *adaptive = strata_memory_get(memory, sizeof(*adaptive));

	if (!adaptive)
		return strata_fail_memory(err);
	adaptive->memory = memory;
	adaptive->conf = *conf;
	memcpy(adaptive->metrics.off_by_max, bounds, sizeof(bounds));
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++) {
		adaptive->trials[i].feature = (enum strata_feature)i;
		adaptive->trials[i].wait = RETRY_AFTER;
	}
	*ret_adaptive = adaptive;
	return 0;
}

void strata_adaptive_free(struct strata_adaptive *adaptive)
{
	if (adaptive)
		strata_memory_put(adaptive->memory, adaptive, sizeof(*adaptive));
}

int strata_adaptive_switch(struct strata_adaptive *adaptive, enum strata_feature feature, bool on,
			   struct strata_error *err)
{
	if (feature == STRATA_FEATURE_COST && !on)
		return strata_fail(err, -EINVAL,
				   "cost_estimation stays on: nothing works without it");
	adaptive->conf.enabled &= ~BIT(feature);
	adaptive->conf.disabled &= ~BIT(feature);
	*(on ? &adaptive->conf.enabled : &adaptive->conf.disabled) |= BIT(feature);
	return 0;
}

/* ---- the record ---- */

static void record(struct strata_adaptive *adaptive, enum strata_feature feature, bool on,
		   const char *why, double change)
{
	adaptive->events[adaptive->event_count++ % STRATA_ADAPTIVE_EVENTS_MAX] =
		(struct strata_adaptive_event){ adaptive->metrics.schedules, feature, on, why,
						change };
}

bool strata_adaptive_event_at(const struct strata_adaptive *adaptive, size_t index,
			      struct strata_adaptive_event *ret_event)
{
	uint64_t first = adaptive->event_count > STRATA_ADAPTIVE_EVENTS_MAX
				 ? adaptive->event_count - STRATA_ADAPTIVE_EVENTS_MAX
				 : 0;

	if (index >= adaptive->event_count - first)
		return false;
	*ret_event = adaptive->events[(first + index) % STRATA_ADAPTIVE_EVENTS_MAX];
	return true;
}

void strata_adaptive_metrics(const struct strata_adaptive *adaptive,
			     struct strata_adaptive_metrics *ret_metrics)
{
	*ret_metrics = adaptive->metrics;
}

/* ---- what is kept ---- */

bool strata_adaptive_trial_at(const struct strata_adaptive *adaptive, size_t index,
			      struct strata_adaptive_trial *ret_trial)
{
	if (index >= STRATA_FEATURE_COUNT)
		return false;
	*ret_trial = adaptive->trials[index];
	return true;
}

static bool sum_could_be(const struct strata_adaptive_sum *sum)
{
	return isfinite(sum->mean) && fabs(sum->mean) < 1024 && isfinite(sum->squares) &&
	       sum->squares >= 0 && (sum->count > 0 || (sum->mean == 0 && sum->squares == 0));
}

int strata_adaptive_restore(struct strata_adaptive *adaptive,
			    const struct strata_adaptive_trial *trials, size_t trial_count,
			    const struct strata_adaptive_metrics *metrics, struct strata_error *err)
{
	if (metrics->successes > metrics->schedules || metrics->failures > metrics->schedules ||
	    metrics->fallbacks > metrics->schedules)
		return strata_fail(err, -EINVAL, "there are more outcomes than schedules");
	for (size_t i = 0; i < trial_count; i++)
		if ((unsigned)trials[i].feature >= STRATA_FEATURE_COUNT ||
		    !sum_could_be(&trials[i].with) || !sum_could_be(&trials[i].without) ||
		    trials[i].since > metrics->schedules || trials[i].wait < RETRY_AFTER)
			return strata_fail(err, -EINVAL,
					   "what is kept of feature %d is not what schedules leave",
					   (int)trials[i].feature);
	for (size_t i = 0; i < trial_count; i++)
		adaptive->trials[trials[i].feature] = trials[i];
	adaptive->metrics = *metrics;
	memcpy(adaptive->metrics.off_by_max, bounds, sizeof(bounds));
	adaptive->event_count = 0;
	return 0;
}

/* ---- trials ---- */

static void enable(struct strata_adaptive *adaptive, enum strata_feature feature, const char *why)
{
	struct strata_adaptive_trial *trial = &adaptive->trials[feature];

	if (trial->on || adaptive->conf.disabled & BIT(feature))
		return;
	if (trial->withdrawn && adaptive->metrics.schedules - trial->since < trial->wait)
		return;
	trial->on = true;
	trial->since = adaptive->metrics.schedules;
	trial->with = (struct strata_adaptive_sum){ 0 };
	adaptive->metrics.enabled++;
	record(adaptive, feature, true, why, 0);
}

static void withdraw(struct strata_adaptive *adaptive, enum strata_feature feature, double change)
{
	struct strata_adaptive_trial *trial = &adaptive->trials[feature];

	trial->on = false;
	trial->withdrawn = true;
	trial->since = adaptive->metrics.schedules;
	trial->wait *= 2; /* each time it is given up for longer */
	adaptive->metrics.withdrawn++;
	record(adaptive, feature, false, "it made things worse", change);
}

static void running_add(struct strata_adaptive_sum *running, double value)
{
	double before = value - running->mean;

	running->count++;
	running->mean += before / (double)running->count;
	running->squares += before * (value - running->mean);
}

/* Variance of the mean. */
static double running_spread(const struct strata_adaptive_sum *running)
{
	return running->count > 1
		       ? running->squares / (double)(running->count - 1) / (double)running->count
		       : 0;
}

static void judge(struct strata_adaptive *adaptive, enum strata_feature feature)
{
	struct strata_adaptive_trial *trial = &adaptive->trials[feature];

	if (!trial->on || trial->with.count < TRIAL_MIN || trial->without.count < TRIAL_MIN)
		return;
	double change = trial->with.mean - trial->without.mean;
	double spread = sqrt(running_spread(&trial->with) + running_spread(&trial->without));

	double spreads = SPREADS + SPREADS_FEW / (double)trial->with.count;

	if (change > real_log2(WORSE) && change > spreads * spread)
		withdraw(adaptive, feature, real_exp2(change) - 1);
}

/* ---- choosing ---- */

struct chooser {
	const struct strata_adaptive_facts *facts;
	struct strata_arena *arena;
	unsigned features;
	const char **reasons;
	size_t count;
	bool failed;
};

static void say(struct chooser *chooser, const char *text)
{
	if (!text)
		chooser->failed = true;
	else if (chooser->count < REASONS_MAX)
		chooser->reasons[chooser->count++] = text;
}

static void add(struct chooser *chooser, enum strata_feature feature, const char *why)
{
	if (chooser->features & BIT(feature))
		return;
	chooser->features |= BIT(feature);
	say(chooser,
	    strata_arena_printf(chooser->arena, "%s: %s", strata_feature_name(feature), why));
}

static bool is_known(const char *workload)
{
	static const char *const known[] = { "llm", "cnn", "multimodal", "diffusion" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(workload, known[i]) == 0)
			return true;
	return false;
}

static const struct strata_profile *start_profile(const struct strata_adaptive *adaptive,
						  const struct strata_adaptive_facts *facts)
{
	static const char *const by_mode[STRATA_MODE_COUNT] = {
		[STRATA_MODE_BASIC] = "basic_inference",
		[STRATA_MODE_SEMANTIC] = "llm_serving",
		[STRATA_MODE_ADVANCED] = "research_training",
	};
	const struct strata_profile *profile = strata_profile_at(0);

	if (adaptive->conf.profile)
		return adaptive->conf.profile;
	if (adaptive->conf.mode == STRATA_MODE_AUTO)
		return strata_profile_recommend(facts->workload);
	(void)strata_profile_find(by_mode[adaptive->conf.mode], &profile, NULL);
	return profile;
}

/* What experience and need add. */
static void choose_auto(struct strata_adaptive *adaptive, struct chooser *chooser)
{
	const struct strata_adaptive_facts *facts = chooser->facts;

	if (is_known(facts->workload) && !adaptive->trials[STRATA_FEATURE_SEMANTIC].withdrawn)
		add(chooser, STRATA_FEATURE_SEMANTIC, "the workload is one that it helps");
	if (adaptive->metrics.successes > EARNED_AFTER)
		enable(adaptive, STRATA_FEATURE_SEMANTIC, "more than 10 schedules went well");
	if (facts->memory_pressure > PRESSURE)
		enable(adaptive, STRATA_FEATURE_MEMORY, "memory is under pressure");
	if (facts->expert)
		enable(adaptive, STRATA_FEATURE_ADVANCED, "the user's own options ask for it");
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++)
		if (adaptive->trials[i].on)
			add(chooser, (enum strata_feature)i, "enabled by experience or need");
}

static const char *list_strategies(const struct chooser *chooser)
{
	unsigned features = chooser->features;

	return strata_arena_printf(
		chooser->arena, "load_balance%s%s%s%s",
		features & BIT(STRATA_FEATURE_SEMANTIC) ? ",heft,heft:pin_kv=true" : ",round_robin",
		features & BIT(STRATA_FEATURE_MEMORY) ? ",sequential,contiguous" : "",
		chooser->facts->device_count > 1 ? ",portfolio" : "",
		features & (BIT(STRATA_FEATURE_ADVANCED) | BIT(STRATA_FEATURE_EXPERIMENTAL))
			? ",local_search:seed=1,exact"
			: "");
}

int strata_adaptive_decide(struct strata_adaptive *adaptive,
			   const struct strata_adaptive_facts *facts, struct strata_arena *arena,
			   struct strata_adaptive_choice *ret_choice, struct strata_error *err)
{
	const struct strata_profile *profile = start_profile(adaptive, facts);
	struct chooser chooser = { .facts = facts,
				   .arena = arena,
				   .features = profile->features | BIT(STRATA_FEATURE_COST),
				   .reasons =
					   strata_arena_array(arena, REASONS_MAX, sizeof(char *)) };

	if (!chooser.reasons)
		return strata_fail_memory(err);
	say(&chooser, strata_arena_printf(arena, "mode %s starts from profile %s",
					  strata_mode_name(adaptive->conf.mode), profile->name));
	if (adaptive->conf.mode == STRATA_MODE_AUTO && !adaptive->conf.profile)
		choose_auto(adaptive, &chooser);
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++)
		if (adaptive->conf.enabled & BIT(i))
			add(&chooser, (enum strata_feature)i, "switched on by hand");
	chooser.features &= ~adaptive->conf.disabled;
	chooser.features |= BIT(STRATA_FEATURE_COST);
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++) /* what came by itself and was given up */
		if (adaptive->trials[i].withdrawn && !adaptive->trials[i].on &&
		    !(adaptive->conf.enabled & BIT(i)) && !adaptive->conf.profile &&
		    adaptive->conf.mode == STRATA_MODE_AUTO)
			chooser.features &= ~BIT(i);
	if (facts->device_count > 1)
		say(&chooser,
		    strata_arena_printf(arena, "%zu devices: splits over several are tried",
					facts->device_count));
	const char *strategies = list_strategies(&chooser);

	if (!strategies || chooser.failed)
		return strata_fail_memory(err);
	*ret_choice = (struct strata_adaptive_choice){ chooser.features, profile->name, strategies,
						       chooser.reasons, chooser.count };
	return 0;
}

/* ---- learning ---- */

static void count_error(struct strata_adaptive *adaptive, double predicted, double observed)
{
	double off = observed > predicted ? observed / predicted : predicted / observed;
	size_t bucket = 0;

	while (off > bounds[bucket])
		bucket++;
	adaptive->metrics.off_by[bucket]++;
}

int strata_adaptive_report(struct strata_adaptive *adaptive,
			   const struct strata_adaptive_outcome *outcome, struct strata_error *err)
{
	struct strata_adaptive_metrics *metrics = &adaptive->metrics;

	if (!(outcome->predicted_ns >= 0) || !(outcome->observed_ns >= 0) ||
	    !(outcome->single_ns >= 0) || !isfinite(outcome->observed_ns))
		return strata_fail(err, -EINVAL,
				   "the times of an outcome are not finite numbers of 0 or more");
	metrics->schedules++;
	*(outcome->success ? &metrics->successes : &metrics->failures) += 1;
	metrics->fallbacks += outcome->fallback;
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++)
		metrics->used[i] += outcome->features >> i & 1;
	if (!outcome->success || outcome->observed_ns <= 0)
		return 0;
	if (outcome->predicted_ns > 0)
		count_error(adaptive, outcome->predicted_ns, outcome->observed_ns);
	double scale = outcome->single_ns > 0 ? outcome->single_ns : 1;
	double score = real_log2(outcome->observed_ns / scale);

	for (int i = STRATA_FEATURE_COST + 1; i < STRATA_FEATURE_COUNT; i++) {
		struct strata_adaptive_trial *trial = &adaptive->trials[i];

		running_add(outcome->features >> i & 1 ? &trial->with : &trial->without, score);
		judge(adaptive, (enum strata_feature)i);
	}
	return 0;
}
