/*
 * What Slurm's commands print. The formats asked for have no field in which a user could write what
 * he likes, but for comments, which are only compared, and for `scontrol show job`, of which only
 * what others' jobs have taken is read.
 */
#include "exec/exec_slurm.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char slurm_queue_fields[] =
	"JobID:|,State:|,Reason:|,exit_code:|,StartTime:|,EndTime:|,UserName:|";
const char slurm_node_fields[] = "NodeList:|,StateLong:|,Reason:|";

enum {
	NOT_STARTED_SIGNAL = 53
}; /* how Slurm says that it could not open a file or enter a directory */

/* ---- states ---- */

bool slurm_state_ended(enum slurm_state state)
{
	return state >= SLURM_COMPLETED;
}

/* Slurm has more; those that are not here are between two of them. "CANCELLED by 0" is sacct's. */
static enum slurm_state state_of(const char *word, const char *reason)
{
	static const struct {
		const char *word;
		enum slurm_state state;
	} words[] = {
		{ "PENDING", SLURM_PENDING },      { "RUNNING", SLURM_RUNNING },
		{ "SUSPENDED", SLURM_SUSPENDED },  { "COMPLETED", SLURM_COMPLETED },
		{ "FAILED", SLURM_FAILED },        { "CANCELLED", SLURM_CANCELLED },
		{ "TIMEOUT", SLURM_TIMEOUT },      { "DEADLINE", SLURM_TIMEOUT },
		{ "OUT_OF_MEMORY", SLURM_MEMORY }, { "NODE_FAIL", SLURM_NODE_FAIL },
		{ "BOOT_FAIL", SLURM_NODE_FAIL },  { "PREEMPTED", SLURM_PREEMPTED },
		{ "REVOKED", SLURM_CANCELLED },    { "SPECIAL_EXIT", SLURM_FAILED },
	};
	size_t length = strcspn(word, " +");

	if (strcmp(word, "PENDING") == 0 && strncmp(reason, "JobHeld", 7) == 0)
		return SLURM_HELD;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0)
			return words[i].state;
	return SLURM_BETWEEN;
}

/* ---- lines ---- */

/* Cuts a line into the texts between bars; how many. */
static size_t cut(char *line, char **fields, size_t room)
{
	size_t count = 0;

	for (char *bar; count < room; line = bar + 1) {
		fields[count++] = line;
		bar = strchr(line, '|');
		if (!bar)
			break;
		*bar = '\0';
	}
	return count;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/* The next line of a text that may be written to; NULL: none. */
static char *next_line(char **text)
{
	char *line = *text;

	if (!*line)
		return NULL;
	char *end = strchr(line, '\n');

	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

/* "1794801368", "N/A" */
static int64_t time_of(const char *text)
{
	int64_t seconds;

	return strata_int_parse(text, STRATA_TEXT_NUL, 0, STRATA_TIME_NS_MAX / STRATA_SECOND_NS,
				&seconds, NULL)
		       ? 0
		       : seconds * STRATA_SECOND_NS;
}

static bool read_row(char *line, struct slurm_row *row)
{
	enum { FIELDS = 7 };
	char *fields[FIELDS + 1];

	if (cut(line, fields, FIELDS + 1) < FIELDS ||
	    strata_int_parse(fields[0], STRATA_TEXT_NUL, 1, INT64_MAX, &row->id, NULL) ||
	    strata_int_parse(fields[3], STRATA_TEXT_NUL, 0, UINT32_MAX, &row->exit_status, NULL))
		return false;
	row->state = state_of(fields[1], fields[2]);
	row->reason = fields[2];
	row->started_ns = time_of(fields[4]);
	row->ended_ns = time_of(fields[5]);
	row->user = fields[6];
	return true;
}

int slurm_read_queue(const char *text, struct strata_arena *arena, struct slurm_row **ret_rows,
		     size_t *ret_count, struct strata_error *err)
{
	char *own = strata_arena_text(arena, text, strlen(text)), *line;
	struct slurm_row *rows = strata_arena_array(arena, count_lines(text), sizeof(*rows));
	size_t count = 0;

	if (!own || !rows)
		return strata_fail_memory(err);
	while ((line = next_line(&own)))
		if (!read_row(line, &rows[count++]))
			return strata_fail(err, -EBADMSG, "squeue says \"%.60s\"", line);
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}

int64_t slurm_find_comment(const char *text, const char *comment, int64_t after)
{
	size_t length = strlen(comment);
	int64_t least = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *bar = strchr(line, '|');
		int64_t id;

		if (bar && strncmp(bar + 1, comment, length) == 0 &&
		    (bar[1 + length] == '|' || bar[1 + length] == '\n' || !bar[1 + length]) &&
		    strata_int_parse(line, (size_t)(bar - line), 1, INT64_MAX, &id, NULL) == 0 &&
		    id > after && (!least || id < least))
			least = id;
	}
	return least;
}

/* "COMPLETED|0:0|1794801368|1794801428" */
bool slurm_read_account(const char *text, struct slurm_row *ret_row)
{
	char line[512], *fields[5];
	int code, signal;

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	if (cut(line, fields, 5) < 4 || sscanf(fields[1], "%d:%d", &code, &signal) != 2)
		return false;
	enum slurm_state state = state_of(fields[0], "");

	if (!slurm_state_ended(state))
		return false;
	ret_row->state = state;
	ret_row->exit_status = (int64_t)(code & 0xff) << 8 | (signal & 0x7f);
	ret_row->started_ns = time_of(fields[2]);
	ret_row->ended_ns = time_of(fields[3]);
	ret_row->reason = "";
	return true;
}

/* ---- nodes ---- */

/* "idle", "mixed*", "draining", "down~" */
static enum strata_node_state node_state(const char *text)
{
	static const char *const drained[] = { "drained", "draining", "maint", "reserved",
					       "planned" };
	static const char *const up[] = { "idle", "mixed", "allocated", "completing" };
	size_t length = strcspn(text, "*~#!%$@^-+");

	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++)
		if (strlen(up[i]) == length && strncmp(up[i], text, length) == 0)
			/* with a star it does not answer at present: what it runs may go on */
			return text[length] == '*' ? STRATA_NODE_DRAINED : STRATA_NODE_UP;
	for (size_t i = 0; i < sizeof(drained) / sizeof(drained[0]); i++)
		if (strlen(drained[i]) == length && strncmp(drained[i], text, length) == 0)
			return STRATA_NODE_DRAINED;
	return STRATA_NODE_DOWN;
}

