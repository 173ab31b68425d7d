#!/bin/bash
# torchrun on every node of the job, and a process for each GPU below it.
#SBATCH --job-name=ddp
#SBATCH --output=%x-%j.out
#SBATCH --nodes=2
# One task a node: torchrun, which starts the processes.
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=8:00:00
#SBATCH --requeue
set -eu

# source ~/venv/bin/activate

# All nodes meet at the first one. The port is the job's own, so that two jobs on one node do not meet each other.
address=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=$((20000 + SLURM_JOB_ID % 20000))

# NCCL_DEBUG=INFO says which network it found. NCCL_SOCKET_IFNAME names one where it chose wrong.
srun torchrun --nnodes="$SLURM_JOB_NUM_NODES" --nproc-per-node="${SLURM_GPUS_ON_NODE:-1}" --rdzv-id="$SLURM_JOB_ID" \
	--rdzv-backend=c10d --rdzv-endpoint="$address:$port" train.py
