#!/bin/bash
# One training job. Submit it with `strata submit train.sh`; flags of strata submit win over these lines.
#SBATCH --job-name=train
#SBATCH --output=%x-%j.out
# GPUs of the job: 0 runs on CPUs only. `strata gpus` shows what there is, --gpu-type=a100 asks for a kind.
#SBATCH --gpus=0
#SBATCH --cpus-per-task=2
#SBATCH --mem=2G
# The shorter, the sooner it starts. What is not finished then is told with SIGTERM and saves its work.
#SBATCH --time=1:00:00
# Starts again when its node fails; with `strata submit --preemptible --priority low` it also gives way to urgent jobs and continues later.
#SBATCH --requeue
set -eu

# Your environment: conda, a virtual environment or modules.
# source ~/venv/bin/activate

python3 train.py --steps 2000
