/* Batch jobs in tests: a command line as words in one text, with or without a script. */
#ifndef TESTS_SBATCH_TEXT_H
#define TESTS_SBATCH_TEXT_H

#include "test.h"

#include <strata/sbatch.h>

#include <stdio.h>
#include <string.h>

enum { SBATCH_TEXT_WORDS = 40 };

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_sbatch job;

/* 2026-11-15T23:30:46Z */
#define SBATCH_TEXT_NOW (INT64_C(1794785446) * STRATA_SECOND_NS)

/* Parses "script" (NULL: --wrap is added) with the words of `args` and the variables of env. */
static inline int sbatch_text_env(const char *script, const char *args, const char *const *env)
{
	static char copy[2000];
	const char *words[SBATCH_TEXT_WORDS];
	size_t count = 0;
	char *rest;

	snprintf(copy, sizeof(copy), "%s", args);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	if (!script)
		words[count++] = "--wrap=true";
	else
		words[count++] = "dir/job.sh";
	struct strata_sbatch_input in = {
		.script = script,
		.script_length = script ? strlen(script) : 0,
		.script_name = script ? "dir/job.sh" : NULL,
		.args = words,
		.arg_count = count,
		.env = env,
		.now_ns = SBATCH_TEXT_NOW,
	};

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	job = (struct strata_sbatch){ .verbose = -7 };
	return strata_sbatch_parse(&in, &arena, &job, &err);
}

static inline int sbatch_text(const char *script, const char *args)
{
	return sbatch_text_env(script, args, NULL);
}

/* The options alone, with --wrap. */
static inline int options(const char *args)
{
	return sbatch_text(NULL, args);
}

#endif
