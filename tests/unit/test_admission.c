#include "test.h"

#include <strata/admission.h>

#include <errno.h>
#include <string.h>

#define NAMES(...)                                                                      \
	{                                                                               \
		.items = (const char *[]){ __VA_ARGS__ },                               \
		.count = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *) \
	}

/* A site: ann has an account and may use another, bob nothing was said about, eve may raise priorities. */
static struct strata_rule site[] = {
	{ STRATA_ENTITY_USER, "ann", .account = "physics", .allowed_accounts = NAMES("lab"),
	  .allowed_qos = NAMES("fast") },
	{ STRATA_ENTITY_USER, "eve", .qos = "slow", .raise_priority = true },
	{ STRATA_ENTITY_ACCOUNT, "physics", .account = "science" },
	{ STRATA_ENTITY_ACCOUNT, "science", .allowed_qos = NAMES("long") },
	{ STRATA_ENTITY_ACCOUNT, "lab", .raise_priority = true },
	{ STRATA_ENTITY_QOS, "normal", .usual = true, .priority = 5 },
	{ STRATA_ENTITY_QOS, "slow", .open = true, .priority = 5 },
	{ STRATA_ENTITY_QOS, "eager", .open = true, .priority = 6 },
	{ STRATA_ENTITY_QOS, "fast", .priority = 50, .raise_priority = true },
	{ STRATA_ENTITY_QOS, "long" },
	{ STRATA_ENTITY_PARTITION, "main", .usual = true },
	{ STRATA_ENTITY_PARTITION, "gpu", .allowed_users = NAMES("ann", "eve"),
	  .allowed_accounts = NAMES("physics"), .allowed_qos = NAMES("normal") },
	{ STRATA_ENTITY_PARTITION, "down", .state = STRATA_PARTITION_DOWN },
	{ STRATA_ENTITY_PARTITION, "drain", .state = STRATA_PARTITION_DRAIN },
	{ STRATA_ENTITY_PARTITION, "off", .state = STRATA_PARTITION_INACTIVE },
};
enum { COUNT = sizeof(site) / sizeof(site[0]) };

static const struct strata_rule *next(const void *context, enum strata_entity_type type,
				      const struct strata_rule *after)
{
	(void)context;
	for (size_t i = after ? (size_t)(after - site) + 1 : 0; i < COUNT; i++)
		if (site[i].type == type)
			return &site[i];
	return NULL;
}

static const struct strata_rule *find(const void *context, enum strata_entity_type type,
				      const char *name)
{
	const struct strata_rule *at = next(context, type, NULL);

	while (at && strcmp(at->name, name) != 0)
		at = next(context, type, at);
	return at;
}

static const struct strata_rules rules = { find, next, NULL };
static struct strata_error err;

static int admit(struct strata_admission_request *admission)
{
	if (!admission->band)
		admission->band = STRATA_BAND_NORMAL;
	return strata_rules_admit(&rules, admission, &err);
}
#define ADMIT(...) admit(&(struct strata_admission_request){ __VA_ARGS__ })

TEST(what_is_not_named_is_what_is_usual)
{
	struct strata_admission_request ann = { .user = "ann" },
					bob = { .user = "bob", .account = "" },
					eve = { .user = "eve" };

	CHECK_OK(admit(&ann));
	CHECK_TEXT(ann.account, "physics");
	CHECK_TEXT(ann.qos, "normal");
	CHECK_TEXT(ann.partition, "main");
	CHECK_OK(admit(&bob));
	CHECK(!bob.account);
	CHECK_TEXT(bob.qos, "normal");
	CHECK_OK(admit(&eve));
	CHECK_TEXT(eve.qos, "slow");
}

TEST(names_that_nobody_made_are_refused_with_the_nearest)
{
	CHECK_ERROR(ADMIT(.user = "ann", .account = "phisics"), -ENOENT,
		    "there is no account 'phisics'; did you mean 'physics'?");
	CHECK_TEXT(err.field, "account");
	CHECK_ERROR(ADMIT(.user = "ann", .account = "freedom", .is_operator = true), -ENOENT,
		    "there is no account 'freedom'; `strata accounts` lists");
	CHECK_ERROR(ADMIT(.user = "ann", .qos = "fats"), -ENOENT, "did you mean 'fast'?");
	CHECK_TEXT(err.field, "qos");
	CHECK_ERROR(ADMIT(.user = "ann", .partition = "gpus"), -ENOENT, "did you mean 'gpu'?");
	CHECK_TEXT(err.field, "partition");
}

