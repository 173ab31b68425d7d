#!/bin/sh
. "$(dirname "$0")/lib.sh"
unset $(env | sed -n 's/^\(SBATCH_[A-Z_]*\)=.*/\1/p')

# A script of ours, as people write them.
train() {
	cat >train.sh <<'EOF'
#!/bin/bash
#SBATCH --job-name=train          # what squeue shows
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:a100:4
#SBATCH --mem=64G
#SBATCH --time=1-12:00:00
#SBATCH --output="logs/%x-%j.out"
##SBATCH --partition=old
# SBATCH --partition=older

srun python train.py
#SBATCH --nodes=99
EOF
}

it 'shows what a script asks for'
train
run strata slurm parse --json train.sh
gives 0
prints_json 'd["name"] == "train" and d["nodes"] == 2 and d["tasks"] == 8 and d["cpus_per_task"] == 8'
prints_json 'd["gpus_per_node"] == 4 and d["gpu_type"] == "a100" and d["gpus_total"] == 8 and d["gpus"] is None'
prints_json 'd["mem_bytes"] == 64 << 30 and d["time_limit_s"] == 36 * 3600 and d["array"] is None'
prints_json 'd["output"] == "logs/%x-%j.out" and d["error"] == d["output"] and d["partition"] is None'
says ''

it 'shows it as a table'
train
run strata slurm parse train.sh
gives 0
prints_some 'name             train'
prints_some 'mem_bytes        64 GiB'
prints_some 'time_limit_s     1d 12h'
prints_not 'partition'

it 'takes options of sbatch, which win over variables, which win over the script'
train
SBATCH_TIMELIMIT=10 SBATCH_PARTITION=gpu
export SBATCH_TIMELIMIT SBATCH_PARTITION
run strata slurm parse --json -- --nodes=3 -a 1-100%8 -d afterok:7 train.sh x
gives 0
prints_json 'd["nodes"] == 3 and d["time_limit_s"] == 600 and d["partition"] == "gpu"'
prints_json 'd["array"] == "1-100%8" and d["array_tasks"] == 100 and d["array_limit"] == 8'
prints_json 'd["dependency"] == "afterok:7" and d["script_args"] == ["x"]'
run strata slurm parse --json -- --time=20 train.sh
prints_json 'd["time_limit_s"] == 1200'
unset SBATCH_TIMELIMIT SBATCH_PARTITION

it 'reads standard input and --wrap'
printf '#!/bin/sh\n#SBATCH -N 4\n' >in.sh
strata slurm parse --json <in.sh >out.json
grep -q '"name": "sbatch"' out.json || problem 'no script from standard input'
run strata slurm parse --json -- --wrap 'echo hi' --signal=B:USR1@60 --mail-type=END,FAIL
gives 0
prints_json 'd["wrap"] == "echo hi" and d["name"] == "wrap" and d["mail_types"] == ["END", "FAIL"]'
prints_json 'd["signal"] == {"number": 10, "before_s": 60, "batch_only": True, "reservation": False}'

it 'warns once of options without effect'
printf '#!/bin/sh\n#SBATCH --profile=task --reboot\n' >job.sh
run strata slurm parse --json job.sh
gives 0
says_some 'no effect here: --profile, --reboot'
prints_json 'd["ignored"] == {"profile": "task", "reboot": True}'
run strata slurm parse --json -- --quiet job.sh
says ''

it 'refuses what sbatch refuses'
printf 'true\n' >bare.sh
run strata slurm parse bare.sh
gives 1
says_some 'This does not look like a batch script.'
printf '#!/bin/sh\n#SBATCH --nosuch=1\n' >bad.sh
run strata slurm parse bad.sh
gives 2
says_some "unrecognized option '--nosuch=1'"
printf '#!/bin/sh\n#SBATCH --time=2h\n' >bad.sh
run strata slurm parse --json bad.sh
gives 2
prints_json 'd["error"]["message"] == "Invalid --time specification" and d["error"]["field"] == "time"'
printf '#!/bin/sh\r\n' >dos.sh
run strata slurm parse dos.sh
gives 1
says_some 'DOS line breaks'
run strata slurm parse nofile.sh
gives 3
says_some 'nofile.sh'

it 'checks names of nodes against those there are'
printf '#!/bin/sh\n#SBATCH -w n[1-3]\n' >job.sh
run strata slurm parse --nodes 'n[1-8]' job.sh
gives 0
run strata slurm parse --nodes 'n[1-2]' job.sh
gives 1
says_some 'Invalid node name specified'

it 'tells what was said from what was left out'
train
run strata slurm parse --json train.sh
prints_json 'd["requeue"] is None and d["nice"] is None and d["open_mode"] is None and d["share"] is None'
prints_json 'd["exclusive"] is False and d["error_joined"] is True and d["mail_types"] == [] and d["export_all"] is True'
prints_json 'd["script_args"] == []'
run strata slurm parse --json -- --no-requeue --nice=0 --open-mode=truncate --oversubscribe -e err.txt --export=A,B=2 train.sh x y
gives 0
prints_json 'd["requeue"] is False and d["nice"] == 0 and d["open_mode"] == "truncate" and d["error_joined"] is False'
prints_json 'd["exclusive"] is False and d["export_all"] is False and d["export"] == ["A", "B=2"] and d["script_args"] == ["x", "y"]'
run strata slurm parse --json -- --requeue --nice=5 --open-mode=append --exclusive --mail-type=BEGIN train.sh
gives 0
prints_json 'd["requeue"] is True and d["nice"] == 5 and d["open_mode"] == "append" and d["exclusive"] is True and d["mail_types"] == ["BEGIN"]'
