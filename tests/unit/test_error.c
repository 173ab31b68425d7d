#include "test.h"

#include <errno.h>
#include <string.h>

TEST(an_error_carries_code_sentence_and_field)
{
	struct strata_error err = { .field = "old" };

	CHECK_INT(strata_fail(&err, -EINVAL, "steps is %d; expected 1 to 1000", 0), -EINVAL);
	CHECK_INT(err.code, -EINVAL);
	CHECK_TEXT(err.text, "steps is 0; expected 1 to 1000");
	CHECK_TEXT(err.field, "");
	CHECK_INT(strata_fail_at(&err, -ERANGE, "gpus", "gpus is %d", 9), -ERANGE);
	CHECK_TEXT(err.field, "gpus");
}

TEST(an_error_struct_is_optional)
{
	CHECK_INT(strata_fail(NULL, -ENOENT, "no job %d", 1), -ENOENT);
	CHECK_INT(strata_fail_at(NULL, -ENOENT, "id", "no job %d", 1), -ENOENT);
	CHECK_INT(strata_fail_under(NULL, -ENOENT, "nodes"), -ENOENT);
	CHECK_INT(strata_fail_memory(NULL), -ENOMEM);
}

TEST(fields_are_joined_from_the_outside_in)
{
	struct strata_error err;

	strata_fail_at(&err, -EINVAL, "gpus", "gpus is -1");
	CHECK_INT(strata_fail_under(&err, -EINVAL, "nodes[%d]", 2), -EINVAL);
	CHECK_TEXT(err.field, "nodes[2].gpus");
	strata_fail_under(&err, -EINVAL, "cluster");
	CHECK_TEXT(err.field, "cluster.nodes[2].gpus");
	strata_fail_at(&err, -EINVAL, "[0]", "bad item");
	strata_fail_under(&err, -EINVAL, "list");
	CHECK_TEXT(err.field, "list[0]");
}

TEST(a_long_sentence_is_cut_between_characters)
{
	struct strata_error err;
	char long_text[2 * STRATA_ERROR_TEXT_BYTES];

	for (size_t i = 0; i + 2 < sizeof(long_text); i += 2)
		memcpy(long_text + i, "é", 2);
	long_text[sizeof(long_text) - 2] = '\0';
	strata_fail(&err, -EINVAL, "%s", long_text);
	CHECK_INT(strlen(err.text), STRATA_ERROR_TEXT_BYTES - 2);
	strata_fail_at(&err, -EINVAL, long_text, "x");
	CHECK_INT(strlen(err.field), STRATA_ERROR_FIELD_BYTES - 2);
	strata_fail_under(&err, -EINVAL, "a");
	CHECK_INT(strlen(err.field), STRATA_ERROR_FIELD_BYTES - 2);
	strata_fail_under(&err, -EINVAL, "%s", long_text);
	CHECK_INT(strlen(err.field), STRATA_ERROR_FIELD_BYTES - 2);
}

TEST(what_is_not_printable_is_escaped)
{
	struct strata_error err;

	strata_fail(&err, -EINVAL, "there is no '%s'", "\033]0;x\a\n\xff");
	CHECK_TEXT(err.text, "there is no '\\x1b]0;x\\a\\n\\xff'");
	strata_fail_at(&err, -EINVAL, "a\nb", "x");
	CHECK_TEXT(err.field, "a\\nb");
	strata_fail_under(&err, -EINVAL, "\xe2\x80\xae");
	CHECK_TEXT(err.field, "\\u202e.a\\nb");
	/* an excerpt that was cut by bytes */
	strata_fail(&err, -EINVAL, "'%.2s' is too long", "aé");
	CHECK_TEXT(err.text, "'a…' is too long");
}

TEST(every_code_has_an_http_status_an_exit_code_and_a_name)
{
	CHECK_INT(strata_error_kind(-ENOENT)->http_status, 404);
	CHECK_INT(strata_error_kind(-ENOENT)->exit_code, STRATA_EXIT_NOT_FOUND);
	CHECK_TEXT(strata_error_kind(-EEXIST)->name, "conflict");
	CHECK_INT(strata_error_kind(-EEXIST)->exit_code, 6);
	CHECK_INT(strata_error_kind(-ECONNREFUSED)->exit_code, 5);
	CHECK_INT(strata_error_kind(-EACCES)->exit_code, 4);
	CHECK_INT(strata_error_kind(-EINVAL)->exit_code, 2);
	CHECK_TEXT(strata_error_kind(-ENOTDIR)->name, "internal");
	CHECK_INT(strata_error_kind(-ENOTDIR)->http_status, 500);
	CHECK_INT(strata_error_kind(-ENOTDIR)->exit_code, 1);
}

TEST(the_table_is_consistent)
{
	const struct strata_error_kind *kind, *other;

	for (size_t i = 0; (kind = strata_error_kind_at(i)); i++) {
		CHECK(kind->code < 0);
		CHECK(kind->http_status >= 400 && kind->http_status < 600);
		CHECK(kind->exit_code >= 1 && kind->exit_code <= 6);
		for (size_t j = 0; (other = strata_error_kind_at(j)); j++) {
			CHECK(i == j || kind->code != other->code);
			if (strcmp(kind->name, other->name) == 0)
				CHECK_INT(kind->http_status, other->http_status);
		}
	}
}