int slurm_read_states(const char *text, struct strata_arena *arena, struct exec_node **ret_nodes,
		      size_t *ret_count, struct strata_error *err)
{
	char *own = strata_arena_text(arena, text, strlen(text)), *line;
	struct exec_node *nodes = strata_arena_array(arena, count_lines(text), sizeof(*nodes));
	size_t count = 0;

	if (!own || !nodes)
		return strata_fail_memory(err);
	while ((line = next_line(&own))) {
		char *fields[4];

		if (cut(line, fields, 4) < 3)
			return strata_fail(err, -EBADMSG, "sinfo says \"%.60s\"", line);
		if (count && strcmp(nodes[count - 1].name, fields[0]) == 0)
			continue; /* another partition's line of it */
		nodes[count++] = (struct exec_node){
			.name = fields[0],
			.state = node_state(fields[1]),
			.reason = strcmp(fields[2], "none") == 0 ? NULL : fields[2],
		};
	}
	*ret_nodes = nodes;
	*ret_count = count;
	return 0;
}

/* ---- what others have ---- */

/* How many of "0-3,8". */
static int64_t count_ids(const char *text)
{
	int64_t count = 0;

	while (*text >= '0' && *text <= '9') {
		char *end;
		int64_t first = strtoll(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoll(end + 1, &end, 10);
		count += last >= first ? last - first + 1 : 0;
		text = end + (*end == ',');
	}
	return count;
}

/* "gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:4)": how many GPUs. */
static uint32_t count_gpus(const char *text, size_t length)
{
	uint32_t count = 0;

	for (const char *at = text; at < text + length && strncmp(at, "gpu:", 4) == 0;) {
		const char *number = at + 4, *end = memchr(at, '(', (size_t)(text + length - at));

		end = end ? end : text + length;
		for (const char *colon = number; colon < end; colon++)
			if (*colon == ':')
				number = colon + 1;
		count += (uint32_t)strtoul(number, NULL, 10);
		at = *end == '(' ? memchr(end, ')', (size_t)(text + length - end)) : NULL;
		at = at && at[1] == ',' ? at + 2 : text + length;
	}
	return count;
}

/* " Nodes=n[001-002] CPU_IDs=0-3 Mem=100 GRES=gpu:a100:2(IDX:0-1) …": the same on each of them. */
static int read_part(const char *text, struct strata_arena *arena, struct exec_part **ret_parts,
		     size_t *ret_count, struct strata_error *err)
{
	const char *list = text + strlen(" Nodes="), *cpus = strstr(list, " CPU_IDs=");
	const char *memory = cpus ? strstr(cpus, " Mem=") : NULL;
	const char *gres = memory ? strstr(memory, " GRES=") : NULL;
	const char **names;
	size_t count;

	if (!gres)
		return 0;
	int rc = strata_hostlist_expand(list, (size_t)(cpus - list), arena, &names, &count, err);
	struct exec_part *parts =
		rc ? NULL : strata_arena_array(arena, *ret_count + count, sizeof(*parts));

	if (rc || !parts)
		return rc ? rc : strata_fail_memory(err);
	if (*ret_count)
		memcpy(parts, *ret_parts, *ret_count * sizeof(*parts));
	gres += strlen(" GRES=");
	for (size_t i = 0; i < count; i++)
		parts[*ret_count + i] = (struct exec_part){
			.node = names[i],
			.cpu_milli = 1000 * count_ids(cpus + strlen(" CPU_IDs=")),
			.memory_bytes = strtoll(memory + strlen(" Mem="), NULL, 10) << 20,
			.gpus = count_gpus(gres, strcspn(gres, " ")),
		};
	*ret_parts = parts;
	*ret_count += count;
	return 0;
}

int slurm_read_parts(const char *text, int64_t id, struct strata_arena *arena,
		     struct exec_part **ret_parts, size_t *ret_count, struct strata_error *err)
{
	struct exec_part *parts = NULL;
	size_t count = 0;
	char begin[40];
	int rc = 0;

	snprintf(begin, sizeof(begin), "JobId=%lld ", (long long)id);
	const char *line = text;

	while (line && strncmp(line, begin, strlen(begin)) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	char *own = line ? strata_arena_text(arena, line, strcspn(line, "\n")) : NULL;

	if (line && !own)
		return strata_fail_memory(err);
	for (const char *at = own; rc == 0 && at && (at = strstr(at, " Nodes=")); at++)
		rc = read_part(at, arena, &parts, &count, err);
	if (rc == 0) {
		*ret_parts = parts;
		*ret_count = count;
	}
	return rc;
}

/* ---- the end ---- */

static enum exec_how how_of(const struct slurm_row *row, const struct record_control *control)
{
	switch (row->state) {
	case SLURM_TIMEOUT:
		return EXEC_TIME_LIMIT;
	case SLURM_MEMORY:
		return EXEC_MEMORY;
	case SLURM_NODE_FAIL:
		return EXEC_LOST;
	case SLURM_PREEMPTED:
		return EXEC_SHUT_DOWN;
	case SLURM_CANCELLED:
		return control->stop ? (enum exec_how)(control->stop - 1) : EXEC_CANCELLED;
	default:
		break;
	}
	if (row->state == SLURM_FAILED && WTERMSIG((int)row->exit_status) == NOT_STARTED_SIGNAL)
		return EXEC_NOT_STARTED;
	/* asked to end, it did so by itself */
	if (control->stop && row->state == SLURM_FAILED)
		return (enum exec_how)(control->stop - 1);
	return EXEC_EXITED;
}

void slurm_status(const struct slurm_row *row, const struct record_control *control,
		  struct exec_key key, int64_t epoch, struct exec_status *ret_status)
{
	int status = (int)row->exit_status;
	struct exec_status end = { .job = (int64_t)key.job,
				   .attempt = key.attempt,
				   .epoch = epoch,
				   .how = (int)how_of(row, control),
				   .started_ns = row->started_ns,
				   .ended_ns = row->ended_ns };

	if (end.how == EXEC_NOT_STARTED) {
		end.error_code = ENOENT;
		end.error = "Slurm could not enter its directory or open its files on the node";
		end.started_ns = 0;
	} else if (WTERMSIG(status)) {
		end.signal = WTERMSIG(status);
	} else {
		end.exit_code = WEXITSTATUS(status);
	}
	if (end.how == EXEC_LOST)
		end.error = "its node failed";
	if (end.started_ns && end.ended_ns > end.started_ns)
		end.ran_ns = end.ended_ns - end.started_ns;
	*ret_status = end;
}
