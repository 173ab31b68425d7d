/* What the readers of Slurm's languages share: values of options, and the internal half of the
 * option table. The languages are described in <strata/slurm.h> and <strata/sbatch.h>. */
#ifndef FORMATS_SLURM_H
#define FORMATS_SLURM_H

#include "core/buf.h"

#include <strata/sbatch.h>

/* slurm_value.c */

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

/* slurm_option.c: the table with how a value reaches the request. */

enum { SBATCH_MEM_NODE, SBATCH_MEM_CPU, SBATCH_MEM_GPU, SBATCH_MEM_KINDS };
enum { SBATCH_WARNINGS_MAX = 8 };

struct sbatch_reading {
	struct strata_arena *arena;
	const struct strata_sbatch_input *in;
	struct strata_sbatch job;       /* what was read so far */
	const char *array, *dependency; /* as written */
	struct strata_sbatch_gpus gres; /* the GPUs of --gres */
	bool nodes_given, sockets_given;
	bool from_env; /* the value at hand comes from a variable */
	bool mem_by_word[SBATCH_MEM_KINDS], mem_by_env[SBATCH_MEM_KINDS];
	struct strata_sbatch_ignored *ignored; /* room for one of each row */
	size_t ignored_count;
	const char **warnings; /* room for SBATCH_WARNINGS_MAX */
	size_t warning_count;
};

struct sbatch_row;
/* Stores a value; value is NULL when the option has none. */
typedef int sbatch_read(struct sbatch_reading *reading, const struct sbatch_row *row,
			const char *value, struct strata_error *err);

struct sbatch_row {
	struct strata_slurm_option option;
	sbatch_read *read;
	size_t offset; /* of the field it fills, for readers that serve several */
};

extern const struct sbatch_row sbatch_rows[];
extern const size_t sbatch_row_count;

/* sbatch_read.c */
sbatch_read sbatch_read_text, sbatch_read_flag, sbatch_read_count, sbatch_read_memory,
	sbatch_read_limit, sbatch_read_begin, sbatch_read_nodes, sbatch_read_gpus,
	sbatch_read_array, sbatch_read_dependency, sbatch_read_signal, sbatch_read_mail,
	sbatch_read_exclusive, sbatch_read_oversubscribe, sbatch_read_requeue,
	sbatch_read_no_requeue, sbatch_read_nice, sbatch_read_priority, sbatch_read_open_mode,
	sbatch_read_yes_no, sbatch_read_export, sbatch_read_verbose, sbatch_read_ignored,
	sbatch_read_ignored_count, sbatch_read_wait_all, sbatch_read_input;

/* sbatch_words.c: words as getopt_long takes them apart, stopping at the first operand. */

struct sbatch_words {
	const char *const *words; /* borrowed */
	size_t count, at;         /* at: the next word */
	const char *letters;      /* the rest of a word of short options, or NULL */
	unsigned command;         /* STRATA_SLURM_SBATCH … */
};

void sbatch_words_init(struct sbatch_words *words, const char *const *list, size_t count,
		       unsigned command);
/* The next option and its value (NULL: none); ret_row is NULL at the end, where words->at is the
 * first operand. Fails in getopt's words. */
int sbatch_words_next(struct sbatch_words *words, const struct sbatch_row **ret_row,
		      const char **ret_value, struct strata_error *err);

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
