/*
 * Words into options, as GNU getopt_long does it and in its words when it fails, because Slurm's
 * users know these: long names may be cut short while they stay unique, letters may be bundled,
 * values follow directly or as the next word, and the first operand ends the options.
 */
#include "formats/slurm.h"

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void sbatch_words_init(struct sbatch_words *words, const char *const *list, size_t count,
		       unsigned command)
{
	*words = (struct sbatch_words){ .words = list, .count = count, .command = command };
}

/* Names in messages are cut, as everything that comes from outside. */
static int fail_word(struct strata_error *err, const char *before, const char *word,
		     const char *after)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	text_excerpt(word, strlen(word), excerpt);
	return strata_fail(err, -EINVAL, "%s'%s'%s", before, excerpt, after);
}

static int fail_ambiguous(const struct sbatch_words *words, const char *word, size_t length,
			  struct strata_error *err)
{
	char list[300] = "", excerpt[TEXT_EXCERPT_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < sbatch_row_count && used < sizeof(list); i++) {
		const struct strata_slurm_option *option = &sbatch_rows[i].option;

		if ((option->commands & words->command) && strncmp(option->name, word, length) == 0)
			used += (size_t)snprintf(list + used, sizeof(list) - used, " '--%s'",
						 option->name);
	}
	text_excerpt(word, strlen(word), excerpt);
	return strata_fail(err, -EINVAL, "option '--%s' is ambiguous; possibilities:%s", excerpt,
			   list);
}

/* The row a long option's first length characters name. */
static int find_long(const struct sbatch_words *words, const char *word, size_t length,
		     const struct sbatch_row **ret_row, struct strata_error *err)
{
	const struct sbatch_row *found = NULL;
	size_t matches = 0;

	for (size_t i = 0; i < sbatch_row_count; i++) {
		const struct sbatch_row *row = &sbatch_rows[i];

		if (!(row->option.commands & words->command) ||
		    strncmp(row->option.name, word, length) != 0)
			continue;
		matches++;
		found = row;
		if (row->option.name[length] == '\0') {
			*ret_row = row;
			return 0;
		}
	}
	if (matches == 0)
		return fail_word(err, "unrecognized option ", word - 2, "");
	if (matches > 1)
		return fail_ambiguous(words, word, length, err);
	*ret_row = found;
	return 0;
}

static int next_long(struct sbatch_words *words, const char *word,
		     const struct sbatch_row **ret_row, const char **ret_value,
		     struct strata_error *err)
{
	size_t length = strcspn(word, "=");
	const struct sbatch_row *row = NULL;
	const char *value = word[length] ? word + length + 1 : NULL;
	char spelled[STRATA_NAME_BYTES_MAX];
	int rc = find_long(words, word, length, &row, err);

	if (rc)
		return rc;
	snprintf(spelled, sizeof(spelled), "--%s", row->option.name);
	if (value && row->option.argument == STRATA_SLURM_NONE)
		return fail_word(err, "option ", spelled, " doesn't allow an argument");
	if (!value && row->option.argument == STRATA_SLURM_REQUIRED) {
		if (words->at == words->count)
			return fail_word(err, "option ", spelled, " requires an argument");
		value = words->words[words->at++];
	}
	*ret_row = row;
	*ret_value = value;
	return 0;
}

static int next_letter(struct sbatch_words *words, const struct sbatch_row **ret_row,
		       const char **ret_value, struct strata_error *err)
{
	const char letter[2] = { *words->letters++, '\0' };
	const struct sbatch_row *row = NULL;
	const char *value = NULL;

	for (size_t i = 0; i < sbatch_row_count && !row; i++)
		if (sbatch_rows[i].option.letter == letter[0] &&
		    (sbatch_rows[i].option.commands & words->command))
			row = &sbatch_rows[i];
	if (!row)
		return fail_word(err, "invalid option -- ", letter, "");
	if (*words->letters && row->option.argument != STRATA_SLURM_NONE) {
		value = words->letters;
		words->letters = NULL;
	} else if (row->option.argument == STRATA_SLURM_REQUIRED) {
		if (words->at == words->count)
			return fail_word(err, "option requires an argument -- ", letter, "");
		value = words->words[words->at++];
	}
	if (words->letters && *words->letters == '\0')
		words->letters = NULL;
	*ret_row = row;
	*ret_value = value;
	return 0;
}

int sbatch_words_next(struct sbatch_words *words, const struct sbatch_row **ret_row,
		      const char **ret_value, struct strata_error *err)
{
	if (words->letters)
		return next_letter(words, ret_row, ret_value, err);
	const char *word = words->at < words->count ? words->words[words->at] : "";

	if (word[0] != '-' || word[1] == '\0') {
		*ret_row = NULL;
		return 0;
	}
	words->at++;
	if (strcmp(word, "--") == 0) {
		*ret_row = NULL;
		return 0;
	}
	if (word[1] == '-')
		return next_long(words, word + 2, ret_row, ret_value, err);
	words->letters = word + 1;
	return next_letter(words, ret_row, ret_value, err);
}
