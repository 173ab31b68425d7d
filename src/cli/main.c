/*
 * The program: finds the command, reads its flags and the global ones wherever they stand, runs it,
 * and turns its result into a sentence and an exit code.
 */
#include "cli/cli.h"
#include "cli/slurm/command.h"
#include "cli/study.h"

#include "client/client.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file opened later must not become fd 0, 1 or 2 because the caller closed it. The stand-in
 * for stdout is opened for reading, so that writing to it still fails as it would have. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* What other schedulers, and habit, call a command. NULL: nothing known. */
static const char *word_of_others(const char *word)
{
	static const char *const words[][2] = {
		{ "ps", "queue" },         { "list", "jobs" },      { "ls", "jobs" },
		{ "history", "jobs" },     { "status", "queue" },   { "stat", "queue" },
		{ "info", "nodes" },       { "kill", "cancel" },    { "stop", "cancel" },
		{ "rm", "cancel" },        { "delete", "cancel" },  { "log", "logs" },
		{ "tail", "logs" },        { "output", "logs" },    { "start", "serve" },
		{ "daemon", "serve" },     { "batch", "submit" },   { "sub", "submit" },
		{ "describe", "show" },    { "usage", "accounting" }, { "report", "accounting" },
		{ "image", "generate" },   { "draw", "generate" },  { "gpu", "gpus" },
		{ "exec", "run" },         { "bash", "shell" },     { "interactive", "shell" },
		{ "drain", "nodes drain" }, { "explain", "why" },   { "settings", "config" },
		{ "qstat", "queue" },      { "qsub", "submit" },    { "qdel", "cancel" },
		{ "bjobs", "queue" },      { "bsub", "submit" },    { "bkill", "cancel" },
		{ "qhost", "nodes" },      { "pause", "suspend" },  { "continue", "resume" },
		{ "freeze", "suspend" },   { "modify", "update" },  { "edit", "update" },
		{ "restart", "requeue" },  { "retry", "requeue" },  { "unhold", "release" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i][0], word) == 0)
			return words[i][1];
	return NULL;
}

/* Words that are not flags, with the values of global flags left out: enough to find the
 * command. */
static int find_command(struct cli *cli, int argc, char *argv[],
			const struct cli_command **ret_command, size_t *ret_words)
{
	char *words[2] = { NULL };
	size_t count = 0;

	for (int i = 0; i < argc && count < 2; i++) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			words[count++] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--") == 0)
			break;
		if (strncmp(argv[i], "--", 2) == 0 && !strchr(argv[i], '=')) {
			const struct strata_option *option =
				option_find(&cli_globals_schema, argv[i] + 2, strlen(argv[i] + 2));

			if (option && option->type != STRATA_BOOL)
				i++; /* its value is no command */
		}
	}
	*ret_command = cli_command_find(words, count, ret_words);
	if (*ret_command || count == 0)
		return 0;
	if (cli_is_group(words[0]) && count == 2)
		return strata_fail(&cli->err, -EINVAL,
				   "there is no command '%.60s %.60s'; try `strata help %.60s`",
				   words[0], words[1], words[0]);
	if (cli_is_group(words[0]))
		return strata_fail(&cli->err, -EINVAL,
				   "'%s' needs one more word; `strata help %s` lists them",
				   words[0], words[0]);

	const char *meant = word_of_others(words[0]);

	if (slurm_command_find(words[0]))
		return strata_fail(&cli->err, -EINVAL,
				   "there is no command '%s'; you may want `strata slurm %s`",
				   words[0], words[0]);
	if (meant)
		return strata_fail(&cli->err, -EINVAL,
				   "there is no command '%.60s'; you may want `strata %s`",
				   words[0], meant);
	struct text_closest closest;
	const struct cli_command *command;

	text_closest_init(&closest, words[0], strlen(words[0]));
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (!command->hidden)
			text_closest_offer_as(&closest, command->name, strcspn(command->name, " "),
					      command->name);
	if (closest.best)
		return strata_fail(&cli->err, -EINVAL,
				   "there is no command '%.60s'; did you mean `strata %s`?",
				   words[0], closest.best);
	return strata_fail(&cli->err, -EINVAL,
			   "there is no command '%.60s'; `strata help` lists them", words[0]);
}

/* The command of two words that the second of these may have been meant for; NULL: none. */
static const char *closest_second(const struct cli_command *of, const char *word)
{
	size_t length = strlen(of->name);
	const struct cli_command *command;
	struct text_closest closest;

	text_closest_init(&closest, word, strlen(word));
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (!command->hidden && strncmp(command->name, of->name, length) == 0 &&
		    command->name[length] == ' ')
			text_closest_offer_as(&closest, command->name + length + 1,
					      strlen(command->name + length + 1), command->name);
	return closest.best;
}

static int check_operands(struct cli *cli, const struct cli_command *command, size_t count,
			  char **operands)
{
	struct buf usage;

	if (command->operands_max >= 0 && count > (size_t)command->operands_max) {
		const char *extra = operands[command->operands_max];
		const char *meant = command->operands_max ? NULL : closest_second(command, extra);

		if (meant)
			return strata_fail(&cli->err, -EINVAL,
					   "there is no command '%s %.60s'; did you mean `strata "
					   "%s`?",
					   command->name, extra, meant);
		return command->operands_max == 0
			       ? strata_fail(&cli->err, -EINVAL,
					     "`strata %s` takes no arguments, but got '%.60s'; see "
					     "`strata help %s`",
					     command->name, extra, command->name)
			       : strata_fail(&cli->err, -EINVAL,
					     "`strata %s` takes at most %d argument%s, but got "
					     "'%.60s'; see `strata help %s`",
					     command->name, command->operands_max,
					     command->operands_max == 1 ? "" : "s", extra,
					     command->name);
	}
	if (count >= (size_t)command->operands_min)
		return 0;
	buf_init(&usage, &cli->memory, 0);
	cli_usage(command, &usage);
	int rc = strata_fail(&cli->err, -EINVAL, "`strata %s` needs an argument; usage: %.200s",
			     command->name, usage.text);

	buf_fini(&usage);
	return rc;
}

