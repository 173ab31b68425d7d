/* What comes before the model, rule by rule. */
#include "test.h"

#include "formats/unicode.h"
#include "formats/unigram_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int add(void *context, const char *word, size_t bytes, struct strata_error *why)
{
	(void)why;
	buf_printf(context, "[%.*s]", (int)bytes, word);
	return 0;
}

/* The words of a text by rules that are written as JSON, each in brackets. */
static const char *words(const char *rules_text, const char *text)
{
	static char shown[512];
	json_t *json = json_loads(rules_text, 0, NULL);
	struct unigram_rules rules;
	struct strata_arena arena;
	uint32_t *codes;
	size_t count;
	struct buf buf;

	CHECK(json);
	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	CHECK_OK(unigram_rules_read(json, &arena, &rules, &err));
	CHECK_OK(unicode_decode(text, strlen(text), &arena, &codes, &count, &err));
	CHECK_OK(unigram_rules_apply(&rules, codes, count, &memory, add, &buf, &err));
	snprintf(shown, sizeof(shown), "%s", buf.text);
	buf_fini(&buf);
	json_decref(json);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
	return shown;
}

#define META "{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"always\"}"
#define T5                                                                        \
	"{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":" \
	"\"WhitespaceSplit\"}," META "]}}"

TEST(words_get_a_mark_in_front)
{
	CHECK_TEXT(words(T5, "a red\t bicycle\u3000x"), "[▁a][▁red][▁bicycle][▁x]");
	CHECK_TEXT(words(T5, "  "), "");
	CHECK_TEXT(words(T5, ""), "");
	CHECK_TEXT(words(T5, "a▁b ▁c ▁"), "[▁a][▁b][▁c][▁]");
}

TEST(blanks_alone_are_marks)
{
	CHECK_TEXT(words("{\"pre_tokenizer\":" META "}", "a  b\n"), "[▁a][▁][▁b\n]");
	CHECK_TEXT(words("{\"pre_tokenizer\":" META "}", " a"), "[▁a]");
	CHECK_TEXT(words("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"▁\","
			 "\"prepend_scheme\":\"never\",\"split\":false}}",
			 "a b"),
		   "[a▁b]");
	CHECK_TEXT(words("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\","
			 "\"add_prefix_space\":false}}",
			 "a b"),
		   "[a][_b]");
	CHECK_TEXT(words("{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"}}", " a b "), "[a][b]");
	CHECK_TEXT(words("{}", " a b "), "[ a b ]");
	CHECK_TEXT(words("{\"pre_tokenizer\":null,\"normalizer\":null}", "a"), "[a]");
}

TEST(normalizers_follow_each_other)
{
	CHECK_TEXT(words("{\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":"
			 "false}}",
			 " \u00a0a "),
		   "[a ]");
	CHECK_TEXT(words("{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":"
			 "\"Strip\",\"strip_right\":true},{\"type\":\"Replace\",\"pattern\":{"
			 "\"Regex\":\" {2,}\"},\"content\":\"_\"},{\"type\":\"Replace\","
			 "\"pattern\":{\"String\":\"ab\"},\"content\":\"\"}]}}",
			 "   ab a  b c  "),
		   "[_ a_b c]");
}

TEST(a_map_of_characters_is_a_normalizer)
{
	char *data, path[512], text[4096];

	snprintf(path, sizeof(path), "%s/pipelines/unigram/tokenizer.json", test_data_dir());
	data = test_read_file(path, NULL);
	json_t *json = json_loads(data, 0, NULL);
	char *normalizer = json_dumps(json_object_get(json, "normalizer"), JSON_COMPACT);

	CHECK((size_t)snprintf(text, sizeof(text), "{\"normalizer\":%s}", normalizer) <
	      sizeof(text));
	CHECK_TEXT(words(text, "ﬁne\tcafe\u0301"), "[fine caf\u00e9]");
	free(normalizer);
	free(data);
	json_decref(json);
	CHECK_TEXT(
		words("{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}}",
		      "a"),
		"[a]");
}

static void refused(const char *text, int code, const char *sentence)
{
	json_t *json = json_loads(text, 0, NULL);
	struct unigram_rules rules;
	struct strata_arena arena;

	CHECK(json);
	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(unigram_rules_read(json, &arena, &rules, &err), code, sentence);
	strata_arena_fini(&arena);
	json_decref(json);
}

TEST(what_is_not_known_is_refused_by_its_name)
{
	refused("{\"normalizer\":{\"type\":\"NFD\"}}", -ENOTSUP, "normalizer 'NFD'");
	refused("{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+\"},"
		"\"content\":\"\"}}",
		-ENOTSUP, "only \" {2,}\"");
	refused("{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},"
		"\"content\":\"\"}}",
		-EBADMSG, "the empty text");
	refused("{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}}}", -EBADMSG,
		"no text");
	refused("{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}}",
		-EBADMSG, "precompiled_charsmap");
	refused("{\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", -ENOTSUP,
		"pre-tokenizer 'ByteLevel'");
	refused("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"▁\","
		"\"prepend_scheme\":\"first\"}}",
		-ENOTSUP, "'first'; expected always or never");
	refused("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\"}}", -EBADMSG,
		"no character");
	/* Words after the mark would be other words. */
	refused("{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" META
		",{\"type\":\"WhitespaceSplit\"}]}}",
		-ENOTSUP, "'WhitespaceSplit'");
}

TEST(lists_have_limits)
{
	char text[4096] = "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[";

	for (int i = 0; i <= UNIGRAM_CHANGES_MAX; i++)
		sprintf(text + strlen(text), "%s{\"type\":\"Strip\"}", i ? "," : "");
	strcat(text, "]}}");
	refused(text, -E2BIG, "more than 8 normalizers");
	strcpy(text, "{\"normalizer\":");
	for (int i = 0; i <= UNIGRAM_NEST_MAX; i++)
		strcat(text, "{\"type\":\"Sequence\",\"normalizers\":[");
	for (int i = 0; i <= UNIGRAM_NEST_MAX; i++)
		strcat(text, "]}");
	strcat(text, "}");
	refused(text, -E2BIG, "nested 4 deep");
}

static int read_once(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct unigram_rules rules;
	struct strata_arena arena;

	strata_arena_init(&arena, from, 0);
	int rc = unigram_rules_read(context, &arena, &rules, why);

	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out)
{
	json_t *json = json_loads("{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":"
				  "\"a\"},\"content\":\"b\"},\"pre_tokenizer\":" META "}",
				  0, NULL);

	test_every_allocation(read_once, json);
	json_decref(json);
}
