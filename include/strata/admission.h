/*
 * Who may submit what. Accounts, partitions and qualities of service exist when somebody made them, and are used by those who may; a band
 * or a priority above the ordinary needs a right. Pure: the caller keeps the rules, and is asked for them.
 *
 * A user nobody has said anything about has no account, the default quality of service, and every partition that is open to all.
 */
#ifndef STRATA_ADMISSION_H
#define STRATA_ADMISSION_H

#include <strata/cluster.h>
#include <strata/option.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What was said about a user, an account, a quality of service or a partition. Everything is borrowed. Lists are of const char *. */
struct strata_rule {
	enum strata_entity_type type;
	const char *name;
	/* of a user: of jobs that name none; of an account: the one above it; NULL: none */
	const char *account;
	const char *qos; /* of a user: of jobs that name none; NULL: the default one */
	/* of a user: beside its own. Of a partition: only these; empty: all */
	struct strata_list allowed_accounts;
	/* of a user or an account: beside the default. Of a partition: only these; empty: all */
	struct strata_list allowed_qos;
	struct strata_list allowed_users; /* of a partition: only these; empty: all */
	bool usual; /* of a quality of service or partition: the default one */
	bool open; /* of a quality of service: everybody may use it, who may raise priorities if it is above the default */
	bool raise_priority; /* not of a partition: its jobs may have the band high and a priority above 0 */
	double priority;                   /* of a quality of service */
	enum strata_partition_state state; /* of a partition */
};

/* Where the rules are. */
struct strata_rules {
	/* By name; NULL: there is none. */
	const struct strata_rule *(*find)(const void *context, enum strata_entity_type type,
					  const char *name);
	/* One of this kind after another, the first after NULL; NULL behind the last. */
	const struct strata_rule *(*next)(const void *context, enum strata_entity_type type,
					  const struct strata_rule *after);
	const void *context;
};

/* What is wanted, and by whom. */
struct strata_admission_request {
	const char *user;
	const char *account, *partition, *qos; /* NULL or "": none is named */
	enum strata_band band;
	int64_t priority; /* above 0: before others of its band */
	bool is_operator; /* who has every right */
};

/*
 * May this be submitted? 0: account, partition and qos of the wish are those that count (NULL: none; no partition: any node that is open,
 * see strata_rules_opens). -ENOENT for a name that nobody made, with the nearest one that somebody did; -EPERM for what this user may not;
 * -EBUSY for a partition that takes no new jobs. The error names the field: account, partition, qos, priority (the band) or nice.
 */
int strata_rules_admit(const struct strata_rules *rules, struct strata_admission_request *admission,
		       struct strata_error *err);

/* May a job of this account and quality of service have this band and this priority? 0 or -EPERM. */
int strata_rules_admit_priority(const struct strata_rules *rules,
				const struct strata_admission_request *admission,
				struct strata_error *err);

/* May this be submitted to the partition, as far as users, accounts and qualities of service count? One without a rule is open. */
bool strata_rules_opens(const struct strata_rules *rules, const char *partition,
			const struct strata_admission_request *admission);

/* 0, or -ENOENT with the nearest name of that kind, and the field. */
int strata_rules_require(const struct strata_rules *rules, enum strata_entity_type type,
			 const char *name, const char *field, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
