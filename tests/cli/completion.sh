#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'completes in bash'
run bash -c 'source <(strata completion bash)
	COMP_WORDS=(strata noi) COMP_CWORD=1; _strata; echo "${COMPREPLY[*]}"
	COMP_WORDS=(strata noise --se) COMP_CWORD=2; _strata; echo "${COMPREPLY[*]}"
	COMP_WORDS=(strata trace "") COMP_CWORD=2; _strata; echo "${COMPREPLY[*]}"'
gives 0
prints 'noise
--seed --server
merge'

it 'completes in zsh'
run zsh -fc 'compdef() { }; source <(strata completion zsh); _describe() { print -l "${(@P)2}" }
	words=(strata ver) CURRENT=2; _strata'
gives 0
prints 'version:show the version, and with --json how it was built'

it 'completes in fish'
if command -v fish >/dev/null; then
	run fish --no-config -c 'strata completion fish | source; complete -C "strata ver"'
	gives 0
	prints_some 'version	show the version'
else
	skip 'there is no fish'
fi

it "completes Slurm's names where they are names of this program"
mkdir names others
ln -s "$STRATA_BUILD/strata" names/squeue
printf '#!/bin/sh\necho "not asked" >&2\n' >others/sbatch
chmod +x others/sbatch
run env PATH="$PWD/names:$PWD/others:$PATH" bash -c 'source <(strata completion bash)
	COMP_WORDS=(squeue --sta) COMP_CWORD=1; _strata_slurm; echo "${COMPREPLY[*]}"
	complete -p squeue; complete -p sbatch; true'
gives 0
prints '--start --state --states
complete -o default -F _strata_slurm squeue'
if command -v zsh >/dev/null; then
	run env PATH="$PWD/names:$PWD/others:$PATH" zsh -fc 'compdef() { }; source <(strata completion zsh); _files() { echo files }
		_describe() { print -l -- "${(@P)2}" }
		words=(squeue --start) CURRENT=2; _strata
		words=(sbatch --par) CURRENT=2; _strata'
	gives 0
	prints '--start:when waiting jobs are expected to start
files'
fi
if command -v fish >/dev/null; then
	run env PATH="$PWD/names:$PWD/others:$PATH" fish --no-config -c 'strata completion fish | source; complete -C "squeue --star"'
	gives 0
	prints_some '--start	when waiting jobs'
fi

it 'knows no other shell'
run strata completion tcsh
gives 2
says "strata: shell is 'tcsh'; expected bash, fish or zsh"
