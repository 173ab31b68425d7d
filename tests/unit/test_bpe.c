#include "test.h"

#include "formats/bpe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const char vocab[] =
	"{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"bc\":5,\"aa\":6,\"aaaa\":7}";

static int init(struct bpe *bpe, const char *tokens, const char *merges)
{
	return bpe_init(bpe, tokens, strlen(tokens), merges, strlen(merges), &memory, &err);
}

static void refuse(const char *tokens, const char *merges, int code, const char *words)
{
	struct bpe bpe;

	CHECK_ERROR(init(&bpe, tokens, merges), code, words);
	bpe_fini(&bpe);
	CHECK_INT(memory.used_bytes, 0);
}

static const char *merge(const char *merges, const char *word)
{
	static char shown[256];
	uint32_t tokens[64];
	struct strata_arena arena;
	struct bpe bpe;
	size_t count = strlen(word), at = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(init(&bpe, vocab, merges));
	for (size_t i = 0; i < count; i++)
		tokens[i] = (uint32_t)bpe.bytes[(uint8_t)word[i]];
	CHECK_OK(bpe_merge(&bpe, tokens, count, &arena, &count, &err));
	shown[0] = '\0';
	for (size_t i = 0; i < count; i++)
		at += (size_t)sprintf(shown + at, "%s%s", i ? " " : "", bpe.tokens[tokens[i]].text);
	bpe_fini(&bpe);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
	return shown;
}

TEST(the_first_pair_of_the_list_goes_first)
{
	CHECK_TEXT(merge("a b\nab c\n", "abc"), "abc");
	CHECK_TEXT(merge("b c\na b\nab c\n", "abc"), "a bc");
	CHECK_TEXT(merge("a b\n", "cabab"), "c ab ab");
	CHECK_TEXT(merge("a a\naa aa\n", "aaaaaaa"), "aaaa aa a");
	CHECK_TEXT(merge("a a\n", "aaa"), "aa a"); /* the left one of equals */
	CHECK_TEXT(merge("", "abc"), "a b c");
	CHECK_TEXT(merge("a b\n", ""), "");
}

TEST(merges_may_have_a_version_and_any_line_end)
{
	CHECK_TEXT(merge("#version: 0.2\r\na b\r\nab c", "abc"), "abc");
	CHECK_TEXT(merge("\n\na b\na b\n", "ab"), "ab");
}

TEST(bytes_have_characters)
{
	CHECK_INT(bpe_code_of_byte('a'), 'a');
	CHECK_INT(bpe_code_of_byte(0), 256);
	CHECK_INT(bpe_code_of_byte(' '), 0x120);
	CHECK_INT(bpe_code_of_byte('\n'), 0x10A);
	CHECK_INT(bpe_code_of_byte(0xAD), 256 + 67);
	for (int byte = 0; byte < 256; byte++)
		CHECK_INT(bpe_byte_of_code(bpe_code_of_byte((uint8_t)byte)), byte);
	CHECK_INT(bpe_byte_of_code(' '), -1);
	CHECK_INT(bpe_byte_of_code(256 + 68), -1);
}

TEST(bad_files_are_refused)
{
	refuse("[]", "", -EBADMSG, "vocab.json");
	refuse("{}", "", -EBADMSG, "vocab.json");
	refuse("{\"a\"", "", -EINVAL, "JSON");
	refuse("{\"a\":\"x\"}", "", -EBADMSG, "\"a\"");
	refuse("{\"a\":-1}", "", -E2BIG, "\"a\"");
	refuse("{\"a\":1,\"b\":1}", "", -EBADMSG, "number 1");
	refuse(vocab, "ab\n", -EBADMSG, "line 1");
	refuse(vocab, "a b\n c\n", -EBADMSG, "line 2");
	refuse(vocab, "a \n", -EBADMSG, "blank between");
	refuse(vocab, "a x\n", -EBADMSG, "vocabulary lacks");
	refuse(vocab, "a c\n", -EBADMSG, "vocabulary lacks");
}

TEST(numbers_and_lines_are_bounded)
{
	char text[64], *lines = malloc(STRATA_TOKENIZER_MERGES_MAX + 1);
	struct bpe bpe;

	sprintf(text, "{\"a\":%d}", STRATA_TOKENIZER_TOKENS_MAX - 1);
	CHECK_OK(init(&bpe, text, ""));
	bpe_fini(&bpe);
	sprintf(text, "{\"a\":%d}", STRATA_TOKENIZER_TOKENS_MAX);
	refuse(text, "", -E2BIG, "2097151");
	CHECK(lines);
	memset(lines, '\n', STRATA_TOKENIZER_MERGES_MAX);
	lines[STRATA_TOKENIZER_MERGES_MAX - 1] = '\0';
	CHECK_OK(init(&bpe, vocab, lines));
	bpe_fini(&bpe);
	lines[STRATA_TOKENIZER_MERGES_MAX - 1] = '\n';
	lines[STRATA_TOKENIZER_MERGES_MAX] = '\0';
	refuse(vocab, lines, -E2BIG, "lines");
	memset(lines, 'a', STRATA_TOKENIZER_TOKEN_BYTES_MAX + 1);
	lines[1] = ' ';
	lines[STRATA_TOKENIZER_TOKEN_BYTES_MAX] = '\0';
	refuse(vocab, lines, -EBADMSG, "vocabulary lacks");
	lines[STRATA_TOKENIZER_TOKEN_BYTES_MAX] = 'a';
	lines[STRATA_TOKENIZER_TOKEN_BYTES_MAX + 1] = '\0';
	refuse(vocab, lines, -E2BIG, "bytes");
	free(lines);
}
