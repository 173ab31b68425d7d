/*
 * Options of Slurm's commands as rows: one row says how an option is written, which variable stands for it, which field of a struct
 * it fills and how, and whether it has an effect here. Words and variables are read by the rows (rows_words.c, rows_read.c); help,
 * suggestions, completion and documents are written from them (rows_help.c). Every command has a table of its own; sbatch, srun and
 * salloc share one (sbatch_rows.c).
 */
#ifndef SLURM_ROWS_H
#define SLURM_ROWS_H

#include "core/buf.h"

#include <strata/sbatch.h>

struct slurm_row;
struct slurm_reading;

/*
 * Stores a value; NULL: the option was given without one. Fails with Slurm's sentence, in front of which the command's name is put
 * ("squeue: error: …"), or with -ECANCELED when all has been said.
 */
typedef int slurm_read(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err);

struct slurm_row {
	struct strata_slurm_option option;
	/* only checks the value where the option does not act; NULL: takes any, and of one that is refused
	 * refuses it, which else the command does in words of its own */
	slurm_read *read;
	size_t offset;    /* of the field it fills */
	const char *text; /* what it stands for where it takes no value; NULL: nothing */
};

/* What a command takes. */
struct slurm_syntax {
	const struct slurm_row *rows; /* the last has no name */
	unsigned commands;            /* those rows of the table that are this command's; 0: all */
	bool stops; /* the first operand ends the options: it is a program or a verb */
	/* the variable of an option without a value says yes or no; else being there is enough */
	bool env_tells;
};

/* The rows of a command one after another: the one behind `row` (NULL: the first), or NULL. */
const struct slurm_row *slurm_row_next(const struct slurm_syntax *syntax,
				       const struct slurm_row *row);
/* Two names of one option. */
bool slurm_row_same(const struct slurm_row *left, const struct slurm_row *right);

/* ---- rows_words.c: words as getopt_long takes them apart ---- */

struct slurm_words {
	const struct slurm_syntax *syntax;
	const char *const *words; /* borrowed */
	size_t count, at;         /* at: the next word */
	const char *letters;      /* the rest of a word of short options, or NULL */
	const char **operands;    /* room for all words; NULL where the first operand ends it */
	size_t operand_count;
};

/* The next option and its value (NULL: none); ret_row is NULL at the end: then words->at is the first operand where it ends the
 * options; else operands before it have been collected, and the words from words->at on are operands too. Fails in getopt's words; behind "; did you mean " stands what was meant. */
int slurm_words_next(struct slurm_words *words, const struct slurm_row **ret_row,
		     const char **ret_value, struct strata_error *err);

/* ---- rows_read.c ---- */

struct slurm_reading {
	const struct slurm_syntax *syntax;
	struct strata_arena *arena;    /* of texts and lists */
	void *into;                    /* what the rows' fields are of */
	const void *context;           /* for a command's own readers */
	bool from_env;                 /* the value at hand comes from a variable */
	const struct slurm_row *ended; /* an option that asks for something else, such as --help */
	const char **operands;
	size_t operand_count;
	struct strata_sbatch_ignored *ignored; /* options without effect, each once */
	size_t ignored_count;
};

/* Makes room. 0 or -ENOMEM. */
int slurm_reading_init(struct slurm_reading *reading, const struct slurm_syntax *syntax,
		       struct strata_arena *arena, void *into, struct strata_error *err);
/* One value of one option. */
int slurm_row_read(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		   struct strata_error *err);
/* The variables (NAME=value …, NULL behind the last; NULL: none) of all rows. */
int slurm_rows_read_env(struct slurm_reading *reading, const char *const *env,
			struct strata_error *err);
/* Words, up to their end or to the option that ended it. */
int slurm_rows_read_words(struct slurm_reading *reading, const char *const *words, size_t count,
			  struct strata_error *err);
/* "no effect here: --hint, --reboot"; NULL where there is nothing to warn of. */
int slurm_rows_warning(const struct slurm_reading *reading, const char **ret_text,
		       struct strata_error *err);

/* The field that a row fills. */
static inline void *slurm_row_field(const struct slurm_reading *reading,
				    const struct slurm_row *row)
{
	return (char *)reading->into + row->offset;
}

/* Readers that most rows need. */
slurm_read slurm_read_text;  /* const char *: the value, or the row's text; copied */
slurm_read slurm_read_flag;  /* bool: true */
slurm_read slurm_read_tally; /* int64_t: how often it was given */
slurm_read slurm_read_end;   /* the rest is not read: reading->ended */

/* ---- rows_help.c ---- */

/* "[-A…] [--me] …" behind the command's name, in lines of about 80 columns. */
void slurm_rows_usage(const struct slurm_syntax *syntax, struct buf *ret_lines);
/* Each option with its help, then those without effect. */
void slurm_rows_help(const struct slurm_syntax *syntax, struct buf *ret_lines);
/* Candidates for a word that begins with a dash, "--name<TAB>help" a line. */
void slurm_rows_complete(const struct slurm_syntax *syntax, struct buf *ret_lines);
/* What Slurm's command of this name writes to standard error about a failure, line by line. */
int slurm_rows_complaint(const struct strata_error *failure, const char *program,
			 struct strata_arena *arena, const char **ret_text);
/* "acts", "holds anyway", "none" or "refused": what becomes of an option here. */
const char *slurm_effect_name(enum strata_slurm_effect effect);

/* Rows that most commands have. */
#define SLURM_ROW_HELP(letter)                                                          \
	{                                                                               \
		{ "help", letter, .help = "show the options" }, slurm_read_end, 0, NULL \
	}
#define SLURM_ROW_USAGE(letter)                                                           \
	{                                                                                 \
		{ "usage", letter, .help = "show a short help" }, slurm_read_end, 0, NULL \
	}
#define SLURM_ROW_VERSION                                                               \
	{                                                                               \
		{ "version", 'V', .help = "show the version" }, slurm_read_end, 0, NULL \
	}
/* Accepted without effect, with a warning, or because it is so anyway. */
#define SLURM_ROW_IGNORED(name, letter, argument, help)                                        \
	{                                                                                      \
		{ name, letter, argument, 0, NULL, STRATA_SLURM_IGNORED, help }, NULL, 0, NULL \
	}
/* Takes a value, and is an error. */
#define SLURM_ROW_REFUSED(name, letter, help)                                                 \
	{                                                                                     \
		{ name, letter, STRATA_SLURM_REQUIRED, 0, NULL, STRATA_SLURM_REFUSED, help }, \
			NULL, 0, NULL                                                         \
	}
#define SLURM_ROW_HOLDS(name, letter, help)                                                      \
	{                                                                                        \
		{ name, letter, STRATA_SLURM_NONE, 0, NULL, STRATA_SLURM_HOLDS, help }, NULL, 0, \
			NULL                                                                     \
	}

#endif
