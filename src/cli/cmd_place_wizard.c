/* strata place wizard: shows what there is, recommends a profile, asks whether to change it, and
 * writes a file of settings. */
#include "cli/place_model.h"

#include "cli/device_table.h"
#include "core/env.h"
#include "formats/place_settings.h"

#include <strata/detector.h>
#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct wizard_options {
	const char *output, *profile;
	bool yes;
};

static const struct strata_option wizard_rows[] = {
	{ "output", STRATA_TEXT, offsetof(struct wizard_options, output), .letter = 'o',
	  .text = { "place.ini" }, .value = "FILE", .help = "what is written" },
	{ "profile", STRATA_TEXT, offsetof(struct wizard_options, profile), .value = "NAME",
	  .help = "instead of the one that is recommended" },
	{ "yes", STRATA_BOOL, offsetof(struct wizard_options, yes), .letter = 'y',
	  .help = "ask nothing, take what is recommended" },
	{ 0 }
};
static const struct strata_schema wizard_schema = { "place wizard", NULL,
						    sizeof(struct wizard_options), wizard_rows };

/* One line of an answer; an end of the input is an empty one. */
static void ask(struct cli *cli, const char *question, char *ret_answer, size_t room)
{
	cli_printf(cli, "%s ", question);
	cli_flush(cli);
	if (!fgets(ret_answer, (int)room, stdin))
		ret_answer[0] = 0;
	ret_answer[strcspn(ret_answer, "\r\n")] = 0;
}

static bool ask_yes(struct cli *cli, const char *question, bool usual)
{
	char answer[16];

	ask(cli, question, answer, sizeof(answer));
	return answer[0] ? answer[0] == 'y' || answer[0] == 'Y' : usual;
}

static unsigned customise(struct cli *cli, unsigned features)
{
	for (int i = STRATA_FEATURE_COST + 1; i < STRATA_FEATURE_COUNT; i++) {
		bool on = features >> i & 1;
		char question[128];

		snprintf(question, sizeof(question), "%s (%s now), on? [%s]",
			 strata_feature_name((enum strata_feature)i), on ? "on" : "off",
			 on ? "Y/n" : "y/N");
		features = ask_yes(cli, question, on) ? features | 1u << i : features & ~(1u << i);
	}
	return features;
}

/* A file that somebody else wrote stays as it is. */
static int check_free(struct cli *cli, const char *path)
{
	char *text;
	size_t length;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_INI_BYTES_MAX, &cli->arena,
			       &text, &length, &cli->err);

	if (rc == -ENOENT)
		return 0;
	if (rc == 0 && place_settings_ours(text, length))
		return 0;
	return strata_fail(&cli->err, -EEXIST,
			   "%.200s is there and is not the wizard's; name another file with -o",
			   path);
}

static int write_settings(struct cli *cli, const char *path, const struct strata_profile *profile,
			  unsigned features)
{
	struct buf buf;
	int rc;

	buf_init(&buf, &cli->memory, 0);
	place_settings_print(profile, features, &buf);
	rc = buf_check(&buf, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	return rc;
}

/* What was found: the machine, and the model when one is given. */
static int show(struct cli *cli, const char *path, const char **ret_workload)
{
	struct strata_map none = { 0 };
	struct strata_machine machine;
	struct place_model model;
	int rc = place_machine_open(cli, "detect", &machine);

	if (rc == 0)
		rc = device_table_print(cli, &machine);
	if (rc || !path)
		return rc;
	rc = place_model_open(cli, path, &none, &model);
	if (rc)
		return rc;
	place_model_note(cli, &model);
	rc = place_model_detect(cli, &model);
	if (rc == 0) {
		cli_printf(cli, "\n%s: %zu ops, workload %s: %s\n", path, model.graph->op_count,
			   model.workload, model.why ? model.why : "");
		*ret_workload = model.workload;
	}
	place_model_close(&model);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct wizard_options *options = conf_any;
	const char *workload = "other";
	int rc = check_free(cli, options->output); /* before anything is asked */

	if (rc == 0)
		rc = show(cli, operand_count ? operands[0] : NULL, &workload);
	if (rc)
		return rc;
	const struct strata_profile *profile = strata_profile_recommend(workload);

	if (options->profile) {
		rc = strata_profile_find(options->profile, &profile, &cli->err);
		if (rc)
			return rc;
	}
	unsigned features = profile->features;

	cli_printf(cli, "\nprofile %s: %s\n", profile->name, profile->summary);
	if (!options->yes && ask_yes(cli, "customise? [y/N]", false))
		features = customise(cli, features);
	rc = write_settings(cli, options->output, profile, features);
	if (rc == 0)
		cli_printf(cli, "wrote %s: strata place MODEL --settings %s\n", options->output,
			   options->output);
	return rc;
}

const struct cli_command cli_place_wizard = {
	.name = "place wizard",
	.operands = "[MODEL]",
	.summary = "find out what there is, recommend a profile, write settings",
	.about = "Shows the devices of this machine and, given a model, what it is for; recommends "
		 "a profile, asks\n"
		 "whether to change its features, and writes a file that strata place --settings "
		 "reads.",
	.examples = "  strata place wizard model.onnx\n"
		    "  strata place wizard --yes -o place.ini",
	.options = &wizard_schema,
	.operands_max = 1,
	.run = run,
};
