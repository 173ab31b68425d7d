#include "test.h"

#include "core/share.h"
#include "random.h"

#include <strata/limits.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TEST(accounts_and_users_are_found_by_name_below_their_parent)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t vision, speech, ann, other_ann;
	struct share *share;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	uint64_t root = share_root(share);

	CHECK_OK(share_add(share, root, "vision", 2, &vision, &err));
	CHECK_OK(share_add(share, root, "speech", 1, &speech, &err));
	CHECK_OK(share_add(share, vision, "ann", 1, &ann, &err));
	CHECK_OK(share_add(share, speech, "ann", 3, &other_ann, &err));
	CHECK(share_find(share, root, "vision") == vision);
	CHECK(share_find(share, vision, "ann") == ann);
	CHECK(share_find(share, speech, "ann") == other_ann);
	CHECK_INT(share_find(share, root, "ann"), 0);
	CHECK_INT(share_find(share, root, ""), 0);
	CHECK_INT(share_find(share, ann, "ann"), 0);
	CHECK(share_parent(share, ann) == vision);
	CHECK(share_parent(share, vision) == root);
	CHECK_INT(share_parent(share, root), 0);
	CHECK_TEXT(share_name(share, other_ann), "ann");
	CHECK_TEXT(share_name(share, root), "");
	CHECK(share_weight(share, other_ann) == 3);
	CHECK_INT(share_count(share), 5);
	size_t seen = 0;

	for (uint64_t at = 0; (at = share_next(share, at)); seen++)
		CHECK(share_live(share, at));
	CHECK_INT(seen, 5);
	share_free(share);
	share_free(NULL);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(only_a_childless_idle_node_can_be_removed)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t account, user, again;
	struct share *share;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	uint64_t root = share_root(share);

	CHECK_OK(share_add(share, root, "a", 1, &account, &err));
	CHECK_OK(share_add(share, account, "u", 1, &user, &err));
	CHECK_ERROR(share_remove(share, root, &err), -EINVAL, "root");
	CHECK_ERROR(share_remove(share, account, &err), -EBUSY, "1 members");
	CHECK_OK(share_activate(share, user, &err));
	CHECK_ERROR(share_remove(share, user, &err), -EBUSY, "has work");
	CHECK_OK(share_deactivate(share, user, &err));
	CHECK_OK(share_charge(share, user, 7, 0, &err));
	CHECK_OK(share_remove(share, user, &err));
	CHECK(!share_live(share, user));
	CHECK_ERROR(share_remove(share, user, &err), -ESTALE, "there is no share");
	CHECK_ERROR(share_charge(share, user, 1, 0, &err), -ESTALE, "there is no share");
	CHECK_ERROR(share_add(share, user, "x", 1, &again, &err), -ESTALE, "there is no share");
	CHECK_ERROR(share_set_weight(share, user, 1, &err), -ESTALE, "there is no share");
	CHECK_ERROR(share_activate(share, user, &err), -ESTALE, "there is no share");
	CHECK_NEAR(share_usage(share, account, 0), 7, 0); /* history stays */
	CHECK_OK(share_add(share, account, "u", 1, &again, &err));
	CHECK(again != user);
	CHECK_NEAR(share_usage(share, again, 0), 0, 0);
	CHECK_OK(share_remove(share, again, &err));
	CHECK_OK(share_activate(share, account, &err)); /* childless again, a leaf */
	CHECK_OK(share_deactivate(share, account, &err));
	CHECK_OK(share_remove(share, account, &err));
	CHECK_INT(share_count(share), 1);
	share_free(share);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(bad_input_is_refused_and_changes_nothing)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	char name[STRATA_NAME_BYTES_MAX + 2];
	uint64_t node = 42, user;
	struct share *share = NULL;

	CHECK_ERROR(share_new(&memory, -1, &share, &err), -EINVAL, "half-life is -1");
	CHECK(!share);
	CHECK_OK(share_new(&memory, 0, &share, &err));
	uint64_t root = share_root(share);

	CHECK_ERROR(share_add(share, root, "", 1, &node, &err), -EINVAL, "name has 0 bytes");
	memset(name, 'n', sizeof(name));
	name[STRATA_NAME_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(share_add(share, root, name, 1, &node, &err), -EINVAL, "name has 129 bytes");
	static const double bad[] = { 0, -1, NAN, INFINITY };

	for (int i = 0; i < 4; i++)
		CHECK_ERROR(share_add(share, root, "a", bad[i], &node, &err), -EINVAL, "weight");
	double low = nextafter(STRATA_SHARE_WEIGHT_MIN, 0);
	double high = nextafter(STRATA_SHARE_WEIGHT_MAX, INFINITY);

	CHECK_ERROR(share_add(share, root, "a", low, &node, &err), -EINVAL, "weight");
	CHECK_ERROR(share_add(share, root, "a", high, &node, &err), -EINVAL, "weight");
	CHECK_INT(node, 42);
	CHECK_INT(share_count(share), 1);
	name[STRATA_NAME_BYTES_MAX] = '\0';
	CHECK_OK(share_add(share, root, name, STRATA_SHARE_WEIGHT_MIN, &node, &err));
	CHECK_OK(share_add(share, root, "b", STRATA_SHARE_WEIGHT_MAX, &user, &err));
	CHECK_TEXT(share_name(share, node), name);
	CHECK_ERROR(share_add(share, root, "b", 1, &node, &err), -EEXIST, "b exists");
	CHECK_ERROR(share_set_weight(share, user, 0, &err), -EINVAL, "weight");
	CHECK_ERROR(share_set_weight(share, root, 1, &err), -EINVAL, "root");
	CHECK(share_weight(share, user) == STRATA_SHARE_WEIGHT_MAX);
	CHECK_OK(share_set_weight(share, user, 5, &err));
	CHECK(share_weight(share, user) == 5);
	CHECK_OK(share_activate(share, user, &err));
	CHECK_ERROR(share_add(share, user, "c", 1, &node, &err), -EBUSY, "b has work");
	CHECK_OK(share_park(share, user, &err));
	CHECK_ERROR(share_add(share, user, "c", 1, &node, &err), -EBUSY, "b has work");
	share_free(share);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(the_tree_is_as_deep_as_it_may_be_and_no_deeper)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	uint64_t node = share_root(share), last;

	for (int depth = 1; depth <= STRATA_SHARE_DEPTH_MAX; depth++)
		CHECK_OK(share_add(share, node, "deeper", 1, &node, &err));
	last = node;
	CHECK_ERROR(share_add(share, node, "deeper", 1, &node, &err), -ERANGE, "32 accounts deep");
	CHECK(node == last);
	CHECK_OK(share_activate(share, node, &err));
	CHECK(share_pick(share) == node);
	CHECK_OK(share_charge(share, node, 3, 0, &err));
	CHECK_NEAR(share_usage(share, share_root(share), 0), 3, 0);
	CHECK_NEAR(share_factor(share, node, 0), 0.5, 1e-15); /* nobody else: exactly its share */
	share_free(share);
}

