/* The process that a study runs in: this program as `study` (cli/cmd_study.c), without rights, with
 * its input in memory and its answer read with a limit. */
#ifndef SERVER_STUDY_PROCESS_H
#define SERVER_STUDY_PROCESS_H

#include <strata/error.h>

#include <stdbool.h>
#include <stddef.h>

enum { STUDY_INPUTS_MAX = 2, STUDY_WORDS_MAX = 16 };

struct study_input {
	const char *bytes;
	size_t count;
};

struct study_run {
	const char *words[STUDY_WORDS_MAX]; /* of the command; NULL behind the last */
	/* the first is its standard input, the next is descriptor 3 */
	struct study_input inputs[STUDY_INPUTS_MAX];
	size_t input_count;
	/* Called a few times a second, with what it last said of its progress (part < 0: nothing
	 * new); false ends it. */
	bool (*goes_on)(void *context, double part, const char *what);
	void *context;
};

/* What it printed, malloc's. -ECANCELED when goes_on said so; -ETIME, -ENOMEM, -E2BIG past a limit;
 * -EINVAL with its own sentence. */
int study_process_run(const struct study_run *run, char **ret_text, struct strata_error *err);

#endif
