/*
 * strata run: a command as a job, as if it were started here: it waits for the start, then what is
 * typed goes to it and what it writes comes back, and it ends as the command did. strata shell is
 * the same with a shell.
 */
#include "cli/interactive.h"

#include "formats/job_spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum terminal { TERMINAL_AUTO, TERMINAL_YES, TERMINAL_NO };

struct run_conf {
	int terminal; /* enum terminal */
	const char *detach_key;
};

static const struct strata_choice terminals[] = { { "auto", TERMINAL_AUTO,
						    "when input and output are one" },
						  { "yes", TERMINAL_YES, "always" },
						  { "no", TERMINAL_NO, "never" },
						  { 0 } };

static const struct strata_option run_options[] = {
	{ "terminal", STRATA_ENUM, offsetof(struct run_conf, terminal),
	  .choice = { terminals, TERMINAL_AUTO }, .help = "whether it gets a terminal" },
	{ "detach_key", STRATA_TEXT, offsetof(struct run_conf, detach_key),
	  .text = { "ctrl-]", 16 }, .value = "KEY",
	  .help = "this and then d leaves the terminal without ending the job; none: nothing "
		  "does" },
	{ 0 }
};
static const struct strata_schema run_schema = { "run", NULL, sizeof(struct run_conf),
						 run_options };

struct running {
	struct cli *cli;
	struct interactive it;
	json_t *body;
};

static int make_body(struct running *running, char *const *words, size_t count)
{
	struct cli *cli = running->cli;
	int64_t now_ns = when_now_ns();
	char *here = getcwd(NULL, 0);
	const struct job_caller caller = { .env = (const char *const *)environ,
					   .working_dir = here,
					   .umask = service_own_umask(cli),
					   .now_ns = now_ns,
					   .zone_seconds = when_zone(now_ns) };
	size_t skipped = 0;
	int rc = here              ? 0
		 : errno == ENOMEM ? strata_fail_memory(&cli->err)
				   : strata_fail(&cli->err, -errno, "this directory is gone: %s",
						 strerror(errno));

	if (rc == 0)
		rc = job_fields_add(cli->shared, &cli->given, &caller, running->body, &cli->err);
	if (rc == 0 && json_object_get(running->body, "array"))
		rc = strata_fail_at(&cli->err, -EINVAL, "array",
				    "--array: one terminal is for one job; `strata submit` takes "
				    "arrays");
	if (rc == 0)
		rc = interactive_fill(&running->it, running->body, words, count);
	if (rc == 0)
		rc = job_fields_add_caller(cli->shared, &caller, running->body, &skipped,
					   &cli->err);
	if (rc == 0 && skipped)
		cli_note(cli, "%zu variable%s of the environment left out: not UTF-8", skipped,
			 cli_plural(skipped));
	free(here);
	return rc;
}

static int submit(struct running *running, int64_t *ret_id)
{
	struct cli *cli = running->cli;
	struct buf path;
	json_t *answer, *warning;
	size_t i;

	service_path(cli, &path, "jobs", NULL, NULL);
	int rc = service_ask(cli, "POST", &path, json_incref(running->body), &answer);

	if (rc)
		return rc;
	json_array_foreach(json_object_get(answer, "warnings"), i, warning)
		cli_note(cli, "%s", grid_or(warning, ""));
	*ret_id = grid_int(answer, "id");
	json_decref(answer);
	return *ret_id > 0
		       ? 0
		       : strata_fail(&cli->err, -EBADMSG, "the server's answer has no job's id");
}

static int sit_at(struct cli *cli, const struct run_conf *conf, char *const *words, size_t count)
{
	struct running running = { .cli = cli, .body = json_object() };
	char prefix = 0;
	int64_t id;
	int rc = console_keys_parse(conf->detach_key, &prefix, &cli->err);

	if (rc == 0)
		rc = interactive_open(&running.it, cli, &interactive_plain);
	if (rc) {
		json_decref(running.body);
		return rc;
	}
	running.it.keys_prefix = prefix;
	running.it.terminal = conf->terminal == TERMINAL_AUTO
				      ? isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)
				      : conf->terminal == TERMINAL_YES;
	rc = make_body(&running, words, count);
	if (rc == 0)
		rc = submit(&running, &id);
	if (rc == 0)
		rc = interactive_follow(&running.it, id);
	json_decref(running.body);
	interactive_close(&running.it);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	return sit_at(cli, conf, operands, operand_count);
}

static int run_shell(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	char *shell = interactive_shell(cli);

	(void)operands;
	(void)operand_count;
	return shell ? sit_at(cli, conf, &shell, 1) : strata_fail_memory(&cli->err);
}

const struct cli_command cli_run = {
	.name = "run",
	.operands = "[--] COMMAND [ARG…]",
	.summary = "run a command as a job and stay with it",
	.about = "Waits for the job to start, and says why it waits. Then it is as if the command "
		 "ran here: input,\n"
		 "output, errors, signals and the size of the terminal are passed on, and the exit "
		 "code is the\n"
		 "command's (128 + N after signal N). Ctrl-C cancels a job that waits.\n"
		 "\n"
		 "The job ends when this does: when it is killed, or its terminal is closed. To "
		 "leave the job\n"
		 "running, press Ctrl-] and then d; `strata attach` comes back to it.\n"
		 "\n"
		 "Where --output, --error or --input name a file, that is used in place of what is "
		 "here. Input is\n"
		 "read as it is there: in a loop that reads from a file, add </dev/null.",
	.examples = "  strata run --gpus 1 -- nvidia-smi\n"
		    "  strata run --cpus 4 --time 10m -- make -j4\n"
		    "  sort big.txt | strata run --memory 8G -- uniq -c >counts.txt",
	.options = &run_schema,
	.shared = &job_spec_schema,
	.operands_min = 1,
	.operands_max = -1,
	.stops = true,
	.run = run,
};

const struct cli_command cli_shell = {
	.name = "shell",
	.summary = "open a shell as a job",
	.about = "Your shell ($SHELL), with the resources that were asked for; the job ends when "
		 "the shell does.\n"
		 "Ctrl-] and then d leaves it running; `strata help run` says what else holds.",
	.examples = "  strata shell --gpus 1 --time 2h\n"
		    "  strata shell --cpus 8 --memory 32G --name debug",
	.options = &run_schema,
	.shared = &job_spec_schema,
	.operands_max = 0,
	.run = run_shell,
};
