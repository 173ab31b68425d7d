#include "test.h"

#include "formats/tokenizer_split.h"
#include "formats/unicode.h"

#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

/* The words of a text with bars between. */
static const char *split(enum strata_tokenizer_style style, const char *text)
{
	static char shown[512];
	struct strata_arena arena;
	uint32_t *codes;
	size_t count, to = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(unicode_decode(text, strlen(text), &arena, &codes, &count, &err));
	for (size_t at = 0, end; at < count; at = end) {
		end = tokenizer_word_end(style, codes, count, at);
		CHECK(end > at && end <= count);
		if (at)
			shown[to++] = '|';
		for (size_t i = at; i < end; i++)
			to += unicode_encode(codes[i], shown + to);
	}
	shown[to] = '\0';
	strata_arena_fini(&arena);
	return shown;
}

TEST(clip_splits)
{
	enum strata_tokenizer_style clip = STRATA_TOKENIZER_CLIP;

	CHECK_TEXT(split(clip, "a fox, 42!"), "a| |fox|,| |4|2|!");
	CHECK_TEXT(split(clip, "he's they're don't"), "he|'s| |they|'re| |don|'t");
	CHECK_TEXT(split(clip, "''s"), "''|s");
	CHECK_TEXT(split(clip, "'sx"), "'s|x");
}

TEST(gpt2_splits)
{
	enum strata_tokenizer_style gpt2 = STRATA_TOKENIZER_GPT2;

	CHECK_TEXT(split(gpt2, "Hello world"), "Hello| world");
	CHECK_TEXT(split(gpt2, "a  b"), "a| | b");
	CHECK_TEXT(split(gpt2, "a   "), "a|   ");
	CHECK_TEXT(split(gpt2, "a \n b"), "a| \n| b");
	CHECK_TEXT(split(gpt2, "x 123,456"), "x| 123|,|456");
	CHECK_TEXT(split(gpt2, "we'll 'S"), "we|'ll| '|S");
	CHECK_TEXT(split(gpt2, "tab\tx"), "tab|\t|x");
	CHECK_TEXT(split(gpt2, " "), " ");
}

TEST(llama3_splits)
{
	enum strata_tokenizer_style llama = STRATA_TOKENIZER_LLAMA3;

	CHECK_TEXT(split(llama, "Hello world"), "Hello| world");
	CHECK_TEXT(split(llama, "1234567"), "123|456|7");
	CHECK_TEXT(split(llama, "it'S"), "it|'S");
	CHECK_TEXT(split(llama, "tab\tx"), "tab|\tx");
	CHECK_TEXT(split(llama, "a!\n\nb"), "a|!\n\n|b");
	CHECK_TEXT(split(llama, "a \n  b"), "a| \n| | b");
	CHECK_TEXT(split(llama, "(x)"), "(x|)");
	CHECK_TEXT(split(llama, "a 5"), "a| |5");
	CHECK_TEXT(split(llama, "x  "), "x|  ");
}
