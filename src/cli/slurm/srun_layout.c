/* Where the tasks of a step run, and which GPUs they see. Pure. */
#include "cli/slurm/srun.h"

#include <strata/slurm.h>
#include <strata/text.h>

#include <inttypes.h>
#include <string.h>
#include <strings.h>

size_t srun_counts_parse(const char *text, int64_t *ret_counts, size_t room)
{
	size_t count = 0;

	while (text && *text) {
		size_t digits = strspn(text, "0123456789");
		int64_t value, times = 1;

		if (strata_int_parse(text, digits, 0, INT32_MAX, &value, NULL))
			return 0;
		text += digits;
		if (strncmp(text, "(x", 2) == 0) {
			digits = strspn(text + 2, "0123456789");
			if (text[2 + digits] != ')' ||
			    strata_int_parse(text + 2, digits, 1, INT32_MAX, &times, NULL))
				return 0;
			text += digits + 3;
		}
		for (; times > 0 && count < room; times--)
			ret_counts[count++] = value;
		if (*text && *text++ != ',')
			return 0;
	}
	return count;
}

static const char *short_counts(const struct srun_layout *layout, struct strata_arena *arena)
{
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	for (size_t i = 0, run; i < layout->node_count; i += run) {
		for (run = 1; i + run < layout->node_count &&
			      layout->nodes[i + run].tasks == layout->nodes[i].tasks;)
			run++;
		buf_printf(&buf, "%s%" PRId64, i ? "," : "", layout->nodes[i].tasks);
		if (run > 1)
			buf_printf(&buf, "(x%zu)", run);
	}
	const char *text = buf_check(&buf, NULL) ? NULL
						 : strata_arena_text(arena, buf.text, buf.length);

	buf_fini(&buf);
	return text;
}

/* As the job was laid out if it is all of it, else so many to a node, else evenly with the first
 * ones having one more. */
bool srun_spread(struct srun_layout *layout, const int64_t *usual, int64_t per_node,
		 struct strata_arena *arena)
{
	int64_t left = layout->task_count, sum = 0;
	size_t count = layout->node_count, kept = 0;
	const char **names = strata_arena_array(arena, count + 1, sizeof(*names));

	if (!names)
		return false;
	for (size_t i = 0; usual && i < count; i++)
		sum += usual[i];
	for (size_t i = 0; i < count; i++) {
		int64_t nodes_left = (int64_t)(count - i);
		int64_t tasks = usual && sum == layout->task_count ? usual[i]
				: per_node                         ? per_node
					   : (left + nodes_left - 1) / nodes_left;

		if (tasks > left || (per_node && sum != layout->task_count && nodes_left == 1))
			tasks = left;
		if (tasks == 0)
			continue;
		layout->nodes[kept] = layout->nodes[i];
		layout->nodes[kept].tasks = tasks;
		names[kept++] = layout->nodes[i].name;
		left -= tasks;
	}
	layout->node_count = kept;
	layout->tasks_per_node = short_counts(layout, arena);
	return layout->tasks_per_node &&
	       strata_hostlist_compress(names, kept, arena, &layout->node_list, NULL) == 0;
}

const char *srun_task_gpus(const struct srun_node *node, int64_t local, int64_t per_task,
			   struct strata_arena *arena)
{
	size_t first = per_task ? (size_t)(local * per_task) : 0;
	size_t end = per_task ? first + (size_t)per_task : node->gpu_count;
	size_t room = 24 * (node->gpu_count + 1), used = 0;
	char *text = strata_arena_get(arena, room);

	for (size_t i = first; text && i < end && i < node->gpu_count; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, used ? "," : "",
					 node->gpus[i]);
	return text;
}

int64_t srun_plane(const char *distribution)
{
	int64_t size = 0;

	if (!distribution)
		return 0;
	if (strncasecmp(distribution, "cyclic", 6) == 0)
		return 1;
	if (strncasecmp(distribution, "plane=", 6) == 0)
		strata_int_parse(distribution + 6, strspn(distribution + 6, "0123456789"), 1,
				 INT32_MAX, &size, NULL);
	return size;
}

int64_t srun_rank(const struct srun_layout *layout, size_t node, int64_t local, int64_t plane)
{
	int64_t before = plane ? local / plane * plane : 0, rank = plane ? local - before : local;

	for (size_t i = 0; i < layout->node_count; i++) {
		int64_t tasks = layout->nodes[i].tasks, rest = tasks - before;

		if (!plane) {
			rank += i < node ? tasks : 0;
			continue;
		}
		rank += tasks < before ? tasks : before; /* of earlier rounds */
		if (i < node && rest > 0)
			rank += rest < plane ? rest : plane;
	}
	return rank;
}

const char *srun_ranks(const int64_t *ranks, size_t count, struct strata_arena *arena)
{
	size_t room = 48 * count + 1, used = 0;
	char *text = strata_arena_get(arena, room);

	for (size_t i = 0, run; text && i < count; i += run) {
		for (run = 1; i + run < count && ranks[i + run] == ranks[i] + (int64_t)run;)
			run++;
		used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, i ? "," : "",
					 ranks[i]);
		if (run > 1)
			used += (size_t)snprintf(text + used, room - used, "-%" PRId64,
						 ranks[i + run - 1]);
	}
	return text ? text : "?";
}
