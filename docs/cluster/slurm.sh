#!/usr/bin/env bash
# An array of shards of one grid, on any number of nodes that share the folder RUN:
#   RUN=/shared/run sbatch --array=1-16 docs/cluster/slurm.sh [options of reproduce]
# A task that was stopped is submitted again: finished cells are skipped.
#SBATCH --job-name=pomdp-fs
#SBATCH --cpus-per-task=1
#SBATCH --requeue
set -euo pipefail
exec pomdp-fs reproduce --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --threads "${SLURM_CPUS_PER_TASK:-1}" --out "${RUN:?the folder of the run}" "$@"
