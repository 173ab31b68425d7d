/* strata completion: the few lines of shell that ask `strata complete` when TAB is pressed. */
#include "cli/cli.h"

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
	"complete -o default -F _strata strata\n";

static const char zsh_script[] =
	"#compdef strata\n"
	"# zsh completion for strata; load with: source <(strata completion zsh)\n"
	"_strata() {\n"
	"	local -a found\n"
	"	local word about\n"
	"	while IFS=$'\\t' read -r word about; do\n"
	"		found+=(\"${word//:/\\\\:}:$about\")\n"
	"	done < <(\"${words[1]}\" complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
	"	if (( ${#found} )); then\n"
	"		_describe strata found\n"
	"	else\n"
	"		_files\n"
	"	fi\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _strata ]; then\n"
	"	_strata \"$@\"\n"
	"else\n"
	"	compdef _strata strata\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion for strata; load with: strata completion fish | source\n"
	"function __strata_complete\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	$words[1] complete $words[2..-1] 2>/dev/null\n"
	"end\n"
	"complete -c strata -a '(__strata_complete)'\n";

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operand_count;
	if (strcmp(operands[0], "bash") == 0)
		cli_print(cli, bash_script);
	else if (strcmp(operands[0], "zsh") == 0)
		cli_print(cli, zsh_script);
	else if (strcmp(operands[0], "fish") == 0)
		cli_print(cli, fish_script);
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
