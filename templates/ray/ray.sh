#!/bin/bash
# Ray over all nodes of the job, for as long as work.py runs.
#SBATCH --job-name=ray
#SBATCH --output=%x-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
# What each Ray node has: CPUs and GPUs are what Ray's own scheduler gives to tasks and actors.
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=0
#SBATCH --mem=16G
#SBATCH --time=2:00:00
#SBATCH --requeue
set -eu

# source ~/venv/bin/activate

python3 work.py
