/* Batch scripts: a request that keeps its promises, or a complaint. Lines before the first that
 * begins with "#!" are words of the command line ("-…") or variables ("NAME=value"). */
#include <strata/sbatch.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 16 };

static void check_job(const struct strata_sbatch *job, struct strata_arena *arena)
{
	struct strata_output_values values = { .job = 7, .name = job->name };
	struct strata_error err;
	const char *text;

	assert(job->name && job->script && job->output && job->error);
	assert(job->nodes >= 1 && job->tasks >= 1 && job->cpus_per_task >= 1);
	assert(job->nodes_max == 0 || job->nodes_max >= job->nodes);
	assert(job->gpus_total >= 0 && job->array.task_count >= 0);
	assert((job->mem_bytes >= 0) + (job->mem_per_cpu_bytes >= 0) +
		       (job->mem_per_gpu_bytes >= 0) <=
	       1);
	if (strata_output_expand(job->output, &values, arena, &text, &err))
		assert(err.code < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	const char *args[WORDS], *env[WORDS + 1] = { NULL };
	struct strata_sbatch_input in = { .script_name = "job.sh",
					  .args = args,
					  .env = env,
					  .nodes = "n[1-4]",
					  .now_ns = STRATA_SECOND_NS };
	struct strata_sbatch job = { .verbose = -7 };
	struct strata_arena arena;
	struct strata_error err;
	size_t env_count = 0;
	int status = -1;
	char *copy = malloc(size + 1), *at = copy;

	memcpy(copy, data, size);
	copy[size] = '\0';
	while (at < copy + size && strncmp(at, "#!", 2) != 0) {
		char *end = memchr(at, '\n', (size_t)(copy + size - at));

		if (!end)
			break;
		*end = '\0';
		if (*at == '-' && in.arg_count < WORDS)
			args[in.arg_count++] = at;
		else if (env_count < WORDS)
			env[env_count++] = at;
		at = end + 1;
	}
	in.script = at;
	in.script_length = (size_t)(copy + size - at);
	strata_arena_init(&arena, &memory, 0);
	if (strata_sbatch_parse(&in, &arena, &job, &err) == 0) {
		if (!job.help && !job.usage && !job.version)
			check_job(&job, &arena);
	} else {
		assert(err.code < 0 && err.text[0] && job.verbose == -7);
		assert(strata_sbatch_complaint(&err, "sbatch", &arena, &status) && status > 0);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	free(copy);
	return 0;
}
