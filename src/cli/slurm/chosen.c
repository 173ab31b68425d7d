/* Finding the jobs that a word means; see chosen.h. */
#include "cli/slurm/chosen.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

bool chosen_parse(const char *word, struct strata_arena *arena, struct chosen *ret_chosen)
{
	size_t digits = strspn(word, "0123456789");
	const char *tasks = word + digits + 1;
	struct chosen chosen = { .word = word };

	if (strata_int_parse(word, digits, 1, UINT32_MAX, &chosen.job, NULL))
		return false;
	if (word[digits] == '_' && strcmp(tasks, "*") != 0) {
		size_t length = strlen(tasks);

		if (length > 1 && tasks[0] == '[' && tasks[length - 1] == ']') {
			tasks++;
			length -= 2;
		}
		if (strata_array_parse(tasks, length, arena, &chosen.tasks, NULL))
			return false;
	} else if (word[digits] && word[digits] != '_') {
		return false;
	}
	*ret_chosen = chosen;
	return true;
}

bool chosen_has(const struct chosen *chosen, const json_t *job)
{
	int64_t array = grid_int(job, "array_id"), index = grid_int(job, "array_index");

	if (!chosen->tasks.task_count)
		return chosen->job == grid_int(job, "id") || chosen->job == array;
	return chosen->job == array && strata_array_next(&chosen->tasks, index - 1) == index;
}

const char *chosen_name(struct cli *cli, const json_t *job)
{
	int64_t array = grid_int(job, "array_id");
	const char *name =
		array ? strata_arena_printf(&cli->arena, "%" PRId64 "_%" PRId64, array,
					    grid_int(job, "array_index"))
		      : strata_arena_printf(&cli->arena, "%" PRId64, grid_int(job, "id"));

	return name ? name : "?";
}

int chosen_list(struct cli *cli, json_t **ret_jobs)
{
	struct buf path;
	json_t *answer;

	service_path(
		cli, &path, "queue", NULL,
		"?limit=1000000&fields=id,name,user,account,partition,qos,state,reason,array_id,"
		"array_index,node_names,request");
	int rc = service_get(cli, &path, &answer);

	if (rc)
		return rc;
	*ret_jobs = json_incref(json_object_get(answer, "jobs"));
	json_decref(answer);
	return 0;
}

const char *chosen_why(const struct cli *cli)
{
	switch (cli->err.code) {
	case -ENOENT:
		return "Invalid job id specified";
	case -EPERM:
	case -EACCES:
		return "Access/permission denied";
	case -ESTALE:
		return "Requested operation is presently disabled";
	default:
		return service_away(cli->err.code)
			       ? "Unable to contact slurm controller (connect failure)"
			       : cli->err.text;
	}
}
