#!/bin/bash
# One element of an array runs one line of settings.csv. Submit it with
#   strata submit --array 1-4%2 sweep.sh
# for lines 1 to 4 behind the titles, two of them at a time. A flag wins over the line below.
#SBATCH --job-name=sweep
#SBATCH --array=1-4%2
# A file for each element: %A is the array's number, %a the element's.
#SBATCH --output=%x-%A_%a.out
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=30:00
set -eu

line=$(sed -n "$((STRATA_ARRAY_TASK_ID + 1))p" settings.csv)
[ -n "$line" ] || { echo "settings.csv has no line $STRATA_ARRAY_TASK_ID" >&2; exit 2; }
IFS=, read -r rate depth <<<"$line"

# Your program. What it prints, and its exit status, are the element's own.
echo "element $STRATA_ARRAY_TASK_ID: rate $rate, depth $depth"