TEST(accounts_are_used_by_those_who_may)
{
	struct strata_admission_request refused = { .user = "bob", .account = "lab" };

	CHECK_OK(ADMIT(.user = "ann", .account = "physics"));
	CHECK_OK(ADMIT(.user = "ann", .account = "lab"));
	CHECK_ERROR(ADMIT(.user = "ann", .account = "science"), -EPERM,
		    "user ann may not use account science; allowed: physics, lab");
	CHECK_ERROR(admit(&refused), -EPERM, "allowed: none");
	CHECK_TEXT(refused.account, "lab"); /* nothing was changed */
	CHECK_OK(ADMIT(.user = "bob", .account = "lab", .is_operator = true));
}

TEST(qualities_of_service_are_used_by_those_who_may)
{
	CHECK_OK(ADMIT(.user = "bob", .qos = "normal"));
	CHECK_OK(ADMIT(.user = "bob", .qos = "slow")); /* is open, and not above the default */
	CHECK_ERROR(ADMIT(.user = "bob", .qos = "eager"), -EPERM, "allowed: normal");
	CHECK_OK(ADMIT(.user = "eve", .qos = "eager")); /* may raise */
	CHECK_OK(ADMIT(.user = "ann", .qos = "fast"));
	CHECK_OK(ADMIT(.user = "ann", .qos = "long")); /* by the account above hers */
	CHECK_ERROR(ADMIT(.user = "ann", .account = "lab", .qos = "long"), -EPERM,
		    "user ann may not use qos long; allowed: normal, fast");
	CHECK_ERROR(ADMIT(.user = "eve", .qos = "fast"), -EPERM, "allowed: slow");
	CHECK_ERROR(ADMIT(.user = "eve", .qos = "normal"), -EPERM, "qos normal");
}

TEST(partitions_say_who_may_use_them)
{
	CHECK_OK(ADMIT(.user = "ann", .partition = "gpu"));
	CHECK_ERROR(ADMIT(.user = "bob", .partition = "gpu"), -EPERM,
		    "user bob may not use partition gpu");
	CHECK_TEXT(err.field, "partition");
	CHECK_ERROR(ADMIT(.user = "eve", .partition = "gpu"), -EPERM,
		    "partition gpu is not for account none; allowed: physics");
	CHECK_TEXT(err.field, "account");
	CHECK_ERROR(ADMIT(.user = "ann", .partition = "gpu", .qos = "fast"), -EPERM,
		    "partition gpu is not for qos fast; allowed: normal");
	CHECK_TEXT(err.field, "qos");
	CHECK_OK(ADMIT(.user = "bob", .partition = "gpu", .is_operator = true));
	struct strata_admission_request bob = { .user = "bob" };

	CHECK(!strata_rules_opens(&rules, "gpu", &bob));
	CHECK(strata_rules_opens(&rules, "main", &bob));
	CHECK(strata_rules_opens(&rules, "unheard-of", &bob));
}

TEST(a_partition_that_takes_no_jobs_says_so)
{
	CHECK_OK(ADMIT(.user = "bob", .partition = "down"));
	CHECK_ERROR(ADMIT(.user = "bob", .partition = "drain"), -EBUSY,
		    "partition drain is drained and takes no new jobs");
	CHECK_ERROR(ADMIT(.user = "bob", .partition = "off", .is_operator = true), -EBUSY,
		    "partition off is inactive");
}

TEST(going_before_others_needs_a_right)
{
	CHECK_ERROR(ADMIT(.user = "bob", .band = STRATA_BAND_HIGH), -EPERM,
		    "user bob may not use the priority high");
	CHECK_TEXT(err.field, "priority");
	CHECK_ERROR(ADMIT(.user = "bob", .priority = 1), -EPERM,
		    "user bob may not use a nice below 0");
	CHECK_TEXT(err.field, "nice");
	CHECK_OK(ADMIT(.user = "bob", .priority = -1));
	CHECK_OK(ADMIT(.user = "bob", .band = STRATA_BAND_HIGH, .is_operator = true));
	CHECK_OK(ADMIT(.user = "eve", .band = STRATA_BAND_HIGH));        /* by user */
	CHECK_OK(ADMIT(.user = "ann", .account = "lab", .priority = 9)); /* by account */
	CHECK_OK(ADMIT(.user = "ann", .qos = "fast", .priority = 9));    /* by quality of service */
	CHECK_ERROR(ADMIT(.user = "ann", .priority = 9), -EPERM, "--raise-priority");
}
