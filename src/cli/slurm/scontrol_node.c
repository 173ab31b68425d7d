/* scontrol update nodename=n[001-004] state=drain reason="bad gpu": nodes are taken out and put
 * back. */
#include "cli/slurm/scontrol_node.h"

#include "cli/slurm/chosen.h"

#include <strata/slurm.h>

#include <errno.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *state;
	bool needs_reason;
} states[] = {
	{ "drain", "drained", true }, { "fail", "drained", true }, { "down", "down", true },
	{ "resume", "up", false },    { "undrain", "up", false },  { "idle", "up", false },
};

static int change(struct cli *cli, const char *node, const char *state, const char *reason)
{
	json_t *body = json_pack("{s:s, s:s*}", "state", state, "reason", reason), *answer;
	struct buf path;

	service_path(cli, &path, "nodes", node, NULL);
	int rc = service_ask(cli, "PATCH", &path, body, &answer);

	if (rc == 0) {
		json_decref(answer);
		return 0;
	}
	slurm_say(cli, "slurm_update error: %s",
		  rc == -ENOENT ? "Invalid node name specified" : chosen_why(cli));
	return 1;
}

int scontrol_update_node(struct cli *cli, char **words, size_t count)
{
	const char *list = NULL, *state = NULL, *reason = NULL, **names;
	size_t name_count;
	int code = 0, row = -1;

	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(words[i], "=");
		const char *value = words[i][length] ? words[i] + length + 1 : "";

		if (length >= 5 && strncasecmp(words[i], "NodeName", length) == 0) {
			list = value;
		} else if (length >= 3 && strncasecmp(words[i], "State", length) == 0) {
			state = value;
		} else if (length >= 1 && strncasecmp(words[i], "Reason", length) == 0) {
			reason = value;
		} else {
			slurm_say(cli, "Update of this parameter is not supported: %s", words[i]);
			slurm_say(cli, "Request aborted");
			return 1;
		}
	}
	for (size_t i = 0; state && i < sizeof(states) / sizeof(states[0]); i++)
		if (strcasecmp(state, states[i].name) == 0)
			row = (int)i;
	if (row < 0) {
		slurm_say(cli, "Invalid input: %s", state ? state : "");
		slurm_say(cli, "Request aborted");
		slurm_say(cli, "Valid states are: DOWN DRAIN FAIL IDLE RESUME UNDRAIN");
		return 1;
	}
	if (states[row].needs_reason && !reason) {
		slurm_say(cli, "You must specify a reason when DOWNING or DRAINING a node. Request "
			       "denied");
		return 1;
	}
	if (!list ||
	    strata_hostlist_expand(list, STRATA_TEXT_NUL, &cli->arena, &names, &name_count, NULL)) {
		slurm_say(cli, "slurm_update error: Invalid node name specified");
		return 1;
	}
	for (size_t i = 0; i < name_count; i++)
		code |= change(cli, names[i], states[row].state, reason);
	return code;
}
