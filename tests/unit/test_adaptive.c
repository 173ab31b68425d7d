/* Features come and go: by workload, need, experience and hand; what made things worse is taken back, and all of it can be read. */
#include "test.h"

#include <strata/adaptive.h>
#include <strata/rng.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#define SEMANTIC (1u << STRATA_FEATURE_SEMANTIC)
#define MEMORY (1u << STRATA_FEATURE_MEMORY)
#define ADVANCED (1u << STRATA_FEATURE_ADVANCED)

static struct strata_memory memory;
static struct strata_error err;

static struct strata_adaptive *make(struct strata_adaptive_conf conf)
{
	struct strata_adaptive *adaptive;

	CHECK_OK(strata_adaptive_new(&conf, &memory, &adaptive, &err));
	return adaptive;
}

static unsigned decide(struct strata_adaptive *adaptive, struct strata_adaptive_facts facts)
{
	struct strata_adaptive_choice choice;
	struct strata_spec *specs;
	struct strata_arena arena;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_adaptive_decide(adaptive, &facts, &arena, &choice, &err));
	CHECK(choice.features & 1 && choice.reason_count > 0);
	/* what it names can be run */
	CHECK_OK(strata_spec_build_list(&strata_strategy_kind, choice.strategies, &arena, &specs,
					&count, &err));
	CHECK((strstr(choice.strategies, "portfolio") != NULL) == (facts.device_count > 1));
	unsigned features = choice.features;

	strata_arena_fini(&arena);
	return features;
}

static void report(struct strata_adaptive *adaptive, unsigned features, double observed)
{
	struct strata_adaptive_outcome outcome = { .features = features,
						   .success = true,
						   .predicted_ns = 100,
						   .observed_ns = observed,
						   .single_ns = 100 };

	CHECK_OK(strata_adaptive_report(adaptive, &outcome, &err));
}

TEST(modes_and_profiles_are_fixed_choices)
{
	static const unsigned want[STRATA_MODE_COUNT] = {
		[STRATA_MODE_BASIC] = 1,
		[STRATA_MODE_SEMANTIC] = 1 | SEMANTIC | MEMORY,
		[STRATA_MODE_ADVANCED] = 1 | SEMANTIC | MEMORY | ADVANCED,
	};

	for (int mode = STRATA_MODE_BASIC; mode < STRATA_MODE_COUNT; mode++) {
		struct strata_adaptive *adaptive =
			make((struct strata_adaptive_conf){ .mode = (enum strata_mode)mode });

		CHECK_INT(
			decide(adaptive, (struct strata_adaptive_facts){ "other", 2, 0.99, true }),
			want[mode]);
		strata_adaptive_free(adaptive);
	}
	struct strata_adaptive_conf conf = { .profile = strata_profile_at(0) };
	struct strata_adaptive *adaptive = make(conf);

	CHECK_INT(decide(adaptive, (struct strata_adaptive_facts){ "llm", 2, 0.99, true }), 1);
	strata_adaptive_free(adaptive);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(auto_starts_from_the_workload)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });

	CHECK_INT(decide(adaptive, (struct strata_adaptive_facts){ "other", 1, 0.1, false }), 1);
	CHECK_INT(decide(adaptive, (struct strata_adaptive_facts){ "cnn", 1, 0.1, false }),
		  1 | SEMANTIC);
	CHECK_INT(decide(adaptive, (struct strata_adaptive_facts){ "llm", 2, 0.1, false }),
		  1 | SEMANTIC | MEMORY);
	CHECK_INT(decide(adaptive, (struct strata_adaptive_facts){ "recurrent", 2, 0.81, false }),
		  1 | MEMORY);
	CHECK_INT(decide(adaptive, (struct strata_adaptive_facts){ "recurrent", 2, 0.1, true }),
		  1 | MEMORY | ADVANCED);
	strata_adaptive_free(adaptive);
}

