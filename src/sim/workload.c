/*
 * Making a log with a model: jobs from the model, numbers, unknown columns and the header from here.
 * The header names the model with all its options and the seed, so that a log can be made again
 * from itself.
 */
#include "sim/workload.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { HEADER_NOTES = 8 };

static int add_note(struct strata_swf *swf, struct strata_arena *arena, const char *key,
		    int64_t value)
{
	const char *text = strata_arena_printf(arena, "%" PRId64, value);

	swf->notes[swf->note_count++] = (struct strata_swf_note){ .key = key, .value = text };
	return text ? 0 : -ENOMEM;
}

static int add_origin(struct strata_swf *swf, const struct strata_spec *spec, uint64_t seed,
		      struct strata_arena *arena, struct strata_error *err)
{
	const char *model;
	int rc = strata_spec_print(spec, arena, &model, err);
	const char *text = rc ? NULL : strata_arena_printf(arena, "%" PRIu64, seed);

	if (rc)
		return rc;
	if (!text)
		return strata_fail_memory(err);
	swf->notes[swf->note_count++] =
		(struct strata_swf_note){ .key = "Version", .value = "2.2" };
	swf->notes[swf->note_count++] =
		(struct strata_swf_note){ .key = "Note", .value = "made by a model, not recorded" };
	swf->notes[swf->note_count++] = (struct strata_swf_note){ .key = "Model", .value = model };
	swf->notes[swf->note_count++] = (struct strata_swf_note){ .key = "Seed", .value = text };
	return 0;
}

static int add_header(const struct workload *workload, const struct strata_spec *spec,
		      uint64_t seed, struct strata_arena *arena, struct strata_swf *swf,
		      struct strata_error *err)
{
	int rc = add_origin(swf, spec, seed, arena, err);

	if (rc)
		return rc;
	rc = add_note(swf, arena, "MaxJobs", (int64_t)workload->job_count);
	if (rc == 0)
		rc = add_note(swf, arena, "MaxRecords", (int64_t)workload->job_count);
	if (rc == 0)
		rc = add_note(swf, arena, "MaxProcs", workload->procs);
	if (rc == 0 && workload->nodes > 0)
		rc = add_note(swf, arena, "MaxNodes", workload->nodes);
	if (rc)
		return strata_fail_memory(err);
	for (size_t i = 0; i < workload->note_count; i++)
		swf->notes[swf->note_count++] = workload->notes[i];
	for (size_t i = 0; rc == 0 && i < workload->demand_count; i++)
		rc = swf_demand_note(&workload->demands[i], arena, &swf->notes[swf->note_count++],
				     err);
	return rc;
}

static void complete_jobs(struct workload *workload)
{
	for (size_t i = 0; i < workload->job_count; i++) {
		struct strata_swf_job *job = &workload->jobs[i];

		assert(i == 0 || job->submit_s >= job[-1].submit_s);
		assert(job->run_s >= 1 && job->requested_s >= job->run_s);
		job->number = (int64_t)i + 1;
		job->procs_used = job->procs_requested;
		job->status = 1;
		job->wait_s = job->group = job->partition = job->preceding = job->think_s = -1;
		job->cpu_s = job->memory_kb = job->requested_memory_kb = -1;
	}
}

int workload_make(const struct strata_spec *spec, size_t job_count, uint64_t seed,
		  struct strata_arena *arena, struct strata_swf *ret_swf, struct strata_error *err)
{
	const struct workload_class *model = (const struct workload_class *)spec->cls;
	struct workload workload = { .job_count = job_count };

	if (job_count < 1 || job_count > STRATA_SWF_JOBS_MAX)
		return strata_fail_at(err, -ERANGE, "jobs", "jobs is %zu; expected 1 to %d",
				      job_count, STRATA_SWF_JOBS_MAX);
	workload.jobs = strata_arena_array(arena, job_count, sizeof(*workload.jobs));
	if (!workload.jobs)
		return strata_fail_memory(err);
	int rc = model->make(spec->conf, seed, arena, &workload, err);

	if (rc)
		return rc;
	complete_jobs(&workload);
	struct strata_swf swf = { .jobs = workload.jobs, .job_count = job_count };

	swf.notes = strata_arena_array(arena,
				       HEADER_NOTES + workload.note_count + workload.demand_count,
				       sizeof(*swf.notes));
	if (!swf.notes)
		return strata_fail_memory(err);
	rc = add_header(&workload, spec, seed, arena, &swf, err);
	if (rc == 0)
		*ret_swf = swf;
	return rc;
}

int workload_nodes(const struct strata_spec *spec, struct strata_arena *arena,
		   struct openb_node **ret_nodes, size_t *ret_count, struct strata_error *err)
{
	const struct workload_class *model = (const struct workload_class *)spec->cls;

	if (!model->nodes)
		return strata_fail(err, -EINVAL,
				   "the jobs of model %s are for a flat pool; it has no nodes",
				   model->base.name);
	return model->nodes(spec->conf, arena, ret_nodes, ret_count, err);
}
