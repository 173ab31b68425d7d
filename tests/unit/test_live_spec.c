#include "test.h"

#include "server/live_spec.h"

#include <stdlib.h>
#include <string.h>

static struct strata_error err;

static struct live_spec *restore(const char *text)
{
	struct live_spec *spec = NULL;

	CHECK_OK(live_spec_restore(text, &spec, &err));
	return spec;
}

TEST(it_is_typed_and_has_texts_of_its_own)
{
	char text[] =
		"{\"name\":\"x\",\"command\":[\"a\",\"b c\"],\"tasks\":3,\"array\":\"0-9%2\"}";
	struct live_spec *spec = restore(text);

	memset(text, 'z', sizeof(text) - 1);
	CHECK_TEXT(spec->spec.name, "x");
	CHECK_INT(spec->spec.command.count, 2);
	CHECK_TEXT(((const char **)spec->spec.command.items)[1], "b c");
	CHECK_TEXT(spec->spec.array, "0-9%2");
	CHECK_INT(spec->spec.tasks, 3);
	CHECK(spec->asked_tasks && !spec->asked_cpus);
	CHECK_INT(spec->array.count, 10);
	CHECK_INT(spec->array.max, 9);
	CHECK_INT(spec->array.limit, 2);
	CHECK_TEXT(spec->text,
		   "{\"name\":\"x\",\"command\":[\"a\",\"b c\"],\"tasks\":3,\"array\":\"0-9%2\"}");
	live_spec_unref(spec);
	spec = restore(
		"{\"command\":[\"a\"],\"array\":\"3,6,9\"}"); /* as sbatch hands over 3-9:3 */
	CHECK_INT(spec->array.step, 3);
	live_spec_unref(spec);
}

TEST(those_alike_are_one)
{
	const char *text = "{\"command\":[\"a\"],\"tasks\":3}";
	struct live_spec *before = restore(text), *same = restore(text), *other;

	CHECK(live_spec_merge(before, same) == before);
	CHECK_INT(before->refs, 2);
	live_spec_unref(before);
	other = restore("{\"command\":[\"a\"],\"tasks\":4}");
	CHECK(live_spec_merge(before, other) == other);
	live_spec_unref(other);
	other = restore(text);
	other->spec.account = "physics"; /* as admission chose for another user */
	CHECK(live_spec_merge(before, other) == other);
	CHECK(live_spec_merge(NULL, other) == other);
	live_spec_unref(other);
	live_spec_unref(before);
}

TEST(who_holds_it_is_kept_beside_it)
{
	struct live_spec *spec =
		restore("{\"command\":[\"a\"],\"hold\":true,\"held_by\":\"operator\",\"nice\":1}");
	char *text;

	CHECK_INT(spec->held, JOB_HELD_BY_OPERATOR);
	CHECK_TEXT(spec->text, "{\"hold\":true,\"held_by\":\"operator\",\"command\":[\"a\"],"
			       "\"nice\":1}");
	text = live_spec_text(spec, JOB_NOT_HELD);
	CHECK_TEXT(text, "{\"command\":[\"a\"],\"nice\":1}");
	free(text);
	text = live_spec_text(spec, JOB_HELD_BY_OWNER);
	struct live_spec *again = restore(text);

	CHECK_INT(again->held, JOB_HELD_BY_OWNER);
	CHECK_TEXT(again->text, text);
	free(text);
	live_spec_unref(again);
	live_spec_unref(spec);
}

TEST(one_that_asks_for_nothing_can_be_held)
{
	struct live_spec *spec = restore("{}");
	char *text = live_spec_text(spec, JOB_HELD);

	CHECK_TEXT(spec->text, "{}");
	CHECK_TEXT(text, "{\"hold\":true}");
	free(text);
	live_spec_unref(spec);
}

TEST(it_lives_as_long_as_somebody_needs_it)
{
	struct live_spec *spec = restore("{\"command\":[\"a\"]}");

	CHECK(live_spec_ref(spec) == spec);
	live_spec_unref(spec);
	CHECK_TEXT(spec->text, "{\"command\":[\"a\"]}");
	live_spec_unref(spec);
	live_spec_unref(NULL);
}

TEST(what_cannot_be_a_job_is_refused)
{
	struct live_spec *spec = NULL;

	CHECK(live_spec_restore("{\"tasks\":\"many\"}", &spec, &err) < 0);
	CHECK(live_spec_restore("[", &spec, &err) < 0);
	CHECK(!spec);
}