TEST(semantics_are_earned)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_facts facts = { "other", 1, 0.1, false };
	struct strata_adaptive_event event;

	for (int i = 0; i < 10; i++) {
		report(adaptive, 1, 100);
		CHECK_INT(decide(adaptive, facts), 1);
	}
	report(adaptive, 1, 100);
	CHECK_INT(decide(adaptive, facts), 1 | SEMANTIC);
	CHECK(strata_adaptive_event_at(adaptive, 0, &event));
	CHECK(event.on && event.feature == STRATA_FEATURE_SEMANTIC && event.schedule == 11);
	CHECK(!strata_adaptive_event_at(adaptive, 1, &event));
	strata_adaptive_free(adaptive);
}

TEST(what_makes_things_worse_is_withdrawn_and_tried_again_later)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_facts facts = { "other", 1, 0.1, false };
	struct strata_adaptive_event event;
	struct strata_adaptive_metrics metrics;

	for (int i = 0; i < 11; i++)
		report(adaptive, decide(adaptive, facts), 100);
	for (int i = 0; i < 3; i++) {
		CHECK(decide(adaptive, facts) & SEMANTIC);
		report(adaptive, decide(adaptive, facts), 103);
	}
	CHECK_INT(decide(adaptive, facts), 1);
	CHECK(strata_adaptive_event_at(adaptive, 1, &event));
	CHECK(!event.on);
	CHECK_NEAR(event.change, 0.03, 1e-6);
	int waited = 0;

	for (; !(decide(adaptive, facts) & SEMANTIC); waited++)
		report(adaptive, 1, 100);
	CHECK_INT(waited, 200);
	strata_adaptive_metrics(adaptive, &metrics);
	CHECK_INT(metrics.enabled, 2);
	CHECK_INT(metrics.withdrawn, 1);
	strata_adaptive_free(adaptive);
}

TEST(two_percent_is_not_worse)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_facts facts = { "other", 1, 0.1, false };

	for (int i = 0; i < 60; i++) {
		unsigned features = decide(adaptive, facts);

		report(adaptive, features, features & SEMANTIC ? 101.9 : 100);
	}
	CHECK(decide(adaptive, facts) & SEMANTIC);
	strata_adaptive_free(adaptive);
}

TEST(noise_withdraws_seldom)
{
	int withdrawn = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
		struct strata_adaptive_facts facts = { "other", 1, 0.1, false };
		struct strata_adaptive_metrics metrics;
		struct strata_rng rng;

		strata_rng_init(&rng, seed, 0);
		for (int i = 0; i < 60; i++) {
			unsigned features = decide(adaptive, facts);

			report(adaptive, features,
			       (features & SEMANTIC ? 95 : 100) *
				       exp(0.3 * strata_rng_normal(&rng)));
		}
		strata_adaptive_metrics(adaptive, &metrics);
		withdrawn += metrics.withdrawn > 0;
		strata_adaptive_free(adaptive);
	}
	CHECK(withdrawn < 20);
}

TEST(switches_are_the_users)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_facts facts = { "llm", 1, 0.99, true };

	CHECK_OK(strata_adaptive_switch(adaptive, STRATA_FEATURE_SEMANTIC, false, &err));
	CHECK_OK(strata_adaptive_switch(adaptive, STRATA_FEATURE_EXPERIMENTAL, true, &err));
	CHECK_INT(decide(adaptive, facts),
		  1 | MEMORY | ADVANCED | 1u << STRATA_FEATURE_EXPERIMENTAL);
	CHECK_ERROR(strata_adaptive_switch(adaptive, STRATA_FEATURE_COST, false, &err), -EINVAL,
		    "stays on");
	strata_adaptive_free(adaptive);
}

TEST(metrics_count)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_metrics metrics;
	struct strata_adaptive_outcome outcome = { .features = 1 | SEMANTIC, .fallback = true };

	report(adaptive, 1, 100.5);
	report(adaptive, 1, 60);
	report(adaptive, 1 | SEMANTIC, 1000);
	CHECK_OK(strata_adaptive_report(adaptive, &outcome, &err));
	outcome.observed_ns = NAN;
	CHECK_ERROR(strata_adaptive_report(adaptive, &outcome, &err), -EINVAL, "not finite numbers");
	strata_adaptive_metrics(adaptive, &metrics);
	CHECK_INT(metrics.schedules, 4);
	CHECK_INT(metrics.successes, 3);
	CHECK_INT(metrics.failures, 1);
	CHECK_INT(metrics.fallbacks, 1);
	CHECK_INT(metrics.used[STRATA_FEATURE_SEMANTIC], 2);
	CHECK_INT(metrics.off_by[0], 1); /* up to 1 % off */
	CHECK_INT(metrics.off_by[6], 1); /* up to 2 times */
	CHECK_INT(metrics.off_by[8], 1); /* more than 5 times */
	strata_adaptive_free(adaptive);
}

