/*
 * Words that mean several jobs, for commands that look at each of them: "35" where 35 is an array,
 * "35_*" and "35_[1-4]" become "35_1", "35_2" …
 */
#include "cli/service.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The elements of an array that there are, the newest first, a page at a time. */
int job_array_walk(struct cli *cli, int64_t array, job_sink *sink, void *context)
{
	int64_t after = 0;
	int rc = 0;

	do {
		char text[24], last[24];
		struct buf path;
		json_t *json, *job;
		size_t i;

		snprintf(text, sizeof(text), "%" PRId64, array);
		snprintf(last, sizeof(last), "%" PRId64, after);
		service_path(cli, &path, "jobs", NULL, NULL);
		client_query(&path, "array", text);
		client_query(&path, "limit", "1000");
		client_query(&path, "after", after ? last : NULL);
		rc = service_get(cli, &path, &json);
		if (rc)
			return rc;
		json_array_foreach(json_object_get(json, "jobs"), i, job)
		{
			if (rc == 0)
				rc = sink(context, job);
		}
		after = grid_int(json, "next");
		json_decref(json);
	} while (rc == 0 && after > 0);
	return rc;
}

struct expanded {
	struct cli *cli;
	char **words;
	size_t count, room;
};

static int add(struct expanded *expanded, const char *word)
{
	if (!word)
		return strata_fail_memory(&expanded->cli->err);
	if (expanded->count == STRATA_SUBMISSION_JOBS_MAX)
		return strata_fail(&expanded->cli->err, -E2BIG, "these are more than %d jobs",
				   STRATA_SUBMISSION_JOBS_MAX);
	if (expanded->count == expanded->room) {
		size_t room = expanded->room ? 2 * expanded->room : 16;
		char **words = strata_arena_array(&expanded->cli->arena, room, sizeof(*words));

		if (!words)
			return strata_fail_memory(&expanded->cli->err);
		if (expanded->count)
			memcpy(words, expanded->words, expanded->count * sizeof(*words));
		expanded->words = words;
		expanded->room = room;
	}
	expanded->words[expanded->count++] = (char *)(uintptr_t)word;
	return 0;
}

static int add_element(struct expanded *expanded, int64_t array, int64_t index)
{
	return add(expanded, strata_arena_printf(&expanded->cli->arena, "%" PRId64 "_%" PRId64,
						 array, index));
}

static int add_job(void *context, const json_t *job)
{
	return add_element(context, grid_int(job, "array_id"), grid_int(job, "array_index"));
}

/* All there are of it, in the order of their indexes. */
static int add_array(struct expanded *expanded, int64_t array)
{
	size_t first = expanded->count;
	int rc = job_array_walk(expanded->cli, array, add_job, expanded);

	for (size_t low = first, high = expanded->count; low + 1 < high; low++, high--) {
		char *word = expanded->words[low];

		expanded->words[low] = expanded->words[high - 1];
		expanded->words[high - 1] = word;
	}
	return rc;
}

/* "35_[1-4]": as they were named, whether there are such or not. */
static int add_indexes(struct expanded *expanded, int64_t array, const char *indexes, size_t length)
{
	struct strata_array list;
	int rc = strata_array_parse(indexes, length, &expanded->cli->arena, &list,
				    &expanded->cli->err);

	for (size_t i = 0; rc == 0 && i < list.range_count; i++)
		for (int64_t index = list.ranges[i].first; rc == 0 && index <= list.ranges[i].last;
		     index += list.ranges[i].step)
			rc = add_element(expanded, array, index);
	return rc;
}

/* strtoll reads so many, whichever they are. */
enum { DIGITS_MAX = 18 };

bool job_is_array(struct cli *cli, const char *word, int64_t *ret_array)
{
	struct job_word read = job_word_read(word);
	struct buf path;
	json_t *job;

	if (read.form != JOB_WORD_NUMBER || read.digits > DIGITS_MAX)
		return false;
	service_path(cli, &path, "jobs", word, NULL);
	if (service_get(cli, &path, &job))
		return false; /* who asks for it next will hear why */
	*ret_array = strtoll(word, NULL, 10);
	bool is = grid_int(job, "array_id") == *ret_array;

	json_decref(job);
	return is;
}

static int expand(struct expanded *expanded, const char *word)
{
	struct job_word read = job_word_read(word);
	int64_t array;

	if (job_is_array(expanded->cli, word, &array))
		return add_array(expanded, array);
	if (read.digits > DIGITS_MAX)
		return add(expanded, word);
	array = strtoll(word, NULL, 10);
	if (read.form == JOB_WORD_ALL)
		return add_array(expanded, array);
	if (read.form == JOB_WORD_LIST)
		return add_indexes(expanded, array, read.elements, read.length);
	return add(expanded, word);
}

int job_expand(struct cli *cli, char *const *words, size_t count, char ***ret_words,
	       size_t *ret_count)
{
	struct expanded expanded = { .cli = cli };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = expand(&expanded, words[i]);
	if (rc)
		return rc;
	*ret_words = expanded.words;
	*ret_count = expanded.count;
	return 0;
}

int job_each_or_array(struct cli *cli, char *const *words, size_t count,
		      int (*show_array)(struct cli *cli, int64_t array), job_action *get,
		      job_printer *print)
{
	char **expanded;
	int64_t array;

	if (count == 1 && !cli->globals.json && job_is_array(cli, words[0], &array))
		return show_array(cli, array);
	int rc = job_expand(cli, words, count, &expanded, &count);

	return rc ? rc : job_each(cli, expanded, count, get, NULL, print);
}
