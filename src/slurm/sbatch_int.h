/* What the readers of batch jobs share: the options of sbatch, srun and salloc as rows, and what was read so far. The language is
 * described in <strata/sbatch.h>. */
#ifndef SLURM_SBATCH_INT_H
#define SLURM_SBATCH_INT_H

#include "core/container.h"
#include "slurm/rows.h"

enum { SBATCH_MEM_NODE, SBATCH_MEM_CPU, SBATCH_MEM_GPU, SBATCH_MEM_KINDS };
enum { SBATCH_WARNINGS_MAX = 8 };

struct sbatch_reading {
	struct slurm_reading base; /* into the job */
	const struct strata_sbatch_input *in;
	struct strata_sbatch job;       /* what was read so far */
	const char *array, *dependency; /* as written */
	struct strata_sbatch_gpus gres; /* the GPUs of --gres */
	bool nodes_given;
	bool mem_by_word[SBATCH_MEM_KINDS], mem_by_env[SBATCH_MEM_KINDS];
	const char **warnings; /* room for SBATCH_WARNINGS_MAX */
	size_t warning_count;
};

/* sbatch_rows.c */
extern const struct slurm_row sbatch_rows[];
extern const size_t sbatch_row_count;
extern const struct slurm_syntax sbatch_syntax, srun_syntax, salloc_syntax;

/* sbatch_read.c: how values reach the job. Those called check look at the value of an option without effect. */
slurm_read sbatch_read_count, sbatch_read_memory, sbatch_read_limit, sbatch_read_begin,
	sbatch_read_nodes, sbatch_read_gpus, sbatch_read_array, sbatch_read_dependency,
	sbatch_read_signal, sbatch_read_mail, sbatch_read_exclusive, sbatch_read_oversubscribe,
	sbatch_read_requeue, sbatch_read_no_requeue, sbatch_read_nice, sbatch_read_priority,
	sbatch_read_open_mode, sbatch_read_yes_no, sbatch_read_not_zero, sbatch_read_export,
	sbatch_read_input, sbatch_check_count, sbatch_check_wait_all;

/* sbatch_layout.c: of how nodes are built and tasks are laid out on them. */
slurm_read sbatch_read_shape, sbatch_read_distribution, sbatch_read_gpu_bind, sbatch_read_propagate,
	sbatch_read_bcast, sbatch_read_immediate, sbatch_read_from_zero;

/* sbatch_script.c */

/* Is it a batch script? -EBADMSG says why not. */
int sbatch_script_check(const char *script, size_t length, struct strata_error *err);
/* The words of its #SBATCH lines. name is for messages. */
int sbatch_script_words(const char *script, size_t length, const char *name,
			struct strata_arena *arena, const char ***ret_words, size_t *ret_count,
			struct strata_error *err);

/* sbatch_check.c: what follows from the options together, and what is refused. */
int sbatch_settle(struct sbatch_reading *reading, struct strata_error *err);
/* Adds a warning unless --quiet was given. */
int sbatch_warn(struct sbatch_reading *reading, struct strata_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
