#!/bin/bash
# Lightning as a job: strata.lightning tells it where it is, and saves when the job has to go.
#SBATCH --job-name=lightning
#SBATCH --output=%x-%j.out
#SBATCH --nodes=1
# One task for each GPU; srun starts them, Lightning finds them by itself.
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=8:00:00
#SBATCH --requeue
# Two minutes before the end the training saves and asks to be started again: a training may be longer than its time limit.
#SBATCH --signal=USR1@120
set -eu

# source ~/venv/bin/activate

srun python3 train.py
