/* When a lease may be taken, and what is written then. */
#include "pod_json.h"

#include "pods/pods_lease.h"

#include <strata/text.h>

static enum pods_lease_step look(struct pods_lease_seen *seen, const char *text, int64_t now_s)
{
	json_t *lease = json_of(text);
	enum pods_lease_step step = pods_lease_look(seen, lease, "me", now_s * STRATA_SECOND_NS);

	json_decref(lease);
	return step;
}

#define LEASE(version, holder)                                                                 \
	"{'metadata':{'resourceVersion':'" version "'},'spec':{'holderIdentity':'" holder "'," \
	"'leaseDurationSeconds':10,'leaseTransitions':3,'acquireTime':'2026-01-01T00:00:00."   \
	"000000Z'}}"

TEST(a_lease_of_another_is_taken_when_it_has_not_changed_for_its_time)
{
	struct pods_lease_seen seen = { 0 };

	CHECK_INT(look(&seen, LEASE("1", "other"), 100), PODS_LEASE_WAIT);
	CHECK_INT(look(&seen, LEASE("1", "other"), 109), PODS_LEASE_WAIT);
	CHECK_INT(look(&seen, LEASE("2", "other"), 110), PODS_LEASE_WAIT);
	CHECK_INT(look(&seen, LEASE("2", "other"), 119), PODS_LEASE_WAIT);
	CHECK_INT(look(&seen, LEASE("2", "other"), 120), PODS_LEASE_TAKE);
}

TEST(one_that_is_ours_or_nobodys_is_taken_at_once)
{
	struct pods_lease_seen seen = { 0 };

	CHECK_INT(look(&seen, LEASE("1", "me"), 100), PODS_LEASE_TAKE);
	CHECK_INT(look(&seen, LEASE("2", ""), 100), PODS_LEASE_TAKE);
	CHECK_INT(pods_lease_look(&seen, NULL, "me", 0), PODS_LEASE_CREATE);
}

TEST(the_body_names_the_version_it_replaces_and_counts_changes)
{
	json_t *old = json_of(LEASE("7", "other"));
	json_t *body = pods_lease_body(old, "space", "name", "me", 1500 * STRATA_MS_NS,
				       STRATA_DAY_NS + 5000);

	CHECK_TEXT(kube_text(body, "metadata", "resourceVersion", NULL), "7");
	CHECK_TEXT(kube_text(body, "spec", "holderIdentity", NULL), "me");
	CHECK_TEXT(kube_text(body, "spec", "renewTime", NULL), "1970-01-02T00:00:00.000005Z");
	CHECK_TEXT(kube_text(body, "spec", "acquireTime", NULL), "1970-01-02T00:00:00.000005Z");
	CHECK_INT(json_integer_value(kube_at(body, "spec", "leaseTransitions", NULL)), 4);
	CHECK_INT(json_integer_value(kube_at(body, "spec", "leaseDurationSeconds", NULL)), 2);
	json_decref(body);
	body = pods_lease_body(old, "space", "name", "other", STRATA_SECOND_NS, STRATA_DAY_NS);
	CHECK_TEXT(kube_text(body, "spec", "acquireTime", NULL), "2026-01-01T00:00:00.000000Z");
	CHECK_INT(json_integer_value(kube_at(body, "spec", "leaseTransitions", NULL)), 3);
	json_decref(body);
	json_decref(old);
}