/* Options given as flags beat the environment, which beats the file. */
static int load_config(struct cli *cli)
{
	int rc = cli_config_load(cli);

	if (rc == 0 && cli->globals.no_color)
		cli->config.color = CLI_COLOR_NEVER;
	cli_output_init(cli);
	return rc;
}

/* Puts a table in front of the others, with a struct of its own. */
static int add_table(struct cli *cli, struct args *args, const struct strata_schema *schema,
		     void **ret_conf)
{
	const size_t room = sizeof(args->tables) / sizeof(args->tables[0]);

	if (!schema)
		return 0;
	*ret_conf = strata_arena_get(&cli->arena, schema->conf_size);
	if (!*ret_conf)
		return strata_fail_memory(&cli->err);
	memmove(args->tables + 1, args->tables, (room - 1) * sizeof(args->tables[0]));
	args->tables[0] = (struct args_table){ schema, *ret_conf };
	return strata_schema_defaults(schema, &cli->arena, *ret_conf, &cli->err);
}

/* Behind "unknown option '--x'", where no other is near. */
static int say_where_options_are(struct cli *cli, const struct cli_command *command, int rc)
{
	char text[sizeof(cli->err.text)];

	if (!command || strncmp(cli->err.text, "unknown option", 14) != 0 ||
	    strstr(cli->err.text, "did you mean"))
		return rc;
	snprintf(text, sizeof(text), "%s", cli->err.text);
	return strata_fail(&cli->err, rc, "%.200s; `strata help %s` lists them", text,
			   command->name);
}

static int run_command(struct cli *cli, const struct cli_command *command, size_t words, int argc,
		       char *argv[])
{
	void *conf = NULL;
	struct args args = { .tables = { { &cli_globals_schema, &cli->globals } },
			     .origins = &cli->given,
			     .stop_at_operand = command && command->stops ? words + 1 : 0 };
	int rc = command ? add_table(cli, &args, command->shared, &cli->shared) : 0;

	if (rc == 0 && command)
		rc = add_table(cli, &args, command->options, &conf);
	if (rc == 0)
		rc = option_read_args(&args, argc, argv, &cli->arena, &cli->err);
	if (rc)
		return say_where_options_are(cli, command, rc);
	cli->command = command;
	rc = load_config(cli);
	if (rc)
		cli->config_error = cli->err;
	if (rc && !(command && command->tolerant))
		return rc;
	if (cli->globals.version)
		return cli_command_find((char *[]){ (char[]){ "version" } }, 1, &words)
			->run(cli, NULL, NULL, 0);
	if (!command && args.operand_count)
		return strata_fail(&cli->err, -EINVAL,
				   "there is no command '%.60s'; `strata help` lists them",
				   args.operands[0]);
	if (!command) {
		cli_overview(cli);
		return 0;
	}
	if (cli->globals.help)
		return cli_help_command(cli, command);
	rc = check_operands(cli, command, args.operand_count - words, args.operands + words);
	return rc ? rc : command->run(cli, conf, args.operands + words, args.operand_count - words);
}

static int finish(struct cli *cli, int rc)
{
	if (rc < 0) {
		const struct strata_error_kind *kind = strata_error_kind(rc);

		buf_reset(&cli->out); /* half an answer is no answer */
		if (cli->globals.json)
			cli_print_json(cli, json_pack("{s:{s:s,s:s,s:s}}", "error", "code",
						      kind->name, "message", cli->err.text, "field",
						      cli->err.field));
		cli_flush(cli);
		cli_say(cli, "%s", cli->err.text);
		return kind->exit_code;
	}
	cli_flush(cli);
	return rc;
}

int cli_dispatch(struct cli *cli, int argc, char *argv[])
{
	const struct cli_command *command = NULL;
	size_t words = 0;

	int rc = find_command(cli, argc, argv, &command, &words);

	if (rc == 0 && command && command->raw)
		rc = command->run(cli, NULL, argv + 1, (size_t)argc - 1);
	else if (rc == 0)
		rc = run_command(cli, command, words, argc, argv);
	return rc;
}

/* One of our own. Returns the exit code. */
static int run_words(struct cli *cli, int argc, char *argv[])
{
	cli->words = argv;
	return finish(cli, cli_dispatch(cli, argc, argv));
}

int main(int argc, char *argv[])
{
	struct cli cli = { .argv = argv };

	fill_standard_fds();
	signal(SIGPIPE, SIG_IGN); /* a reader that goes away is seen when writing */
	strata_arena_init(&cli.arena, &cli.memory, 0);
	buf_init(&cli.out, &cli.memory, 0);
	cli.origins.arena = cli.given.arena = &cli.arena;
	const struct slurm_command *slurm = slurm_called(&argc, &argv);
	int code = slurm ? slurm_main(&cli, slurm, argc, argv)
			 : run_words(&cli, argc - (argc > 0), argv + 1);

	client_close(cli.client);
	buf_fini(&cli.out);
	strata_arena_fini(&cli.arena);
	return code;
}
