/* Tokens of texts, for comparisons: tokenize FOLDER ROOM reads a JSON list of texts and prints, for each, the tokens alone and as a prompt of ROOM tokens. */
#include <strata/tokenizer.h>

#include "core/env.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void check(int rc)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}

static json_t *numbers(const int64_t *ids, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(ids[i]));
	return list;
}

int main(int argc, char **argv)
{
	struct strata_tokenizer_files files = { 0 };
	struct strata_tokenizer *tokenizer;
	json_t *texts = json_loadf(stdin, 0, NULL), *all = json_array(), *text;
	size_t room = argc == 3 ? (size_t)atoi(argv[2]) : 0, index;
	char path[4096], *bytes;

	if (room < 2 || !json_is_array(texts))
		return 2;
	strata_arena_init(&arena, &memory, 0);
	snprintf(path, sizeof(path), "%s/tokenizer.json", argv[1]);
	check(env_read_file(env_system(), AT_FDCWD, path, STRATA_JSON_BYTES_MAX, &arena, &bytes,
			    &files.json_length, &err));
	files.json = bytes;
	snprintf(path, sizeof(path), "%s/tokenizer_config.json", argv[1]);
	check(env_read_file(env_system(), AT_FDCWD, path, STRATA_JSON_BYTES_MAX, &arena, &bytes,
			    &files.config_length, &err));
	files.config = bytes;
	check(strata_tokenizer_new(&files, &memory, &tokenizer, &err));
	json_array_foreach(texts, index, text)
	{
		int64_t *ids, *prompt = calloc(room, sizeof(*prompt));
		size_t count, length;
		char *back;

		check(strata_tokenizer_encode(tokenizer, json_string_value(text),
					      json_string_length(text), &arena, &ids, &count,
					      &err));
		check(strata_tokenizer_prompt(tokenizer, json_string_value(text),
					      json_string_length(text), room, &arena, prompt,
					      &err));
		check(strata_tokenizer_decode(tokenizer, ids, count, &arena, &back, &length, &err));
		json_array_append_new(all, json_pack("{s:o,s:o,s:s#}", "ids", numbers(ids, count),
						     "prompt", numbers(prompt, room), "back", back,
						     (int)length));
		free(prompt);
	}
	json_dumpf(all, stdout, JSON_COMPACT);
	json_decref(all);
	json_decref(texts);
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
	return 0;
}
