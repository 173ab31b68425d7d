/* Ways into objects. */
#include "test.h"

#include "kubernetes/kube_object.h"

static struct strata_memory memory;

TEST(members_are_found_by_their_path)
{
	json_t *pod = json_pack("{s:{s:s,s:{s:s}},s:i}", "metadata", "name", "a", "labels",
				"strata.io/job", "7", "n", 3);

	CHECK_TEXT(kube_text(pod, "metadata", "labels", "strata.io/job", NULL), "7");
	CHECK_TEXT(kube_text(pod, "metadata", "labels", "other", NULL), "");
	CHECK_TEXT(kube_text(pod, "n", NULL), "");
	CHECK_TEXT(kube_text(NULL, "n", NULL), "");
	CHECK_INT(json_integer_value(kube_at(pod, "n", NULL)), 3);
	CHECK(!kube_at(pod, "n", "deeper", NULL));
	json_decref(pod);
}

TEST(parts_of_addresses_are_escaped)
{
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_TEXT(kube_escape("a=b, c/\xc3\xa4-._~", &arena), "a%3Db%2C%20c%2F%C3%A4-._~");
	strata_arena_fini(&arena);
}
