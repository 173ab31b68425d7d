#include "test.h"

#include "server/json_text.h"

#include <jansson.h>
#include <string.h>

TEST(what_is_written_is_read_back)
{
	static const char *const texts[] = { "", "plain", "\"\\/", "tab\tand\nline\x01",
					     "Grüße 🙂" };
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buf_reset(&buf);
		json_text_add(&buf, texts[i]);
		json_t *json = json_loadb(buf.text, buf.length, JSON_DECODE_ANY, NULL);

		CHECK_TEXT(json_string_value(json), texts[i]);
		json_decref(json);
	}
	buf_fini(&buf);
}

TEST(numbers_have_all_their_digits)
{
	static const struct {
		int64_t number;
		const char *text;
	} cases[] = { { 0, "0" },
		      { -1, "-1" },
		      { INT64_MAX, "9223372036854775807" },
		      { INT64_MIN, "-9223372036854775808" } };
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&buf);
		json_text_add_number(&buf, cases[i].number);
		CHECK_TEXT(buf.text, cases[i].text);
	}
	buf_fini(&buf);
}
