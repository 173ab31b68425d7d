/* Values of Slurm's options that several commands read, and the service: numbers of nodes, GPUs, signals, kinds of mail. */
#ifndef SLURM_SLURM_VALUE_H
#define SLURM_SLURM_VALUE_H

#include "core/buf.h"

#include <strata/sbatch.h>

/* The buf's text in the arena, or the error of a text that was too long or found no memory; ends
 * the buf either way. */
int slurm_keep(struct buf *buf, struct strata_arena *arena, const char **ret_text,
	       struct strata_error *err);

/* --nodes=N, N-M or -M, each with a k (1024) or m behind it perhaps. Both 0 …; in Slurm's words. */
int slurm_nodes_parse(const char *text, int64_t *ret_min, int64_t *ret_max,
		      struct strata_error *err);

/* GPUs as in --gpus=[type:]count,…; in Slurm's words. */
int slurm_gpus_parse(const char *text, struct strata_arena *arena,
		     struct strata_sbatch_gpus *ret_gpus, struct strata_error *err);
/* The GPUs of --gres=gpu[:type][:count],…; ret_gpus->text is NULL when it has none. */
int slurm_gres_parse(const char *text, struct strata_arena *arena,
		     struct strata_sbatch_gpus *ret_gpus, struct strata_error *err);

/* --signal; false when it is not of the form. */
bool slurm_signal_parse(const char *text, struct strata_sbatch_signal *ret_signal);
/* --mail-type's names as bits; false when one is unknown. NONE gives 0. */
bool slurm_mail_parse(const char *text, unsigned *ret_types);
/* The name of the lowest bit, for printing; NULL when there is none. */
const char *slurm_mail_name(unsigned types);

#endif