TEST(the_record_keeps_the_newest)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_event event;
	uint64_t events = 0;

	/* a feature that is bad whenever it is on, and a very patient user */
	for (int i = 0; i < 40; i++) {
		unsigned features =
			decide(adaptive, (struct strata_adaptive_facts){ "other", 1, 0.9, true });

		report(adaptive, features, features == 1 ? 100 : 300);
	}
	while (strata_adaptive_event_at(adaptive, events, &event))
		events++;
	CHECK(events >= 2 && events <= STRATA_ADAPTIVE_EVENTS_MAX);
	strata_adaptive_free(adaptive);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_was_learned_can_be_kept_and_put_back)
{
	struct strata_adaptive *seen = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive *again = make((struct strata_adaptive_conf){ 0 });
	const struct strata_adaptive_facts facts = { .workload = "other", .device_count = 2 };
	struct strata_adaptive_trial trials[STRATA_FEATURE_COUNT + 1];
	struct strata_adaptive_metrics metrics, after;
	size_t count = 0;

	for (int i = 0; i < 11; i++)
		report(seen, decide(seen, facts), 100);
	for (int i = 0; i < 20; i++)
		report(seen, decide(seen, facts), 150); /* semantics were earned, and made it worse */
	while (strata_adaptive_trial_at(seen, count, &trials[count]))
		count++;
	CHECK_INT(count, STRATA_FEATURE_COUNT);
	CHECK(trials[STRATA_FEATURE_SEMANTIC].withdrawn);
	strata_adaptive_metrics(seen, &metrics);
	CHECK_OK(strata_adaptive_restore(again, trials, count, &metrics, &err));
	strata_adaptive_metrics(again, &after);
	CHECK(memcmp(&metrics, &after, sizeof(after)) == 0);
	/* both go on alike: the feature stays away for as long, and is then tried again */
	for (int i = 0; i < 250; i++) {
		unsigned features = decide(seen, facts);

		CHECK_INT(decide(again, facts), features);
		report(seen, features, 100);
		report(again, features, 100);
	}
	strata_adaptive_free(seen);
	strata_adaptive_free(again);
}

TEST(numbers_that_no_schedule_leaves_are_not_put_back)
{
	struct strata_adaptive *adaptive = make((struct strata_adaptive_conf){ 0 });
	struct strata_adaptive_metrics metrics = { .schedules = 5, .successes = 5 }, after;
	const struct strata_adaptive_trial good = { .feature = STRATA_FEATURE_MEMORY,
						    .since = 5,
						    .wait = 100,
						    .with = { 3, 0.5, 0.1 } };
	struct strata_adaptive_trial wrong[6] = { good, good, good, good, good, good };

	wrong[0].feature = (enum strata_feature)STRATA_FEATURE_COUNT;
	wrong[1].since = 6;
	wrong[2].wait = 99;
	wrong[3].with.mean = (double)NAN;
	wrong[4].with.squares = -1;
	wrong[5].without.mean = 1; /* of none */
	for (size_t i = 0; i < 6; i++)
		CHECK_ERROR(strata_adaptive_restore(adaptive, &wrong[i], 1, &metrics, &err), -EINVAL,
			    "is not what schedules leave");
	metrics.successes = 6;
	CHECK_ERROR(strata_adaptive_restore(adaptive, &good, 1, &metrics, &err), -EINVAL,
		    "more outcomes than schedules");
	strata_adaptive_metrics(adaptive, &after);
	CHECK_INT(after.schedules, 0);
	metrics.successes = 5;
	CHECK_OK(strata_adaptive_restore(adaptive, &good, 1, &metrics, &err));
	strata_adaptive_free(adaptive);
}
