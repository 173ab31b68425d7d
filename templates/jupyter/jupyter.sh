#!/bin/bash
# A notebook server as a job. It listens on the loopback only, and wants a token that nobody else can read.
#SBATCH --job-name=jupyter
#SBATCH --output=%x-%j.out
#SBATCH --gpus=0
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
# It ends then, saved or not: autosave is every two minutes.
#SBATCH --time=4:00:00
# A server that starts again by itself would have another address.
#SBATCH --no-requeue
set -eu

# Your environment, which has to have jupyterlab (pip install jupyterlab).
# source ~/venv/bin/activate
command -v jupyter >/dev/null || { echo "there is no jupyter in PATH: pip install jupyterlab, and activate its environment in jupyter.sh" >&2; exit 127; }

umask 077
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
config=$(mktemp -d)
token=$(python3 -c 'import secrets; print(secrets.token_urlsafe(24))')
# In a file, since everybody on the machine can read the arguments of a program.
printf 'c.IdentityProvider.token = "%s"\nc.ServerApp.token = "%s"\n' "$token" "$token" >"$config/jupyter_server_config.py"

address=$PWD/jupyter-$SLURM_JOB_ID.address
trap 'rm -rf "$config" "$address"' EXIT
echo "http://127.0.0.1:$port/lab?token=$token" >"$address"
echo "on your laptop:  ssh -N -L $port:127.0.0.1:$port $(id -un)@$(hostname)"
echo "in its browser:  the line in $address, which only you can read"
root=()
[ "$(id -u)" != 0 ] || root=(--allow-root)
JUPYTER_CONFIG_DIR=$config jupyter lab --no-browser --ip=127.0.0.1 --port="$port" --ServerApp.port_retries=0 "${root[@]}" &
# A job that is cancelled is told with SIGTERM; the server saves what it has and ends.
trap 'kill -TERM $! 2>/dev/null' TERM
wait $! || wait $!
