/* The files of job_files.h. */
#include "server/job_files.h"

#include "server/os_user.h"

#include <strata/slurm.h>

#include <errno.h>
#include <string.h>

/* One file; NULL: no memory. */
static const char *expand(const struct job *job, const char *pattern, const char *directory,
			  const char *node, struct strata_arena *arena)
{
	struct strata_output_values values = {
		.job = job->id,
		.array_job = job->array_id ? job->array_id : -1,
		.task = job->array_id ? job->array_index : STRATA_TASK_NONE,
		.step = -1,
		.node = 0,
		.rank = 0,
		.host = node,
		.user = job->user,
		.name = job->name,
	};
	const char *text;

	if (strata_output_expand(pattern, &values, arena, &text, NULL))
		return NULL;
	return *text == '/' ? text : strata_arena_printf(arena, "%s/%s", directory, text);
}

/* Where its output goes when nobody says so. */
static const char *output_pattern(const struct job *job, const struct job_spec *spec)
{
	return spec->output ? spec->output : job->array_id ? "strata-%A_%a.out" : "strata-%j.out";
}

int job_files_make(const struct job *job, const struct job_spec *spec, const char *node,
		   const char *home, struct strata_arena *arena, struct job_files *ret_files,
		   struct strata_error *err)
{
	const char *directory = spec->working_dir ? spec->working_dir : home;
	struct job_files files = {
		.directory = directory,
		.output = expand(job, output_pattern(job, spec), directory, node, arena),
		.error = spec->error ? expand(job, spec->error, directory, node, arena) : NULL,
		.input = spec->input ? expand(job, spec->input, directory, node, arena) : NULL,
	};

	if (!files.output || (spec->error && !files.error) || (spec->input && !files.input))
		return strata_fail_memory(err);
	*ret_files = files;
	return 0;
}

int job_files_output(const struct job *job, const struct job_spec *spec, bool error,
		     struct strata_arena *arena, const char **ret_path, struct strata_error *err)
{
	const char *pattern = error && spec->error ? spec->error : output_pattern(job, spec);
	const char *node = job->place && job->place->count ? job->place->pieces[0].node : NULL;
	const char *directory = spec->working_dir;
	struct os_user user;

	if (!node && strstr(pattern, "%N"))
		return strata_fail(err, -ENOENT,
				   "the path of its output has the name of its node, which is no "
				   "longer known");
	if (!directory)
		directory = os_user_by_uid((uid_t)job->uid, &user) ? user.home : "/";
	const char *path = expand(job, pattern, directory, node ? node : "", arena);

	if (!path)
		return strata_fail_memory(err);
	*ret_path = path;
	return 0;
}
