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

	CHECK_OK(engine_experience_load(path, devices, 2, seen, &err)); /* none yet */
	for (int i = 0; i < 9; i++)
		CHECK_OK(strata_corrections_observe(seen, "Conv", 1, 100, 170, &err));
	CHECK_OK(engine_experience_save(path, devices, 2, seen, &err));
	CHECK_OK(engine_experience_load(path, devices, 2, again, &err));
	CHECK(strata_corrections_factor(again, "Conv", 1) ==
	      strata_corrections_factor(seen, "Conv", 1));
	CHECK(strata_corrections_factor(again, "Conv", 0) == 1);
	strata_corrections_free(again);
	/* another device's is added, and this one's stays */
	again = fresh();
	CHECK_OK(strata_corrections_observe(again, "Add", 0, 100, 50, &err));
	CHECK_OK(engine_experience_save(path, devices, 1, again, &err));
	char *text = test_read_file(path, NULL);

	CHECK(strstr(text, "\"Conv\"") && strstr(text, "\"Add\""));
	free(text);
	strata_corrections_free(again);
	strata_corrections_free(seen);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_damaged_file_is_not_believed)
{
	static const char *const texts[] = {
		"", "{", "[]", "{\"strata_experience\": 2, \"devices\": {}}", "{\"strata_experience\": 1}",
		"{\"strata_experience\": 1, \"devices\": {\"cpu:0\": {\"Conv\": {\"slow\": 99, \"fast\": 0, \"count\": 1}}}}",
		"{\"strata_experience\": 1, \"devices\": {\"cpu:0\": {\"Conv\": {\"slow\": 0, \"fast\": 0, \"count\": -1}}}}",
	};
	struct strata_corrections *corrections = fresh();

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int rc = engine_experience_load(path_of(texts[i]), devices, 2, corrections, &err);

		CHECK(rc == -EBADMSG || rc == -EINVAL);
		CHECK(strstr(err.text, "experience"));
	}
	CHECK_OK(engine_experience_save(path_of("{"), devices, 2, corrections, &err));
	CHECK_OK(engine_experience_load(path_of(NULL), devices, 2, corrections, &err));
	strata_corrections_free(corrections);
}

TEST(a_file_has_a_limit)
{
	struct strata_corrections *corrections = fresh();
	char *text = malloc(STRATA_EXPERIENCE_BYTES_MAX + 2);
	static const char head[] = "{\"strata_experience\": 1, \"devices\": {}}";

	memset(text, ' ', STRATA_EXPERIENCE_BYTES_MAX + 1);
	memcpy(text, head, sizeof(head) - 1);
	text[STRATA_EXPERIENCE_BYTES_MAX] = 0;
	CHECK_OK(engine_experience_load(path_of(text), devices, 2, corrections, &err));
	text[STRATA_EXPERIENCE_BYTES_MAX] = ' ';
	text[STRATA_EXPERIENCE_BYTES_MAX + 1] = 0;
	CHECK_ERROR(engine_experience_load(path_of(text), devices, 2, corrections, &err), -EINVAL,
		    "is not a file of up to");
	free(text);
	strata_corrections_free(corrections);
}
