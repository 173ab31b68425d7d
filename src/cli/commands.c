/*
 * Every command: what commands.def lists. A new one is a file with a const struct cli_command at
 * its end and a line there.
 */
#include "cli/cli.h"

#include <string.h>

#define COMMAND_OF(chapter, file, name) COMMAND(chapter, name)
#define COMMAND(chapter, name) extern const struct cli_command cli_##name;
#include "cli/commands.def"
#undef COMMAND

static const struct cli_command *const commands[] = {
#define COMMAND(chapter, name) &cli_##name,
#include "cli/commands.def"
#undef COMMAND
};

static const unsigned char chapters[] = {
#define COMMAND(chapter, name) CLI_##chapter,
#include "cli/commands.def"
#undef COMMAND
};

static const struct strata_option globals_options[] = {
	{ "help", STRATA_BOOL, offsetof(struct cli_globals, help), .letter = 'h',
	  .help = "show help for the command" },
	{ "version", STRATA_BOOL, offsetof(struct cli_globals, version),
	  .help = "show the version" },
	{ "json", STRATA_BOOL, offsetof(struct cli_globals, json), .help = "print data as JSON" },
	{ "no_color", STRATA_BOOL, offsetof(struct cli_globals, no_color), .aliases = "no_colour",
	  .help = "no colours, no progress bars" },
	{ "config", STRATA_TEXT, offsetof(struct cli_globals, config), .value = "FILE",
	  .help = "configuration file" },
	{ "socket", STRATA_TEXT, offsetof(struct cli_globals, socket), .value = "PATH",
	  .help = "the server's Unix socket" },
	{ "server", STRATA_TEXT, offsetof(struct cli_globals, server), .value = "URL",
	  .help = "the server's address" },
	{ "context", STRATA_TEXT, offsetof(struct cli_globals, context), .value = "NAME",
	  .help = "a server that one is signed in to; see `strata context`" },
	{ 0 }
};

const struct strata_schema cli_globals_schema = {
	.name = "strata",
	.summary = "options of every command",
	.conf_size = sizeof(struct cli_globals),
	.options = globals_options,
};

const struct cli_command *cli_command_at(size_t index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}

enum cli_chapter cli_chapter_at(size_t index)
{
	return (enum cli_chapter)chapters[index];
}

bool cli_is_group(const char *word)
{
	const struct cli_command *command;
	size_t length = strlen(word);

	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (strncmp(command->name, word, length) == 0 && command->name[length] == ' ')
			return true;
	return false;
}

const struct cli_command *cli_command_find(char *const words[], size_t count, size_t *ret_words)
{
	const struct cli_command *command, *alone = NULL;

	for (size_t i = 0; count && (command = cli_command_at(i)); i++) {
		size_t first = strcspn(command->name, " ");
		const char *second = command->name[first] ? command->name + first + 1 : NULL;

		if (strlen(words[0]) != first || strncmp(command->name, words[0], first) != 0)
			continue;
		if (second && count > 1 && strcmp(second, words[1]) == 0) {
			*ret_words = 2;
			return command;
		}
		if (!second)
			alone = command; /* "nodes", but perhaps "nodes drain" is meant */
	}
	if (alone)
		*ret_words = 1;
	return alone;
}
