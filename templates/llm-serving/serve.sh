#!/bin/bash
# vLLM as a job. It stays up for as long as it may, starts again when its node fails, and is asked with OpenAI's clients.
#SBATCH --job-name=llm
#SBATCH --output=%x-%j.out
#SBATCH --nodes=1
# One for 8B in bf16 on 24 GB; more of them share the model's layers (--tensor-parallel-size below goes by it).
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
# The longest that the partition allows (`strata partitions`): strata submit --time 30d. What it computes with is everybody's: end it when it idles.
#SBATCH --time=24:00:00
#SBATCH --requeue
set -eu

# source ~/venv/bin/activate

model=${MODEL:-Qwen/Qwen2.5-7B-Instruct}
# Fixed, so that its users find it again after a restart. On a node that others use, too, take one that is yours alone.
port=${PORT:-8000}

# The key stands in a file and reaches vLLM by a variable: arguments can be seen by everybody.
umask 077
[ -s serve.key ] || python3 -c 'import secrets; print(secrets.token_urlsafe(32))' >serve.key
VLLM_API_KEY=$(cat serve.key)
export VLLM_API_KEY

# All interfaces, for clients from elsewhere; the traffic is not encrypted. 127.0.0.1 with an SSH tunnel, as for notebooks, is.
echo "http://$(hostname -f):$port/v1  model $model"
exec vllm serve "$model" --host 0.0.0.0 --port "$port" --tensor-parallel-size "${SLURM_GPUS_ON_NODE:-1}" --gpu-memory-utilization 0.9
