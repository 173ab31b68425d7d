/* Which jobs sacct shows: what was asked for, held against each. */
#include "cli/slurm/sacct.h"

#include "cli/service.h"

#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

int sacct_read_range(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	struct sacct_range *range = slurm_row_field(reading, row);
	size_t span = strcspn(value, "-");
	int rc = strata_int_parse(value, span, 1, UINT32_MAX, &range->least, NULL);

	range->most = range->least;
	if (rc == 0 && value[span])
		rc = strata_int_parse(value + span + 1, STRATA_TEXT_NUL, range->least, UINT32_MAX,
				      &range->most, NULL);
	return rc ? strata_fail(err, -EINVAL, "invalid range for --%s: %.60s", row->option.name,
				value)
		  : 0;
}

int sacct_read_limit(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		     struct strata_error *err)
{
	int64_t ns;

	if (strata_slurm_time_parse(value, STRATA_TEXT_NUL, &ns, NULL))
		return strata_fail(err, -EINVAL, "invalid time limit for --%s: %.60s",
				   row->option.name, value);
	*(int64_t *)slurm_row_field(reading, row) = ns / STRATA_SECOND_NS;
	return 0;
}

/* ---- holding against ---- */

static bool state_named(const char *list, const struct slurm_job *job)
{
	for (const char *at = list; *at;) {
		size_t span = strcspn(at, ",");

		if (slurm_state_find(at, span) == job->state)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

static bool in_time(const struct sacct *sacct, const struct slurm_job *job)
{
	bool over = job->ended && job->end_ns < sacct->from_ns;

	return !over && (!sacct->until_ns || job->eligible_ns <= sacct->until_ns);
}

static bool in_range(const struct sacct_range *range, int64_t number)
{
	return range->least == 0 || (number >= range->least && number <= range->most);
}

/* As in Slurm, a maximum counts only beside a minimum. */
static bool in_limits(const struct sacct *sacct, const struct slurm_job *job)
{
	if (!sacct->limit_least_s)
		return true;
	if (!sacct->limit_most_s)
		return job->limit_s == sacct->limit_least_s;
	return job->limit_s >= sacct->limit_least_s && job->limit_s <= sacct->limit_most_s;
}

/* By number or name. */
static bool has_group(const char *list, int64_t gid)
{
	const struct group *group = getgrgid((gid_t)gid);
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)gid);
	return slurm_listed(list, number) || (group && slurm_listed(list, group->gr_name));
}

/* All of those that are listed are among what it asks for. */
static bool has_features(const char *list, const struct slurm_job *job)
{
	const char *features = grid_or(json_object_get(job->request, "features"), "");

	for (const char *at = list; *at;) {
		size_t span = strcspn(at, ",");
		bool found = false;

		for (const char *own = features; *own && !found;) {
			size_t length = strcspn(own, "&|,()[]*");

			found = length == span && strncmp(own, at, span) == 0;
			own += length;
			own += strspn(own, "&|,()[]*");
		}
		if (!found)
			return false;
		at += span + (at[span] == ',');
	}
	return true;
}

bool sacct_wants(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job)
{
	const char *wckey = slurm_job_note(job, "wckey");

	if ((sacct->reasons && !slurm_listed(sacct->reasons, job->reason)) ||
	    (sacct->wckeys && !slurm_listed(sacct->wckeys, wckey ? wckey : "")))
		return false;
	return in_time(sacct, job) && (!sacct->users || slurm_listed(sacct->users, job->user)) &&
	       (!sacct->jobs || slurm_job_named(job, sacct->jobs)) &&
	       (!sacct->states || state_named(sacct->states, job)) &&
	       (!sacct->accounts || slurm_listed(sacct->accounts, job->account)) &&
	       (!sacct->partitions || slurm_listed(sacct->partitions, job->partition)) &&
	       (!sacct->names || slurm_listed(sacct->names, job->name)) &&
	       (!sacct->qos || slurm_listed(sacct->qos, job->qos)) &&
	       (!sacct->groups || has_group(sacct->groups, job->gid)) &&
	       (!sacct->features || has_features(sacct->features, job)) &&
	       in_range(&sacct->cpus, job->cpus) && in_range(&sacct->nodes_used, job->nodes) &&
	       in_limits(sacct, job) && (!sacct->nodes || slurm_job_on(cli, job, sacct->nodes));
}

void sacct_truncate(const struct sacct *sacct, struct slurm_job *job)
{
	if (job->start_ns && job->start_ns < sacct->from_ns)
		job->start_ns = sacct->from_ns;
	if (sacct->until_ns && job->ended && job->end_ns > sacct->until_ns)
		job->end_ns = sacct->until_ns;
	if (job->ended && job->start_ns)
		job->run_s = (job->end_ns - job->start_ns) / STRATA_SECOND_NS;
}
