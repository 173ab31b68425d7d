/*
 * Words into options, as GNU getopt_long does it and in its words when it fails, because Slurm's
 * users know these: long names may be cut short while they stay unique, letters may be bundled,
 * values follow directly or as the next word. Operands stand between options as they like, but for
 * commands whose first operand is a program or a verb, with words of its own behind it.
 */
#include "slurm/rows.h"

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct slurm_row *slurm_row_next(const struct slurm_syntax *syntax,
				       const struct slurm_row *row)
{
	row = row ? row + 1 : syntax->rows;
	while (row->option.name && (row->option.commands & syntax->commands) != syntax->commands)
		row++;
	return row->option.name ? row : NULL;
}

bool slurm_row_same(const struct slurm_row *left, const struct slurm_row *right)
{
	return left->read == right->read && left->offset == right->offset &&
	       left->text == right->text && left->option.argument == right->option.argument &&
	       left->option.effect == right->option.effect &&
	       strcmp(left->option.help, right->option.help) == 0;
}

/* Names in messages are cut, as everything that comes from outside. */
static int fail_word(struct strata_error *err, const char *before, const char *word,
		     const char *after)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	text_excerpt(word, strlen(word), excerpt);
	return strata_fail(err, -EINVAL, "%s'%s'%s", before, excerpt, after);
}

/* "--ndoes=2": a name that is near is offered. */
static int fail_unknown(const struct slurm_words *words, const char *word, size_t length,
			struct strata_error *err)
{
	char hint[STRATA_NAME_BYTES_MAX + 32] = "";
	struct text_closest closest;

	text_closest_init(&closest, word, length);
	for (const struct slurm_row *row = NULL; (row = slurm_row_next(words->syntax, row));)
		text_closest_offer(&closest, row->option.name);
	if (closest.best)
		snprintf(hint, sizeof(hint), "; did you mean --%s?", closest.best);
	return fail_word(err, "unrecognized option ", word - 2, hint);
}

static int fail_ambiguous(const struct slurm_words *words, const char *word, size_t length,
			  struct strata_error *err)
{
	char list[300] = "", excerpt[TEXT_EXCERPT_BYTES];
	size_t used = 0;

	for (const struct slurm_row *row = NULL;
	     used < sizeof(list) && (row = slurm_row_next(words->syntax, row));)
		if (strncmp(row->option.name, word, length) == 0)
			used += (size_t)snprintf(list + used, sizeof(list) - used, " '--%s'",
						 row->option.name);
	text_excerpt(word, strlen(word), excerpt);
	return strata_fail(err, -EINVAL, "option '--%s' is ambiguous; possibilities:%s", excerpt,
			   list);
}

/* The row a long option's first length characters name. */
static int find_long(const struct slurm_words *words, const char *word, size_t length,
		     const struct slurm_row **ret_row, struct strata_error *err)
{
	const struct slurm_row *found = NULL;
	bool ambiguous = false;

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(words->syntax, row));) {
		if (strncmp(row->option.name, word, length) != 0)
			continue;
		if (row->option.name[length] == '\0') {
			*ret_row = row;
			return 0;
		}
		ambiguous |= found && !slurm_row_same(found, row);
		found = found ? found : row;
	}
	if (!found)
		return fail_unknown(words, word, length, err);
	if (ambiguous)
		return fail_ambiguous(words, word, length, err);
	*ret_row = found;
	return 0;
}

static int next_long(struct slurm_words *words, const char *word, const struct slurm_row **ret_row,
		     const char **ret_value, struct strata_error *err)
{
	size_t length = strcspn(word, "=");
	const struct slurm_row *row = NULL;
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

static int next_letter(struct slurm_words *words, const struct slurm_row **ret_row,
		       const char **ret_value, struct strata_error *err)
{
	const char letter[2] = { *words->letters++, '\0' };
	const struct slurm_row *row = slurm_row_next(words->syntax, NULL);
	const char *value = NULL;

	while (row && row->option.letter != letter[0])
		row = slurm_row_next(words->syntax, row);
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

static bool is_operand(const char *word)
{
	return word[0] != '-' || word[1] == '\0';
}

int slurm_words_next(struct slurm_words *words, const struct slurm_row **ret_row,
		     const char **ret_value, struct strata_error *err)
{
	if (words->letters)
		return next_letter(words, ret_row, ret_value, err);
	while (words->operands && words->at < words->count && is_operand(words->words[words->at]))
		words->operands[words->operand_count++] = words->words[words->at++];
	const char *word = words->at < words->count ? words->words[words->at] : "";

	if (is_operand(word)) {
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
