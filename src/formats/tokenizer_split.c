/*
 * Words as three families of models cut them:
 *
 *	CLIP	's|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+		(blanks are between words)
 *	GPT-2	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *	Llama 3	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
#include "formats/tokenizer_split.h"

#include "formats/unicode.h"

#include <stdbool.h>
#include <string.h>

struct text {
	const uint32_t *codes;
	size_t count;
	enum strata_tokenizer_style style;
};

static bool is_letter(uint32_t code)
{
	return unicode_is_letter(code);
}

static bool is_number(uint32_t code)
{
	return unicode_is_number(code);
}

static bool is_space(uint32_t code)
{
	return unicode_is_space(code);
}

static bool is_other(uint32_t code)
{
	return !is_space(code) && !is_letter(code) && !is_number(code);
}

static bool is_line_end(uint32_t code)
{
	return code == '\r' || code == '\n';
}

/* The end of the run of such characters that begins at `at`, at most so many of them. */
static size_t run_of(const struct text *text, size_t at, bool (*is)(uint32_t code), size_t most)
{
	size_t end = at;

	while (end < text->count && end - at < most && is(text->codes[end]))
		end++;
	return end;
}

/* 's, 't, 're …; `at` itself where there is none. Llama takes them in capitals, too. */
static size_t contraction(const struct text *text, size_t at)
{
	static const char *const tails[] = { "s", "t", "re", "ve", "m", "ll", "d" };
	bool any_case = text->style == STRATA_TOKENIZER_LLAMA3;

	if (text->codes[at] != '\'')
		return at;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t length = strlen(tails[i]), k = 0;

		while (k < length && at + 1 + k < text->count) {
			uint32_t code = text->codes[at + 1 + k];

			if (code != (uint32_t)tails[i][k] &&
			    !(any_case && code == (uint32_t)(tails[i][k] - ('a' - 'A'))))
				break;
			k++;
		}
		if (k == length)
			return at + 1 + length;
	}
	return at;
}

/* White space: all of it at the end of the text; else all but the last, which belongs to what follows. */
static size_t spaces(const struct text *text, size_t at)
{
	size_t end = run_of(text, at, is_space, SIZE_MAX);

	return end == text->count || end == at + 1 ? end : end - 1;
}

/* CLIP: the text has been cleaned, so a blank is a word of its own that is thrown away. */
static size_t clip_end(const struct text *text, size_t at)
{
	uint32_t code = text->codes[at];

	if (is_space(code))
		return run_of(text, at, is_space, SIZE_MAX);
	return is_letter(code)   ? run_of(text, at, is_letter, SIZE_MAX)
	       : is_number(code) ? at + 1
				 : run_of(text, at, is_other, SIZE_MAX);
}

static size_t gpt2_end(const struct text *text, size_t at)
{
	size_t from = at + (text->codes[at] == ' ' && at + 1 < text->count);
	uint32_t code = text->codes[from];

	if (is_space(code))
		return spaces(text, at);
	return is_letter(code)   ? run_of(text, from, is_letter, SIZE_MAX)
	       : is_number(code) ? run_of(text, from, is_number, SIZE_MAX)
				 : run_of(text, from, is_other, SIZE_MAX);
}

/* White space that has a line end in it goes up to the last one. */
static size_t llama3_spaces(const struct text *text, size_t at)
{
	size_t end = run_of(text, at, is_space, SIZE_MAX);

	for (size_t i = end; i > at; i--)
		if (is_line_end(text->codes[i - 1]))
			return i;
	return spaces(text, at);
}

static size_t llama3_end(const struct text *text, size_t at)
{
	uint32_t code = text->codes[at];
	size_t next = at + 1;
	bool before_word = !is_line_end(code) && !is_letter(code) && !is_number(code);

	if (is_letter(code))
		return run_of(text, at, is_letter, SIZE_MAX);
	if (before_word && next < text->count && is_letter(text->codes[next]))
		return run_of(text, next, is_letter, SIZE_MAX);
	if (is_number(code))
		return run_of(text, at, is_number, 3);
	size_t from = at + (code == ' ' && next < text->count && is_other(text->codes[next]));

	if (is_other(text->codes[from]))
		return run_of(text, run_of(text, from, is_other, SIZE_MAX), is_line_end, SIZE_MAX);
	return llama3_spaces(text, at);
}

size_t tokenizer_word_end(enum strata_tokenizer_style style, const uint32_t *codes, size_t count,
			  size_t at)
{
	const struct text text = { codes, count, style };
	size_t end = contraction(&text, at);

	if (end > at)
		return end;
	return style == STRATA_TOKENIZER_CLIP   ? clip_end(&text, at)
	       : style == STRATA_TOKENIZER_GPT2 ? gpt2_end(&text, at)
						: llama3_end(&text, at);
}
