/* Special tokens of a tokenizer.json. */
#include "test.h"

#include "formats/unigram_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

#define MODEL \
	"{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"<pad>\",0],[\"x\",-1]]}"

/* The configuration of what a tokenizer.json holds beside its model; the code. */
static int read_conf(const char *text, const char *config_text, struct strata_arena *arena,
		     struct tokenizer_conf *ret_conf)
{
	json_t *json = json_loads(text, 0, NULL), *model = json_loads(MODEL, 0, NULL);
	json_t *config = config_text ? json_loads(config_text, 0, NULL) : NULL;
	struct unigram unigram = { 0 };

	CHECK(json && model);
	map_u64_init(&unigram.edges, &memory);
	CHECK_OK(unigram_read(model, arena, &unigram, &err));
	int rc = unigram_conf_read(json, config, &unigram, arena, ret_conf, &err);

	unigram_fini(&unigram);
	json_decref(json);
	json_decref(model);
	json_decref(config);
	return rc;
}

#define SPECIALS                                                                       \
	"\"added_tokens\":[{\"id\":7,\"content\":\"</s>\",\"rstrip\":true},{\"id\":8," \
	"\"content\":\"<s>\",\"lstrip\":true,\"special\":true}]"
#define SPECIAL(name) "{\"SpecialToken\":{\"id\":\"" name "\"}}"
#define TEXT "{\"Sequence\":{\"id\":\"A\"}}"
#define TEMPLATE(list)                                                                             \
	"{" SPECIALS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" list "]}" \
	"}"

TEST(tokens_stand_around_a_text)
{
	struct tokenizer_conf conf;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_conf(TEMPLATE(TEXT "," SPECIAL("</s>")), NULL, &arena, &conf));
	CHECK_INT(conf.style, STRATA_TOKENIZER_UNIGRAM);
	CHECK_INT(conf.special_count, 2);
	CHECK_INT(conf.start, -1);
	CHECK_INT(conf.end, 7);
	CHECK_INT(conf.pad, 1); /* <pad> of the vocabulary */
	CHECK_INT(conf.unknown, 0);
	CHECK_INT(conf.longest, 0);
	CHECK(conf.specials[0].right && !conf.specials[0].left && conf.specials[1].left);
	CHECK_OK(read_conf(TEMPLATE(SPECIAL("<s>") "," TEXT "," SPECIAL("x")),
			   "{\"pad_token\":{\"content\":\"</s>\"},\"model_max_length\":512}",
			   &arena, &conf));
	CHECK_INT(conf.start, 8);
	CHECK_INT(conf.end, 2);
	CHECK_INT(conf.pad, 7);
	CHECK_INT(conf.longest, 512);
	CHECK_OK(read_conf("{}", "{\"pad_token\":\"x\",\"model_max_length\":1e30}", &arena, &conf));
	CHECK_INT(conf.end, -1);
	CHECK_INT(conf.pad, 2);
	CHECK_INT(conf.longest, 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static void refused(const char *text, int code, const char *words)
{
	struct tokenizer_conf conf;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(read_conf(text, NULL, &arena, &conf), code, words);
	strata_arena_fini(&arena);
}

TEST(what_is_not_supported_is_refused)
{
	refused("{\"added_tokens\":[{\"id\":1}]}", -EBADMSG, "without \"content\" or \"id\"");
	refused("{\"added_tokens\":[{\"content\":\"a\"}]}", -EBADMSG, "\"id\"");
	refused("{\"added_tokens\":[{\"id\":-1,\"content\":\"a\"}]}", -EBADMSG, "\"id\"");
	refused("{\"added_tokens\":[{\"id\":1e9,\"content\":\"a\"}]}", -EBADMSG, "\"id\"");
	refused("{\"added_tokens\":[{\"id\":1,\"content\":\"\"}]}", -EBADMSG, "\"content\"");
	refused("{\"added_tokens\":[{\"id\":1,\"content\":\"a\",\"single_word\":true}]}", -ENOTSUP,
		"the added token \"a\"");
	refused("{\"added_tokens\":[{\"id\":1,\"content\":\"a\",\"normalized\":true}]}", -ENOTSUP,
		"normalized text");
	refused("{\"post_processor\":{\"type\":\"BertProcessing\"}}", -ENOTSUP,
		"not a TemplateProcessing");
	refused(TEMPLATE(SPECIAL("</s>")), -ENOTSUP, "template");
	refused(TEMPLATE(TEXT "," TEXT), -ENOTSUP, "template");
	refused(TEMPLATE(TEXT "," SPECIAL("<none>")), -ENOTSUP, "template");
	refused(TEMPLATE(TEXT "," SPECIAL("</s>") "," SPECIAL("</s>")), -ENOTSUP, "template");
}

TEST(special_tokens_have_a_limit)
{
	char *text = malloc(64 * (STRATA_TOKENIZER_SPECIALS_MAX + 2));

	CHECK(text);
	for (int more = 0; more < 2; more++) {
		struct tokenizer_conf conf;
		struct strata_arena arena;
		char *at = text + sprintf(text, "{\"added_tokens\":[");

		for (int i = 0; i < STRATA_TOKENIZER_SPECIALS_MAX + more; i++)
			at += sprintf(at, "%s{\"id\":1,\"content\":\"t%d\"}", i ? "," : "", i);
		strcpy(at, "]}");
		strata_arena_init(&arena, &memory, 0);
		CHECK_INT(read_conf(text, NULL, &arena, &conf), more ? -E2BIG : 0);
		strata_arena_fini(&arena);
	}
	free(text);
}
