/*
 * Jobs as words of a command line: "17", which is all of it where 17 is an array, "17_3",
 * "17_[3-9,12]" and "17_*". One word is one request, however many elements it means.
 */
#include "cli/service.h"

#include <strata/slurm.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of one word: a URL has room for it. */
enum { ELEMENTS_BYTES_MAX = 4000 };

struct job_word job_word_read(const char *word)
{
	struct job_word read = { .digits = strspn(word, "0123456789") };
	const char *rest = word + read.digits;

	if (read.digits == 0 || (*rest && *rest != '_'))
		return read;
	read.form = *rest ? JOB_WORD_ELEMENT : JOB_WORD_NUMBER;
	read.elements = rest + (*rest == '_');
	read.length = strlen(read.elements);
	if (strcmp(rest, "_*") == 0) {
		read.form = JOB_WORD_ALL;
	} else if (read.length > 2 && *read.elements == '[' &&
		   read.elements[read.length - 1] == ']') {
		read.form = JOB_WORD_LIST;
		read.elements++;
		read.length -= 2;
	}
	return read;
}

void job_path(struct cli *cli, struct buf *path, const char *word)
{
	struct job_word read = job_word_read(word);
	const char *elements = "all";

	if (read.form == JOB_WORD_NAME) {
		service_path(cli, path, "jobs", word, NULL);
		return;
	}
	service_path(cli, path, "jobs", "", NULL);
	buf_add_bytes(path, word, read.digits);
	if (read.form == JOB_WORD_ELEMENT || read.form == JOB_WORD_LIST)
		elements = strata_arena_text(&cli->arena, read.elements, read.length);
	path->failed |= !elements; /* or what is asked for would be more than was meant */
	client_query(path, "elements", elements);
}

/* ---- from a list ---- */

struct entry {
	int64_t id, array, index; /* array 0: of none */
};

static int compare(const void *a_any, const void *b_any)
{
	const struct entry *a = a_any, *b = b_any;
	int64_t left = a->array ? a->array : a->id, right = b->array ? b->array : b->id;

	if (left != right)
		return left < right ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

struct words {
	struct cli *cli;
	char **list;
	size_t count;
	bool failed;
};

static void add_word(struct words *words, const char *word)
{
	words->failed |= !word;
	words->list[words->count++] = (char *)(uintptr_t)word;
}

/* As many ranges as a word has room for, then the next. */
static void add_elements(struct words *words, int64_t array, const struct strata_array *elements)
{
	struct strata_arena *arena = &words->cli->arena;
	struct buf text;

	buf_init(&text, &words->cli->memory, 0);
	for (size_t i = 0; i < elements->range_count; i++) {
		const struct strata_array_range *range = &elements->ranges[i];

		buf_printf(&text, "%s%" PRId64, text.length ? "," : "", range->first);
		if (range->last > range->first)
			buf_printf(&text, "-%" PRId64, range->last);
		if (range->last > range->first && range->step > 1)
			buf_printf(&text, ":%" PRId64, range->step);
		if (i + 1 < elements->range_count && text.length < ELEMENTS_BYTES_MAX)
			continue;
		bool one = range->last == range->first && !strchr(text.text, ',');

		add_word(words,
			 strata_arena_printf(arena, one ? "%" PRId64 "_%s" : "%" PRId64 "_[%s]",
					     array, text.text));
		buf_reset(&text);
	}
	words->failed |= text.failed;
	buf_fini(&text);
}

/* Those of the array that the first is of; how many they are. */
static size_t add_array(struct words *words, const struct entry *first, size_t count)
{
	struct strata_array elements;
	struct buf text;
	size_t of_it = 0;

	buf_init(&text, &words->cli->memory, 0);
	for (; of_it < count && first[of_it].array == first->array; of_it++)
		buf_printf(&text, "%s%" PRId64, of_it ? "," : "", first[of_it].index);
	if (text.failed || strata_array_parse(text.text, text.length, &words->cli->arena, &elements,
					      &words->cli->err))
		words->failed = true;
	else
		add_elements(words, first->array, &elements);
	buf_fini(&text);
	return of_it;
}

int job_words(struct cli *cli, const json_t *jobs, char ***ret_words, size_t *ret_count)
{
	size_t count = json_array_size(jobs), i;
	struct entry *entries = strata_arena_array(&cli->arena, count + 1, sizeof(*entries));
	struct words words = { .cli = cli };
	const json_t *job;

	words.list = strata_arena_array(&cli->arena, count + 1, sizeof(*words.list));
	if (!entries || !words.list)
		return strata_fail_memory(&cli->err);
	json_array_foreach(jobs, i, job)
	{
		entries[i] = (struct entry){ grid_int(job, "id"), grid_int(job, "array_id"),
					     grid_int(job, "array_index") };
	}
	qsort(entries, count, sizeof(*entries), compare);
	for (i = 0; i < count && !words.failed;) {
		if (entries[i].array) {
			i += add_array(&words, &entries[i], count - i);
			continue;
		}
		add_word(&words, strata_arena_printf(&cli->arena, "%" PRId64, entries[i++].id));
	}
	if (words.failed)
		return strata_fail_memory(&cli->err);
	*ret_words = words.list;
	*ret_count = words.count;
	return 0;
}