static int build(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct share *share = NULL;
	uint64_t account = 0, user = 0;
	char name[16];
	int rc = share_new(memory, 1000, &share, err);

	(void)context;
	for (int i = 0; rc == 0 && i < 100; i++) {
		uint64_t before = i % 5 ? user : account;

		snprintf(name, sizeof(name), "n%d", i);
		size_t count = share_count(share);

		if (i % 5 == 0)
			rc = share_add(share, share_root(share), name, 1, &account, err);
		else
			rc = share_add(share, account, name, 2, &user, err);
		if (rc == 0)
			continue;
		CHECK((i % 5 ? user : account) == before);
		CHECK_INT(share_count(share), count);
		CHECK_INT(share_find(share, share_root(share), name), 0);
		CHECK_INT(share_find(share, account, name), 0);
		if (user && share_live(share, user)) { /* what is there still works */
			CHECK_INT(share_activate(share, user, NULL), 0);
			CHECK_INT(share_charge(share, user, 1, 5, NULL), 0);
			CHECK(share_pick(share) == user);
		}
	}
	share_free(share);
	return rc;
}

TEST(running_out_of_memory_changes_nothing)
{
	CHECK(test_every_allocation(build, NULL) > 100);
}

TEST(a_node_carries_its_owners_pointer)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;
	uint64_t leaf;
	int owner;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "a", 1, &leaf, &err));
	CHECK(!share_owner(share, leaf));
	share_set_owner(share, leaf, &owner);
	CHECK(share_owner(share, leaf) == &owner);
	share_free(share);
}
