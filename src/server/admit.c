/*
 * The door: what is asked for is held against the rules before anything of it is stored. Every way
 * in comes through here: jobs one by one, in bulk, as arrays and as scripts for Slurm, and changes.
 * What may be is decided by strata/admission.h.
 */
#include "server/admit.h"

#include "core/buf.h"
#include "exec/exec.h"
#include "server/nodes.h"
#include "server/entities.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

static bool is_operator(const struct identity *who)
{
	return who->role >= ROLE_OPERATOR;
}

/* Is the node in a partition that is open to the admission request? One that names none is
 * everybody's. */
static bool is_open(const struct strata_rules *rules, const char *partitions,
		    const struct strata_admission_request *admission, struct strata_arena *arena)
{
	if (!partitions || !*partitions)
		return true;
	while (*partitions) {
		size_t span = strcspn(partitions, ",");
		const char *name = strata_arena_text(arena, partitions, span);

		if (name && span && strata_rules_opens(rules, name, admission))
			return true;
		partitions += span + (partitions[span] == ',');
	}
	return false;
}

static bool all_open(const struct strata_rules *rules,
		     const struct strata_admission_request *admission)
{
	const struct strata_rule *at = rules->next(rules->context, STRATA_ENTITY_PARTITION, NULL);

	while (at && strata_rules_opens(rules, at->name, admission))
		at = rules->next(rules->context, STRATA_ENTITY_PARTITION, at);
	return !at;
}

/* A job that names no partition may go to every node, but for those whose partitions are all closed
 * to it. */
static int exclude_closed(const struct decider *decider, const struct strata_rules *rules,
			  const struct strata_admission_request *admission,
			  struct strata_arena *arena, struct job_spec *spec,
			  struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	uint32_t open = 0;
	struct buf names;

	if (all_open(rules, admission))
		return 0;
	buf_init(&names, &memory, 0);
	if (spec->node_exclude)
		buf_add(&names, spec->node_exclude);
	for (uint32_t i = 0; i < decider->node_count; i++) {
		const struct node_about *node = &decider->nodes[i];

		if (is_open(rules, node->conf.partitions, admission, arena))
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
				     admission->user);
}

/* What this service's executor cannot do is not promised. */
static int admit_executor(const struct decider *decider, const struct job_spec *spec,
			  struct strata_error *err)
{
	const struct exec_class *exec = (const struct exec_class *)decider->exec_spec.cls;

	if (spec->image && !exec->runs_images)
		return strata_fail_at(
			err, -EINVAL, "image",
			"%.100s: this service runs jobs on its machines as they are (executor "
			"= %s); images are for executor = kubernetes",
			spec->image, exec->base.name);
	if (exec->only_stops && (spec->signal || spec->checkpoint_ns))
		return strata_fail_at(
			err, -ENOTSUP, spec->signal ? "signal" : "checkpoint",
			"jobs run as pods of Kubernetes, which knows no way to send them a "
			"signal; leave --%s out, and save what is needed at SIGTERM",
			spec->signal ? "signal" : "checkpoint");
	return 0;
}

int admit_submission(struct decider *decider, const struct identity *who, struct job_spec *spec,
		     struct strata_arena *arena, struct strata_error *err)
{
	struct strata_rules rules = entities_rules(decider);
	struct strata_admission_request admission = { .user = who->user,
						      .account = spec->account,
						      .partition = spec->partition,
						      .qos = spec->qos,
						      .band = (enum strata_band)spec->priority,
						      .priority = -spec->nice,
						      .is_operator = is_operator(who) };
	int rc = admit_executor(decider, spec, err);

	if (rc == 0)
		rc = strata_rules_admit(&rules, &admission, err);
	if (rc)
		return rc;
	spec->account = admission.account;
	spec->partition = admission.partition;
	spec->qos = admission.qos;
	return admission.partition ? 0
				   : exclude_closed(decider, &rules, &admission, arena, spec, err);
}

/* Only what goes beyond what the job has. */
static int admit_priority(const struct decider *decider, const struct live *live,
			  const struct strata_job_change *change, struct strata_error *err)
{
	struct strata_rules rules = entities_rules(decider);
	const struct job *job = &live->job;
	bool band = (change->what & STRATA_CHANGE_BAND) && change->band > job->band;
	bool priority = (change->what & STRATA_CHANGE_PRIORITY) && change->priority > job->priority;
	struct strata_admission_request admission = { .user = job->user,
						      .account = job->account,
						      .qos = job->qos,
						      .band = band ? change->band
								   : STRATA_BAND_NORMAL,
						      .priority = priority ? change->priority : 0 };

	return strata_rules_admit_priority(&rules, &admission, err);
}

static int admit_time(const struct decider *decider, const struct live *live, int64_t limit_ns,
		      struct strata_error *err)
{
	struct spec_rules rules = decider->rules;
	char asked[STRATA_FORM_BYTES], most[STRATA_FORM_BYTES];

	if (limit_ns <= live->job.time_limit_ns)
		return 0;
	entities_partition_rules(decider, live->job.partition, &rules);
	if (live->job.attempt)
		return strata_fail_at(err, -EPERM, "time_limit",
				      "only operators may give a running job more time");
	if (limit_ns > rules.time_limit_ns_max)
		return strata_fail_at(err, -EPERM, "time_limit",
				      "time_limit %s is too long: at most %s",
				      strata_duration_print(limit_ns, asked),
				      strata_duration_print(rules.time_limit_ns_max, most));
	return 0;
}

int admit_change(struct decider *decider, const struct identity *who, const struct live *live,
		 const struct strata_job_change *change, struct strata_error *err)
{
	if (is_operator(who))
		return 0;
	int rc = admit_priority(decider, live, change, err);

	return rc || !(change->what & STRATA_CHANGE_TIME_LIMIT)
		       ? rc
		       : admit_time(decider, live, change->time_limit_ns, err);
}
