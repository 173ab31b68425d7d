/*
 * The #SBATCH lines of a script. They end at the first line that is neither blank nor a comment; a
 * line counts only when #SBATCH are its first characters. Words are cut as Slurm cuts them: quotes
 * of either kind, a backslash before anything but a blank, a # outside quotes starts a comment, and
 * an empty word ends the line.
 */
#include "slurm/sbatch_int.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

static const char magic[] = "#SBATCH";
enum { MAGIC_LENGTH = sizeof(magic) - 1 };

struct line {
	const char *at, *end;
	size_t number; /* from 1 */
};

struct list {
	struct strata_arena *arena;
	const char **words;
	size_t count;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

int sbatch_script_check(const char *script, size_t length, struct strata_error *err)
{
	if (length == 0 || !script)
		return strata_fail(err, -EBADMSG, "Batch script is empty!");
	if (length > STRATA_SCRIPT_BYTES_MAX)
		return strata_fail(err, -E2BIG, "Batch script has %zu bytes; expected at most %d",
				   length, STRATA_SCRIPT_BYTES_MAX);
	for (size_t i = 0; i < length && is_blank(script[i]); i++)
		if (i + 1 == length)
			return strata_fail(err, -EBADMSG, "Batch script contains only whitespace!");
	if (length < 2 || memcmp(script, "#!", 2) != 0)
		return strata_fail(err, -EBADMSG,
				   "This does not look like a batch script.  The first; line must "
				   "start with #! followed by the path to an interpreter.; For "
				   "instance: #!/bin/sh");
	if (memchr(script, '\0', length))
		return strata_fail(err, -EBADMSG,
				   "The Slurm controller does not allow scripts that; contain a "
				   "NULL character '\\0'.");
	if (memmem(script, length, "\r\n", 2))
		return strata_fail(err, -EBADMSG,
				   "Batch script contains DOS line breaks (\\r\\n); instead of "
				   "expected UNIX line breaks (\\n).");
	return 0;
}

static int fail_line(const struct line *line, const char *name, const char *what, char mark,
		     const char *from, struct strata_error *err)
{
	char excerpt[TEXT_EXCERPT_BYTES], where[TEXT_EXCERPT_BYTES];

	text_excerpt(from, (size_t)(line->end - from), excerpt);
	text_excerpt(name, strlen(name), where);
	return strata_fail(err, -EBADMSG, "fatal: %s: line %zu: %s `%c` in [%s]", where,
			   line->number, what, mark, excerpt);
}

/* The next word of a line, in room at least as long as the line; its length is 0 at the end. */
static int next_word(struct line *line, const char *name, char *word, size_t *ret_length,
		     struct strata_error *err)
{
	const char *from = line->at;
	size_t length = 0;
	char quote = 0;

	while (line->at < line->end && is_blank(*line->at))
		line->at++;
	if (line->at < line->end && *line->at == ':')
		return fail_line(line, name, "Unexpected", ':', from, err);
	for (; line->at < line->end && (quote || !is_blank(*line->at)); line->at++) {
		char c = *line->at;

		if (c == '\\') {
			if (++line->at == line->end || is_blank(*line->at))
				break;
			word[length++] = *line->at;
		} else if (quote && c == quote) {
			quote = 0;
		} else if (!quote && (c == '"' || c == '\'')) {
			quote = c;
		} else if (!quote && c == '#') {
			line->at = line->end;
			break;
		} else {
			word[length++] = c;
		}
	}
	if (quote)
		return fail_line(line, name, "Unmatched", quote, from, err);
	*ret_length = length;
	return 0;
}

static int add_word(struct list *list, const char *word, size_t length, struct strata_error *err)
{
	if (list->count == STRATA_SCRIPT_WORDS_MAX)
		return strata_fail(err, -E2BIG, "the #SBATCH lines have more than %d words",
				   STRATA_SCRIPT_WORDS_MAX);
	if (length > STRATA_SLURM_VALUE_BYTES_MAX)
		return strata_fail(err, -E2BIG, "a word of a #SBATCH line has more than %d bytes",
				   STRATA_SLURM_VALUE_BYTES_MAX);
	const char *copy = strata_arena_text(list->arena, word, length);

	if (!copy)
		return strata_fail_memory(err);
	list->words[list->count++] = copy;
	return 0;
}

static int add_words(struct list *list, struct line *line, const char *name,
		     struct strata_error *err)
{
	size_t length = (size_t)(line->end - line->at);
	char *word = strata_arena_get(list->arena, length);
	int rc = word ? next_word(line, name, word, &length, err) : strata_fail_memory(err);

	while (rc == 0 && length > 0) {
		rc = add_word(list, word, length, err);
		if (rc == 0)
			rc = next_word(line, name, word, &length, err);
	}
	return rc;
}

/* Neither blank nor a comment: a command, which ends the directives. */
static bool is_command(const struct line *line)
{
	const char *p = line->at;

	while (p < line->end && is_blank(*p))
		p++;
	return p < line->end && *p != '#';
}

int sbatch_script_words(const char *script, size_t length, const char *name,
			struct strata_arena *arena, const char ***ret_words, size_t *ret_count,
			struct strata_error *err)
{
	const char *slash = strrchr(name, '/'), *end = script + length;
	struct line line = { .end = script };
	struct list list = {
		.arena = arena,
		.words = strata_arena_array(arena, STRATA_SCRIPT_WORDS_MAX, sizeof(*list.words)),
	};

	if (!list.words)
		return strata_fail_memory(err);
	for (const char *at = script; at < end; at = line.end + (line.end < end)) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		line.at = at;
		line.end = newline ? newline : end;
		line.number++;
		if (line.end - at < MAGIC_LENGTH || memcmp(at, magic, MAGIC_LENGTH) != 0) {
			if (is_command(&line))
				break;
			continue;
		}
		line.at += MAGIC_LENGTH;
		int rc = add_words(&list, &line, slash ? slash + 1 : name, err);

		if (rc)
			return rc;
	}
	*ret_words = list.words;
	*ret_count = list.count;
	return 0;
}
