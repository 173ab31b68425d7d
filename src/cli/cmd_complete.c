/*
 * strata complete: what the shell asks when the user presses TAB. It gets the words typed so far
 * and prints the candidates for the last one, "word<TAB>what it is" per line, from the same tables
 * that run the commands.
 */
#include "cli/cli.h"
#include "cli/complete_names.h"
#include "cli/slurm/command.h"

#include <string.h>

struct completion {
	const struct cli_command *command; /* NULL while its name is being typed */
	const char *group; /* first word of a group's command, when the second is being typed */
	const struct strata_option *value_of; /* the last word is this option's value */
	size_t operand_index;                 /* which operand the last word is */
};

static const struct strata_option *find_option(const struct cli_command *command, const char *word)
{
	const struct strata_schema *tables[] = { &cli_globals_schema,
						 command ? command->options : NULL,
						 command ? command->shared : NULL };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!tables[i])
			continue;
		if (strncmp(word, "--", 2) == 0)
			if (option_find(tables[i], word + 2, strlen(word + 2)))
				return option_find(tables[i], word + 2, strlen(word + 2));
		for (const struct strata_option *option = tables[i]->options; option->name;
		     option++)
			if (word[1] == option->letter && word[1] && !word[2])
				return option;
	}
	return NULL;
}

/* Walks the words before the one being typed. */
static struct completion look(char *const words[], size_t count)
{
	struct completion now = { 0 };
	char *name[2];
	size_t named = 0;

	for (size_t i = 0; i + 1 < count; i++) {
		if (words[i][0] == '-') {
			const struct strata_option *option = find_option(now.command, words[i]);
			bool takes_next = option && option->type != STRATA_BOOL &&
					  !strchr(words[i], '=');

			if (takes_next && i + 2 == count)
				now.value_of = option;
			i += takes_next;
		} else if (named < 2) {
			size_t used = 0;

			name[named++] = words[i];
			now.command = cli_command_find(name, named, &used);
			now.operand_index = now.command ? named - used : 0;
			now.group = !now.command || (named == 1 && cli_is_group(words[i]))
					    ? words[i]
					    : NULL;
		} else {
			now.operand_index++;
		}
	}
	return now;
}

static void offer_flags(const struct strata_schema *schema, struct buf *lines)
{
	for (const struct strata_option *option = schema->options; option->name; option++) {
		if (option->flags & STRATA_HIDDEN || option->type == STRATA_TABLE)
			continue;
		buf_add(lines, option->type == STRATA_BOOL && option->boolean ? "--no-" : "--");
		for (const char *at = option->name; *at; at++)
			buf_add_char(lines, *at == '_' ? '-' : *at);
		buf_printf(lines, "\t%s\n", option->help ? option->help : "");
	}
}

static void offer_values(const struct strata_option *option, struct buf *lines)
{
	if (option->type != STRATA_ENUM)
		return;
	for (const struct strata_choice *choice = option->choice.choices; choice->name; choice++)
		buf_printf(lines, "%s\t%s\n", choice->name, choice->help ? choice->help : "");
}

/* Second words of the group, or every first word. */
static void offer_commands(const char *group, struct buf *lines)
{
	const struct cli_command *command, *before = NULL;

	for (size_t i = 0; (command = cli_command_at(i)); i++) {
		size_t first = strcspn(command->name, " ");
		const char *second = command->name[first] ? command->name + first + 1 : NULL;

		if (command->hidden)
			continue;
		if (group && second && strlen(group) == first &&
		    strncmp(command->name, group, first) == 0)
			buf_printf(lines, "%s\t%s\n", second, command->summary);
		bool new_word = !before || strcspn(before->name, " ") != first ||
				strncmp(before->name, command->name, first) != 0;

		if (!group && new_word)
			buf_printf(lines, "%.*s\t%s\n", (int)first, command->name,
				   second ? "" : command->summary);
		before = command;
	}
}

/* "slurm squeue …", whose options are not ours. */
static const struct slurm_command *find_slurm(char *const words[], size_t count)
{
	return count > 2 && strcmp(words[0], "slurm") == 0 ? slurm_command_find(words[1]) : NULL;
}

static int run(struct cli *cli, const void *conf, char **words, size_t count)
{
	const char *last = count ? words[count - 1] : "";
	const struct slurm_command *slurm = find_slurm(words, count);
	struct completion now = look(words, count);
	struct buf lines;

	(void)conf;
	buf_init(&lines, &cli->memory, 0);
	if (slurm) {
		slurm_complete(slurm, last, &lines);
	} else if (now.value_of) {
		offer_values(now.value_of, &lines);
		complete_value(cli, now.value_of, &lines);
	} else if (last[0] == '-') {
		if (now.command && now.command->options)
			offer_flags(now.command->options, &lines);
		if (now.command && now.command->shared)
			offer_flags(now.command->shared, &lines);
		offer_flags(&cli_globals_schema, &lines);
	} else {
		if (now.command && now.command->complete)
			now.command->complete(cli, now.operand_index, &lines);
		else if (now.command)
			complete_operand(cli, now.command, &lines);
		if (!now.command || now.group)
			offer_commands(now.group, &lines);
		if (count == 2 && strcmp(words[0], "slurm") == 0)
			slurm_complete_names(&lines);
	}
	size_t length = strlen(last);

	for (const char *at = lines.text; *at;) {
		size_t line = strcspn(at, "\n") + 1;

		if (strncmp(at, last, length) == 0)
			buf_add_bytes(&cli->out, at, line);
		at += line;
	}
	buf_fini(&lines);
	return 0;
}

const struct cli_command cli_complete_words = {
	.name = "complete",
	.operands = "WORD…",
	.summary = "print the candidates for the last word, for shell completion",
	.operands_max = -1,
	.hidden = true,
	.raw = true,
	.run = run,
};
