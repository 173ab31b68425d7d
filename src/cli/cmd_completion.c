/*
 * strata completion: the few lines of shell that ask `strata complete` when TAB is pressed. Slurm's
 * names are completed where they are names of this program, and left to others where they are not.
 */
#include "cli/cli.h"
#include "cli/slurm/command.h"

#include <errno.h>
#include <string.h>

static const char bash_script[] =
	"# bash completion for strata; load with: source <(strata completion bash)\n"
	"_strata() {\n"
	"	local line\n"
	"	COMPREPLY=()\n"
	"	while IFS=$'\\t' read -r line _; do\n"
	"		COMPREPLY+=(\"$line\")\n"
	"	done < <(\"${COMP_WORDS[0]}\" complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
	"2>/dev/null)\n"
	"}\n"
	"complete -o default -F _strata strata\n"
	"_strata_slurm() {\n"
	"	local line program\n"
	"	COMPREPLY=()\n"
	"	program=$(readlink -f \"$(type -P \"${COMP_WORDS[0]}\")\")\n"
	"	while IFS=$'\\t' read -r line _; do\n"
	"		COMPREPLY+=(\"$line\")\n"
	"	done < <(\"$program\" complete slurm \"${COMP_WORDS[0]##*/}\" "
	"\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"}\n";

/* Behind a list of Slurm's names. */
static const char bash_names[] =
	"	[[ $(readlink -f \"$(type -P \"$_strata_name\")\") == */strata ]] &&\n"
	"		complete -o default -F _strata_slurm \"$_strata_name\"\n"
	"done\n"
	"unset _strata_name\n";

static const char zsh_script[] =
	"# zsh completion for strata; load with: source <(strata completion zsh)\n"
	"_strata() {\n"
	"	local -a found program\n"
	"	local word about\n"
	"	program=(\"${words[1]}\" complete)\n"
	"	if [[ ${words[1]:t} != strata ]]; then\n"
	"		program=(\"${commands[${words[1]:t}]:A}\" complete slurm "
	"\"${words[1]:t}\")\n"
	"		[[ ${program[1]:t} == strata ]] || { _files; return }\n"
	"	fi\n"
	"	while IFS=$'\\t' read -r word about; do\n"
	"		found+=(\"${word//:/\\\\:}:$about\")\n"
	"	done < <(\"${program[@]}\" \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
	"	if (( ${#found} )); then\n"
	"		_describe strata found\n"
	"	else\n"
	"		_files\n"
	"	fi\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _strata ]; then\n"
	"	_strata \"$@\"\n"
	"else\n"
	"	compdef _strata strata";

static const char fish_script[] =
	"# fish completion for strata; load with: strata completion fish | source\n"
	"function __strata_complete\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	$words[1] complete $words[2..-1] 2>/dev/null\n"
	"end\n"
	"complete -c strata -a '(__strata_complete)'\n"
	"function __strata_slurm_program\n"
	"	set -l path (command -s -- $argv[1]); and set path (realpath -- $path)\n"
	"	string match -q '*/strata' -- $path; and echo $path\n"
	"end\n"
	"function __strata_slurm_complete\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	set -l program (__strata_slurm_program $words[1]); or return\n"
	"	$program complete slurm (basename $words[1]) $words[2..-1] 2>/dev/null\n"
	"end\n";

/* Slurm's names with a space before each. */
static void print_names(struct cli *cli)
{
	const struct slurm_command *command;

	for (size_t i = 0; (command = slurm_command_at(i)); i++)
		cli_printf(cli, " %s", command->name);
}

static void print_bash(struct cli *cli)
{
	cli_print(cli, bash_script);
	cli_print(cli, "for _strata_name in");
	print_names(cli);
	cli_print(cli, "; do\n");
	cli_print(cli, bash_names);
}

static void print_zsh(struct cli *cli)
{
	cli_print(cli, "#compdef strata");
	print_names(cli);
	cli_print(cli, "\n");
	cli_print(cli, zsh_script);
	print_names(cli);
	cli_print(cli, "\nfi\n");
}

static void print_fish(struct cli *cli)
{
	cli_print(cli, fish_script);
	cli_print(cli, "for _strata_name in");
	print_names(cli);
	cli_print(cli, "\n	__strata_slurm_program $_strata_name >/dev/null; and complete -c "
		       "$_strata_name -a "
		       "'(__strata_slurm_complete)'\nend\n");
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operand_count;
	if (strcmp(operands[0], "bash") == 0)
		print_bash(cli);
	else if (strcmp(operands[0], "zsh") == 0)
		print_zsh(cli);
	else if (strcmp(operands[0], "fish") == 0)
		print_fish(cli);
	else
		return strata_fail(&cli->err, -EINVAL,
				   "shell is '%.60s'; expected bash, fish or zsh", operands[0]);
	return 0;
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	(void)cli;
	if (operand_index == 0)
		buf_add(ret_lines, "bash\t\nfish\t\nzsh\t\n");
}

const struct cli_command cli_completion = {
	.name = "completion",
	.operands = "bash|fish|zsh",
	.summary = "print the shell's completion script",
	.examples = "  source <(strata completion bash)\n"
		    "  strata completion fish | source",
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
	.complete = complete,
};
