#include "test.h"

#include "formats/tokenizer_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct tokenizer_conf conf;

static int read_with(const char *vocab, const char *config, const char *specials)
{
	const struct strata_tokenizer_files files = { .config = config,
						      .config_length = STRATA_TEXT_NUL,
						      .specials = specials,
						      .specials_length = STRATA_TEXT_NUL };
	struct bpe bpe;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(bpe_init(&bpe, vocab, strlen(vocab), "", 0, &memory, &err));
	int rc = tokenizer_conf_read(&files, &bpe, &arena, &conf, &err);

	bpe_fini(&bpe);
	return rc;
}

static const char clip[] = "{\"a</w>\":0,\"!\":1,\"<|startoftext|>\":2,\"<|endoftext|>\":3}";

TEST(without_files_the_vocabulary_says_the_family)
{
	CHECK_OK(read_with(clip, NULL, NULL));
	CHECK_INT(conf.style, STRATA_TOKENIZER_CLIP);
	CHECK_INT(conf.start, 2);
	CHECK_INT(conf.end, 3);
	CHECK_INT(conf.pad, 3);
	CHECK_INT(conf.unknown, 3);
	CHECK_INT(conf.special_count, 2);
	CHECK_OK(read_with("{\"a\":0,\"<|endoftext|>\":3}", NULL, NULL));
	CHECK_INT(conf.style, STRATA_TOKENIZER_GPT2);
	CHECK_INT(conf.start, -1);
	CHECK_INT(conf.end, 3);
	CHECK_INT(conf.unknown, -1);
}

TEST(files_say_more)
{
	CHECK_OK(read_with(clip,
			   "{\"tokenizer_class\":\"GPT2Tokenizer\",\"model_max_length\":77,"
			   "\"bos_token\":{\"content\":\"<s>\"},\"pad_token\":\"a</w>\","
			   "\"added_tokens_decoder\":{\"9\":{\"content\":\"<s>\"}}}",
			   "{\"pad_token\":\"!\"}"));
	CHECK_INT(conf.style, STRATA_TOKENIZER_GPT2);
	CHECK_INT(conf.start, 9);
	CHECK_INT(conf.pad, 1); /* of the second file, and no special token of the text */
	CHECK_INT(conf.longest, 77);
	CHECK_INT(conf.special_count, 2);
	CHECK_TEXT(conf.specials[0].text, "<s>");
	CHECK_OK(read_with(clip,
			   "{\"tokenizer_class\":\"PreTrainedTokenizerFast\","
			   "\"model_max_length\":1000000000000000019884624838656}",
			   NULL));
	CHECK_INT(conf.style, STRATA_TOKENIZER_LLAMA3);
	CHECK_INT(conf.longest, 0);
}

TEST(bad_files_are_refused)
{
	CHECK_ERROR(read_with(clip, "[1]", NULL), -EBADMSG, "tokenizer_config.json");
	CHECK_ERROR(read_with(clip, NULL, "{"), -EBADMSG, "special_tokens_map.json");
	CHECK_ERROR(read_with(clip, "{\"added_tokens_decoder\":{\"x\":{\"content\":\"y\"}}}", NULL),
		    -EBADMSG, "\"x\"");
	CHECK_ERROR(read_with(clip, "{\"added_tokens_decoder\":{\"1\":{}}}", NULL), -EBADMSG,
		    "content");
}

static int read_many(size_t count)
{
	char *text = malloc(count * 40 + 64), *at = text;

	CHECK(at);
	at += sprintf(at, "{\"added_tokens_decoder\":{");
	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "%s\"%zu\":\"<%zu>\"", i ? "," : "", i, i);
	strcpy(at, "}}");
	int rc = read_with("{\"a\":0}", text, NULL);

	free(text);
	return rc;
}

TEST(special_tokens_are_bounded)
{
	CHECK_OK(read_many(STRATA_TOKENIZER_SPECIALS_MAX));
	CHECK_ERROR(read_many(STRATA_TOKENIZER_SPECIALS_MAX + 1), -E2BIG, "4096");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
