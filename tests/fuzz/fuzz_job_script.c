/* Scripts as jobs: what sbatch takes becomes a body, and the body a job or an error that names its field. */
#include "slurm/job_script.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const env[] = { "HOME=/home/ann", "A=1", NULL };
	const struct job_caller caller = { .env = env, .working_dir = "/work" };
	struct strata_sbatch_input in = { .script = (const char *)data,
					  .script_length = size,
					  .script_name = "job.sh" };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct strata_sbatch job;
	struct job_spec spec;
	struct buf notes;
	size_t skipped;

	strata_arena_init(&arena, &memory, 0);
	if (strata_sbatch_parse(&in, &arena, &job, &err) == 0) {
		json_t *body = json_object();

		buf_init(&notes, &memory, 0);
		int rc = job_script_add(&job, &caller, &arena, body, &notes, &err);

		if (rc == 0)
			rc = job_script_add_text(job.script, job.script_length, "job.sh", NULL, 0,
						 body, &err);
		if (rc == 0)
			rc = job_fields_add_caller(NULL, &caller, body, &skipped, &err);
		if (rc == 0)
			rc = strata_schema_defaults(&job_spec_schema, &arena, &spec, &err);
		if (rc == 0)
			rc = option_read_json(&job_spec_schema, body, 0, &arena, &spec, &err);
		assert(rc == 0 || (err.code == rc && err.text[0] && err.field[0]));
		if (rc == 0)
			assert(*job_spec_name(&spec) && spec.script && spec.working_dir[0] == '/');
		buf_fini(&notes);
		json_decref(body);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
