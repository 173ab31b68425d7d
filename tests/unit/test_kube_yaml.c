/* YAML as kubeconfig files have it, and as it should not be. */
#include "test.h"

#include "kubernetes/kube_yaml.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *text, struct strata_error *err)
{
	json_t *value = NULL;
	char *json = NULL;

	if (kube_yaml_read(text, strlen(text), &value, err) == 0)
		json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
	return json;
}

TEST(blocks_flows_and_json_are_read)
{
	static const char *const cases[][2] = {
		{ "a: 1\nb:\n- x\n- y: 'z'\n", "{\"a\":\"1\",\"b\":[\"x\",{\"y\":\"z\"}]}" },
		{ "{\"a\": {\"b\": [1, true, null, \"null\"]}}",
		  "{\"a\":{\"b\":[\"1\",\"true\",null,\"null\"]}}" },
		{ "a:\nb: ~\nc: |\n  one\n  two\n",
		  "{\"a\":null,\"b\":null,\"c\":\"one\\ntwo\\n\"}" },
		{ "---\n# a comment\nkey: \"v\\u00e4\"\n...\n", "{\"key\":\"v\xc3\xa4\"}" },
		{ "just text", "\"just text\"" },
		{ "null: x\n", "{\"null\":\"x\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strata_error err = { 0 };
		char *json = read_text(cases[i][0], &err);

		CHECK_TEXT(json ? json : err.text, cases[i][1]);
		free(json);
	}
}

TEST(what_is_none_is_refused_with_its_line)
{
	static const char *const cases[][2] = {
		{ "", "nothing in it" },
		{ "a: [1", "line" },
		{ "a: 1\na: 2\n", "twice" },
		{ "a: &x 1\nb: *x\n", "aliases" },
		{ "? [a]\n: b\n", "a key is not a text" },
		{ "a: 1\n---\nb: 2\n", "a second document" },
		{ "\"a\\0b\": 1\n", "NUL" },
		{ "a:\n\t- b\n", "line 2" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strata_error err = { 0 };
		json_t *value = NULL;

		CHECK_ERROR(kube_yaml_read(cases[i][0], strlen(cases[i][0]), &value, &err),
			    -EBADMSG, cases[i][1]);
		CHECK(!value);
	}
}

static int nested(size_t depth, struct strata_error *err)
{
	char text[256] = "";
	json_t *value = NULL;

	for (size_t i = 0; i < depth; i++)
		strcat(text, "[");
	for (size_t i = 0; i < depth; i++)
		strcat(text, "]");
	int rc = kube_yaml_read(text, strlen(text), &value, err);

	json_decref(value);
	return rc;
}

TEST(there_are_limits)
{
	struct strata_error err = { 0 };
	size_t size = STRATA_KUBE_CONFIG_BYTES_MAX + 1;
	char *text = malloc(size + 1);
	json_t *value = NULL;

	CHECK_OK(nested(STRATA_KUBE_YAML_DEPTH_MAX, &err));
	CHECK_ERROR(nested(STRATA_KUBE_YAML_DEPTH_MAX + 1, &err), -EBADMSG, "too deeply");
	memset(text, 'x', size);
	CHECK_OK(kube_yaml_read(text, size - 1, &value, &err));
	json_decref(value);
	CHECK_ERROR(kube_yaml_read(text, size, &value, &err), -E2BIG, "at most");
	/* the list itself counts */
	text[0] = '[';
	for (size_t i = 0; i < STRATA_KUBE_YAML_VALUES_MAX - 1; i++)
		memcpy(text + 1 + 2 * i, "x,", 2);
	memcpy(text + 1 + 2 * (STRATA_KUBE_YAML_VALUES_MAX - 1), "]", 2);
	CHECK_OK(kube_yaml_read(text, strlen(text), &value, &err));
	CHECK_INT(json_array_size(value), STRATA_KUBE_YAML_VALUES_MAX - 1);
	json_decref(value);
	memcpy(text + 1 + 2 * (STRATA_KUBE_YAML_VALUES_MAX - 1), "x]", 3);
	CHECK_ERROR(kube_yaml_read(text, strlen(text), &value, &err), -EBADMSG, "too many");
	free(text);
}
