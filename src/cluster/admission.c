/* The decisions of admission.h. */
#include <strata/admission.h>

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = 120 }; /* of names in a sentence */

static const struct strata_rule *find(const struct strata_rules *rules,
				      enum strata_entity_type type, const char *name)
{
	return name && *name ? rules->find(rules->context, type, name) : NULL;
}

static const struct strata_rule *find_usual(const struct strata_rules *rules,
					    enum strata_entity_type type)
{
	const struct strata_rule *rule = rules->next(rules->context, type, NULL);

	while (rule && !rule->usual)
		rule = rules->next(rules->context, type, rule);
	return rule;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool is_listed(const struct strata_list *list, const char *name)
{
	const char *const *names = list->items;

	for (size_t i = 0; name && i < list->count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* "a, b", as far as there is room for whole names. */
static void add_names(char text[LIST_BYTES], const char *first, const struct strata_list *list)
{
	const char *const *names = list->items;
	size_t length = strlen(text);

	for (size_t i = 0; i <= list->count; i++) {
		const char *name = i ? names[i - 1] : first;

		if (!name || !*name || length + strlen(name) + 3 > LIST_BYTES)
			continue;
		length += (size_t)snprintf(text + length, LIST_BYTES - length, "%s%s",
					   length ? ", " : "", name);
	}
}

int strata_rules_require(const struct strata_rules *rules, enum strata_entity_type type,
			 const char *name, const char *field, struct strata_error *err)
{
	static const char *const commands[STRATA_ENTITY_COUNT] = { "users", "accounts", "qos",
								   "partitions" };
	char excerpt[TEXT_EXCERPT_BYTES];
	struct text_closest closest;

	if (find(rules, type, name))
		return 0;
	text_closest_init(&closest, name, strlen(name));
	for (const struct strata_rule *at = rules->next(rules->context, type, NULL); at;
	     at = rules->next(rules->context, type, at))
		text_closest_offer(&closest, at->name);
	text_excerpt(name, strlen(name), excerpt);
	if (closest.best)
		return strata_fail_at(err, -ENOENT, field,
				      "there is no %s '%s'; did you mean '%s'?",
				      strata_entity_type_name(type), excerpt, closest.best);
	return strata_fail_at(err, -ENOENT, field,
			      "there is no %s '%s'; `strata %s` lists what there is",
			      strata_entity_type_name(type), excerpt, commands[type]);
}

/* ---- accounts ---- */

static int refuse_account(const struct strata_admission_request *admission,
			  const struct strata_rule *user, struct strata_error *err)
{
	char allowed[LIST_BYTES] = "";

	if (user)
		add_names(allowed, user->account, &user->allowed_accounts);
	return strata_fail_at(err, -EPERM, "account",
			      "user %.60s may not use account %.60s; allowed: %s", admission->user,
			      admission->account, *allowed ? allowed : "none");
}

static int admit_account(const struct strata_rules *rules,
			 struct strata_admission_request *admission, struct strata_error *err)
{
	const struct strata_rule *user = find(rules, STRATA_ENTITY_USER, admission->user);
	int rc;

	if (!admission->account || !*admission->account) {
		admission->account = user ? user->account : NULL;
		return 0;
	}
	rc = strata_rules_require(rules, STRATA_ENTITY_ACCOUNT, admission->account, "account", err);
	if (rc || admission->is_operator)
		return rc;
	return user && (is_same(user->account, admission->account) ||
			is_listed(&user->allowed_accounts, admission->account))
		       ? 0
		       : refuse_account(admission, user, err);
}

/* ---- rights ---- */

static bool may_raise(const struct strata_rules *rules,
		      const struct strata_admission_request *admission)
{
	const struct strata_rule *user = find(rules, STRATA_ENTITY_USER, admission->user);
	const struct strata_rule *qos = find(rules, STRATA_ENTITY_QOS, admission->qos);
	const struct strata_rule *account = find(rules, STRATA_ENTITY_ACCOUNT, admission->account);
	bool may = admission->is_operator || (user && user->raise_priority) ||
		   (qos && qos->raise_priority);

	/* accounts above it give their rights; the tree is not deeper than this */
	for (int depth = 0; !may && account && depth < STRATA_SHARE_DEPTH_MAX; depth++) {
		may = account->raise_priority;
		account = find(rules, STRATA_ENTITY_ACCOUNT, account->account);
	}
	return may;
}

int strata_rules_admit_priority(const struct strata_rules *rules,
				const struct strata_admission_request *admission,
				struct strata_error *err)
{
	bool high = admission->band > STRATA_BAND_NORMAL;

	if ((!high && admission->priority <= 0) || may_raise(rules, admission))
		return 0;
	return strata_fail_at(
		err, -EPERM, high ? "priority" : "nice",
		"user %.60s may not use %s; an administrator allows it with `strata users set "
		"%.60s --raise-priority`",
		admission->user, high ? "the priority high" : "a nice below 0", admission->user);
}

/* ---- qualities of service ---- */

static bool account_allows_qos(const struct strata_rules *rules,
			       const struct strata_admission_request *admission)
{
	const struct strata_rule *account = find(rules, STRATA_ENTITY_ACCOUNT, admission->account);
	bool allows = false;

	for (int depth = 0; !allows && account && depth < STRATA_SHARE_DEPTH_MAX; depth++) {
		allows = is_listed(&account->allowed_qos, admission->qos);
		account = find(rules, STRATA_ENTITY_ACCOUNT, account->account);
	}
	return allows;
}

/* Everybody may use it; if it goes before the default one, everybody who may raise priorities. */
static bool is_open(const struct strata_rules *rules,
		    const struct strata_admission_request *admission)
{
	const struct strata_rule *qos = find(rules, STRATA_ENTITY_QOS, admission->qos);
	const struct strata_rule *usual = find_usual(rules, STRATA_ENTITY_QOS);
	struct strata_admission_request without = *admission;

	without.qos = NULL; /* a right that it gives is for those who may use it */
	return qos && qos->open &&
	       (qos->priority <= (usual ? usual->priority : 0) || may_raise(rules, &without));
}

static int admit_qos(const struct strata_rules *rules, struct strata_admission_request *admission,
		     struct strata_error *err)
{
	const struct strata_rule *user = find(rules, STRATA_ENTITY_USER, admission->user);
	const struct strata_rule *usual = find_usual(rules, STRATA_ENTITY_QOS);
	const char *own = user && user->qos && *user->qos ? user->qos : usual ? usual->name : NULL;
	char allowed[LIST_BYTES] = "";
	int rc;

	if (!admission->qos || !*admission->qos) {
		admission->qos = own;
		return 0;
	}
	rc = strata_rules_require(rules, STRATA_ENTITY_QOS, admission->qos, "qos", err);
	if (rc || admission->is_operator || is_same(own, admission->qos) ||
	    (user && is_listed(&user->allowed_qos, admission->qos)) ||
	    account_allows_qos(rules, admission) || is_open(rules, admission))
		return rc;
	add_names(allowed, own, user ? &user->allowed_qos : &(struct strata_list){ 0 });
	return strata_fail_at(err, -EPERM, "qos", "user %.60s may not use qos %.60s; allowed: %s",
			      admission->user, admission->qos, *allowed ? allowed : "none by name");
}

/* ---- partitions ---- */

/* Which of its lists turns the wish away: the field; NULL: none. */
static const char *turned_away_by(const struct strata_rule *partition,
				  const struct strata_admission_request *admission)
{
	const struct {
		const struct strata_list *list;
		const char *name, *field;
	} lists[] = { { &partition->allowed_users, admission->user, "partition" },
		      { &partition->allowed_accounts, admission->account, "account" },
		      { &partition->allowed_qos, admission->qos, "qos" } };

	for (size_t i = 0; !admission->is_operator && i < sizeof(lists) / sizeof(lists[0]); i++)
		if (lists[i].list->count && !is_listed(lists[i].list, lists[i].name))
			return lists[i].field;
	return NULL;
}

bool strata_rules_opens(const struct strata_rules *rules, const char *partition,
			const struct strata_admission_request *admission)
{
	const struct strata_rule *rule = find(rules, STRATA_ENTITY_PARTITION, partition);

	return !rule || !turned_away_by(rule, admission);
}

static int refuse_partition(const struct strata_rule *partition,
			    const struct strata_admission_request *admission, const char *field,
			    struct strata_error *err)
{
	bool by_account = strcmp(field, "account") == 0, by_qos = strcmp(field, "qos") == 0;
	const char *name = by_account ? admission->account
			   : by_qos   ? admission->qos
				      : admission->user;
	char allowed[LIST_BYTES] = "";

	if (!by_account && !by_qos)
		return strata_fail_at(err, -EPERM, field, "user %.60s may not use partition %.60s",
				      admission->user, partition->name);
	add_names(allowed, NULL,
		  by_account ? &partition->allowed_accounts : &partition->allowed_qos);
	return strata_fail_at(err, -EPERM, field,
			      "partition %.60s is not for %s %.60s; allowed: %s", partition->name,
			      field, name ? name : "none", allowed);
}

static int admit_partition(const struct strata_rules *rules,
			   struct strata_admission_request *admission, struct strata_error *err)
{
	const struct strata_rule *partition;
	const char *field;

	if (admission->partition && *admission->partition) {
		int rc = strata_rules_require(rules, STRATA_ENTITY_PARTITION, admission->partition,
					      "partition", err);
		if (rc)
			return rc;
		partition = find(rules, STRATA_ENTITY_PARTITION, admission->partition);
	} else {
		partition = find_usual(rules, STRATA_ENTITY_PARTITION);
		admission->partition = partition ? partition->name : NULL;
	}
	if (!partition)
		return 0;
	field = turned_away_by(partition, admission);
	if (field)
		return refuse_partition(partition, admission, field, err);
	if (partition->state == STRATA_PARTITION_DRAIN ||
	    partition->state == STRATA_PARTITION_INACTIVE)
		return strata_fail_at(
			err, -EBUSY, "partition", "partition %.60s is %s and takes no new jobs",
			partition->name,
			partition->state == STRATA_PARTITION_DRAIN ? "drained" : "inactive");
	return 0;
}

int strata_rules_admit(const struct strata_rules *rules, struct strata_admission_request *admission,
		       struct strata_error *err)
{
	struct strata_admission_request decided = *admission;
	int rc = admit_account(rules, &decided, err);

	if (rc == 0)
		rc = admit_qos(rules, &decided, err);
	if (rc == 0)
		rc = admit_partition(rules, &decided, err);
	if (rc == 0)
		rc = strata_rules_admit_priority(rules, &decided, err);
	if (rc == 0)
		*admission = decided;
	return rc;
}
