/* What was learned, in a file: kept, read back, never half believed. */
#include "test.h"

#include "engine/experience.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;
static const struct engine_device devices[] = { { .name = "cpu:0" }, { .name = "cpu:1" } };

static struct strata_corrections *fresh(void)
{
	struct strata_corrections *corrections;

	CHECK_OK(strata_corrections_new(2, &memory, &corrections, &err));
	return corrections;
}

static struct strata_adaptive *adaptive; /* of the last load or save */
static const char *backend = "native";

static struct engine_experience about(size_t device_count, struct strata_corrections *corrections)
{
	if (!adaptive)
		CHECK_OK(strata_adaptive_new(&(struct strata_adaptive_conf){ 0 }, &memory, &adaptive,
					     &err));
	return (struct engine_experience){ backend, devices, device_count, corrections, adaptive };
}

static int load(const char *path, size_t device_count, struct strata_corrections *corrections)
{
	const struct engine_experience experience = about(device_count, corrections);

	return engine_experience_load(path, &experience, &err);
}

static int save(const char *path, size_t device_count, struct strata_corrections *corrections)
{
	const struct engine_experience experience = about(device_count, corrections);

	return engine_experience_save(path, &experience, &err);
}

static void forget(void)
{
	strata_adaptive_free(adaptive);
	adaptive = NULL;
}

static const char *path_of(const char *text)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/experience", test_temp_dir());
	FILE *file = text ? fopen(path, "w") : NULL;

	if (file) {
		fputs(text, file);
		fclose(file);
	}
	return path;
}

TEST(what_was_seen_is_there_next_time)
{
	struct strata_corrections *seen = fresh(), *again = fresh();
	const char *path = path_of(NULL);

	CHECK_OK(load(path, 2, seen)); /* none yet */
	for (int i = 0; i < 9; i++)
		CHECK_OK(strata_corrections_observe(seen, "Conv", 1, 100, 170, &err));
	CHECK_OK(save(path, 2, seen));
	CHECK_OK(load(path, 2, again));
	CHECK(strata_corrections_factor(again, "Conv", 1) ==
	      strata_corrections_factor(seen, "Conv", 1));
	CHECK(strata_corrections_factor(again, "Conv", 0) == 1);
	strata_corrections_free(again);
	/* what another backend computed says nothing */
	again = fresh();
	backend = "onnxruntime";
	CHECK_OK(load(path, 2, again));
	CHECK(strata_corrections_factor(again, "Conv", 1) == 1);
	CHECK_OK(strata_corrections_observe(again, "Conv", 1, 100, 30, &err));
	CHECK_OK(save(path, 2, again));
	backend = "native";
	strata_corrections_free(again);
	again = fresh();
	CHECK_OK(load(path, 2, again));
	CHECK(strata_corrections_factor(again, "Conv", 1) ==
	      strata_corrections_factor(seen, "Conv", 1));
	strata_corrections_free(again);
	/* another device's is added, and this one's stays */
	again = fresh();
	CHECK_OK(strata_corrections_observe(again, "Add", 0, 100, 50, &err));
	CHECK_OK(save(path, 1, again));
	char *text = test_read_file(path, NULL);

	CHECK(strstr(text, "\"Conv\"") && strstr(text, "\"Add\""));
	free(text);
	strata_corrections_free(again);
	strata_corrections_free(seen);
	forget();
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_features_earned_is_there_next_time)
{
	const struct strata_adaptive_facts facts = { .workload = "other", .device_count = 2 };
	const struct strata_adaptive_outcome outcome = { .success = true,
							 .predicted_ns = 100,
							 .observed_ns = 120,
							 .single_ns = 100 };
	struct strata_corrections *corrections = fresh();
	struct strata_adaptive_metrics before, after;
	struct strata_adaptive_trial trial;
	struct strata_adaptive_choice choice;
	struct strata_arena arena;
	const char *path = path_of("{");

	strata_arena_init(&arena, &memory, 0);
	about(2, corrections);
	for (int i = 0; i < 11; i++)
		CHECK_OK(strata_adaptive_report(adaptive, &outcome, &err));
	CHECK_OK(strata_adaptive_decide(adaptive, &facts, &arena, &choice, &err));
	CHECK(choice.features >> STRATA_FEATURE_SEMANTIC & 1);
	strata_adaptive_metrics(adaptive, &before);
	CHECK_OK(save(path, 2, corrections));
	forget();
	about(2, corrections);
	CHECK_OK(strata_adaptive_decide(adaptive, &facts, &arena, &choice, &err));
	CHECK(!(choice.features >> STRATA_FEATURE_SEMANTIC & 1)); /* it is not earned yet */
	CHECK_OK(load(path, 2, corrections));
	CHECK_OK(strata_adaptive_decide(adaptive, &facts, &arena, &choice, &err));
	CHECK(choice.features >> STRATA_FEATURE_SEMANTIC & 1);
	strata_adaptive_metrics(adaptive, &after);
	CHECK_INT(after.schedules, before.schedules);
	CHECK_INT(after.off_by[4], before.off_by[4]);
	CHECK(strata_adaptive_trial_at(adaptive, STRATA_FEATURE_SEMANTIC, &trial));
	CHECK(trial.on && !trial.withdrawn && trial.without.count == 11);
	strata_arena_fini(&arena);
	strata_corrections_free(corrections);
	forget();
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_damaged_file_is_not_believed)
{
	static const char *const texts[] = {
		"", "{", "[]", "{\"strata_experience\": 2, \"devices\": {}}", "{\"strata_experience\": 1}",
		"{\"strata_experience\": 1, \"devices\": {\"cpu:0\": {\"Conv\": {\"slow\": 99, \"fast\": 0, \"count\": 1}}}}",
		"{\"strata_experience\": 1, \"devices\": {\"cpu:0\": {\"Conv\": {\"slow\": 0, \"fast\": 0, \"count\": -1}}}}",
		"{\"strata_experience\": 1, \"devices\": {}, \"schedules\": {\"all\": 1, \"successes\": 2}}",
		"{\"strata_experience\": 1, \"devices\": {}, \"schedules\": {\"all\": 1}, \"features\": {\"memory_optimization\": {\"wait\": 100, \"since\": 2}}}",
	};
	struct strata_corrections *corrections = fresh();

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int rc = load(path_of(texts[i]), 2, corrections);

		CHECK(rc == -EBADMSG || rc == -EINVAL);
		CHECK(strstr(err.text, "experience"));
	}
	CHECK_OK(save(path_of("{"), 2, corrections));
	CHECK_OK(load(path_of(NULL), 2, corrections));
	strata_corrections_free(corrections);
	forget();
}

TEST(a_file_has_a_limit)
{
	struct strata_corrections *corrections = fresh();
	char *text = malloc(STRATA_EXPERIENCE_BYTES_MAX + 2);
	static const char head[] = "{\"strata_experience\": 1, \"devices\": {}}";

	memset(text, ' ', STRATA_EXPERIENCE_BYTES_MAX + 1);
	memcpy(text, head, sizeof(head) - 1);
	text[STRATA_EXPERIENCE_BYTES_MAX] = 0;
	CHECK_OK(load(path_of(text), 2, corrections));
	text[STRATA_EXPERIENCE_BYTES_MAX] = ' ';
	text[STRATA_EXPERIENCE_BYTES_MAX + 1] = 0;
	CHECK_ERROR(load(path_of(text), 2, corrections), -EINVAL,
		    "is not a file of up to");
	free(text);
	strata_corrections_free(corrections);
	forget();
}
