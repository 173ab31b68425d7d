/*
 * The door: what is asked for is held against the rules before anything of it is stored. Every way in comes through here: jobs one by one, in
 * bulk, as arrays and as scripts for Slurm, and changes. What may be is decided by strata/admission.h.
 */
#include "server/people.h"

#include "core/buf.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

static bool is_operator(const struct identity *who)
{
	return who->role >= ROLE_OPERATOR;
}

/* Is the node in a partition that is open to the wish? One that names none is everybody's. */
static bool is_open(const struct strata_rules *rules, const char *partitions,
		    const struct strata_wish *wish, struct strata_arena *arena)
{
	if (!partitions || !*partitions)
		return true;
	while (*partitions) {
		size_t span = strcspn(partitions, ",");
		const char *name = strata_arena_text(arena, partitions, span);

		if (name && span && strata_rules_opens(rules, name, wish))
			return true;
		partitions += span + (partitions[span] == ',');
	}
	return false;
}

static bool all_open(const struct strata_rules *rules, const struct strata_wish *wish)
{
	const struct strata_rule *at = rules->next(rules->context, STRATA_PARTY_PARTITION, NULL);

	while (at && strata_rules_opens(rules, at->name, wish))
		at = rules->next(rules->context, STRATA_PARTY_PARTITION, at);
	return !at;
}

/* A job that names no partition may go to every node, but for those whose partitions are all closed to it. */
static int exclude_closed(const struct server *server, const struct strata_rules *rules,
			  const struct strata_wish *wish, struct strata_arena *arena,
			  struct job_spec *spec, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	uint32_t open = 0;
	struct buf names;

	if (all_open(rules, wish))
		return 0;
	buf_init(&names, &memory, 0);
	if (spec->node_exclude)
		buf_add(&names, spec->node_exclude);
	for (uint32_t i = 0; i < server->node_count; i++) {
		const struct node_about *node = &server->nodes[i];

		if (is_open(rules, node->conf.partitions, wish, arena))
			open++;
		else
			buf_printf(&names, "%s%s", names.length ? "," : "", node->name);
	}
	spec->node_exclude = names.failed ? NULL
					  : strata_arena_text(arena, names.text, names.length);
	buf_fini(&names);
	if (!spec->node_exclude)
		return strata_fail_memory(err);
	return open ? 0
		    : strata_fail_at(err, -EPERM, "partition",
				     "no partition is open to user %.60s; `strata partitions` "
				     "lists them",
				     wish->user);
}

int admit_submission(struct server *server, const struct identity *who, struct job_spec *spec,
		     struct strata_arena *arena, struct strata_error *err)
{
	struct strata_rules rules = people_rules(server);
	struct strata_wish wish = { .user = who->user,
				    .account = spec->account,
				    .partition = spec->partition,
				    .qos = spec->qos,
				    .band = (enum strata_band)spec->priority,
				    .priority = -spec->nice,
				    .is_operator = is_operator(who) };
	int rc = strata_rules_admit(&rules, &wish, err);

	if (rc)
		return rc;
	spec->account = wish.account;
	spec->partition = wish.partition;
	spec->qos = wish.qos;
	return wish.partition ? 0 : exclude_closed(server, &rules, &wish, arena, spec, err);
}

/* Only what goes beyond what the job has. */
static int admit_priority(const struct server *server, const struct live *live,
			  const struct strata_job_change *change, struct strata_error *err)
{
	struct strata_rules rules = people_rules(server);
	const struct store_job *row = &live->row;
	bool band = (change->what & STRATA_CHANGE_BAND) &&
		    change->band > (enum strata_band)row->band;
	bool priority = (change->what & STRATA_CHANGE_PRIORITY) && change->priority > row->priority;
	struct strata_wish wish = { .user = row->user,
				    .account = row->account,
				    .qos = row->qos,
				    .band = band ? change->band : STRATA_BAND_NORMAL,
				    .priority = priority ? change->priority : 0 };

	return strata_rules_admit_priority(&rules, &wish, err);
}

static int admit_time(const struct server *server, const struct live *live, int64_t limit_ns,
		      struct strata_error *err)
{
	struct spec_rules rules = server->rules;

	if (limit_ns <= live->row.time_limit_ns)
		return 0;
	people_partition_rules(server, live->row.partition, &rules);
	if (live->row.attempt)
		return strata_fail_at(err, -EPERM, "time_limit",
				      "only operators may give a running job more time");
	if (limit_ns > rules.time_limit_ns_max)
		return strata_fail_at(err, -EPERM, "time_limit",
				      "time_limit is %lld s; expected at most %lld",
				      (long long)(limit_ns / STRATA_SECOND_NS),
				      (long long)(rules.time_limit_ns_max / STRATA_SECOND_NS));
	return 0;
}

int admit_change(struct server *server, const struct identity *who, const struct live *live,
		 const struct strata_job_change *change, struct strata_error *err)
{
	if (is_operator(who))
		return 0;
	int rc = admit_priority(server, live, change, err);

	return rc || !(change->what & STRATA_CHANGE_TIME_LIMIT)
		       ? rc
		       : admit_time(server, live, change->time_limit_ns, err);
}
