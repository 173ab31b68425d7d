/* Engines of commands, in the full program: what they learn goes into a file of the user's, unless another is named, or none. */
#include "cli/engine_options.h"

#include "core/env.h"

#include <strata/engine.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int engine_experience_path(struct cli *cli, const char *option, const char **ret_path)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool has_state = state && *state == '/';

	if (option || (!has_state && (!home || *home != '/'))) {
		*ret_path = option && strcmp(option, "none") != 0 ? option : NULL;
		return 0;
	}
	*ret_path = strata_arena_printf(&cli->arena, "%s%s/strata/experience.json",
					has_state ? state : home, has_state ? "" : "/.local/state");
	return *ret_path ? 0 : strata_fail_memory(&cli->err);
}

int engine_open(struct cli *cli, const struct strata_engine_conf *conf, const char *experience,
		struct strata_engine **ret_engine)
{
	struct strata_engine_conf how = *conf;
	int rc = engine_experience_path(cli, experience, &how.experience);

	if (rc)
		return rc;
	rc = strata_engine_new(&how, &cli->memory, ret_engine, &cli->err);
	if ((rc == -EBADMSG || rc == -EINVAL) && how.experience && !experience) {
		/* Nobody named the file: what is wrong with it does not keep the model from running. */
		struct strata_error why = cli->err;

		how.experience = NULL;
		rc = strata_engine_new(&how, &cli->memory, ret_engine, &cli->err);
		if (rc == 0)
			cli_note(cli, "%s", why.text);
	}
	return rc;
}

static int make_directory(const char *path, struct cli *cli)
{
	char *parent = strata_arena_text(&cli->arena, path, strlen(path));
	char *slash = parent;

	if (!parent)
		return strata_fail_memory(&cli->err);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (mkdir(parent, 0700) && errno != EEXIST)
			return strata_fail(&cli->err, -errno, "%s: %s", parent, strerror(errno));
		*slash = '/';
	}
	return 0;
}

int engine_keep(struct cli *cli, const struct strata_engine *engine, const char *experience)
{
	const char *path;
	int rc = engine_experience_path(cli, experience, &path);

	if (rc || !path)
		return rc;
	if (!experience)
		rc = make_directory(path, cli);
	if (rc == 0)
		rc = strata_engine_keep(engine, &cli->err);
	if (rc == 0 || experience)
		return rc;
	cli_note(cli, "what was learned is not kept: %s", cli->err.text);
	cli->err = (struct strata_error){ 0 };
	return 0;
}
