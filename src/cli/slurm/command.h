/*
 * Slurm's commands: squeue, sbatch and the others, as names of this one program. Each is a file
 * that ends in a const row; the list (commands.def) feeds the dispatcher, `strata slurm ls` and the
 * build. Options, messages and exit codes are Slurm's, so options are rows of src/slurm and not of
 * ours.
 */
#ifndef CLI_SLURM_COMMAND_H
#define CLI_SLURM_COMMAND_H

#include "cli/cli.h"
#include "slurm/rows.h"

struct slurm_field;

/* Columns that can be asked for. */
struct slurm_field_table {
	const char *of; /* "jobs"; NULL behind the last */
	const struct slurm_field *fields;
};

struct slurm_command {
	const char *name;                       /* "squeue" */
	const char *summary;                    /* one line, lower case, no full stop */
	const char *operands;                   /* "[JOB…]"; NULL: none */
	const struct slurm_syntax *syntax;      /* its options */
	const struct slurm_field_table *fields; /* NULL: none */
	void (*help)(struct cli *cli);          /* prints more behind the options; NULL: nothing */

	/* argv[0] is the name. Returns the exit code; what is to be said has been said, as Slurm
	 * says it. Data is printed with cli_print*, which is flushed at the end. */
	int (*run)(struct cli *cli, int argc, char **argv);
};

/* ---- dispatch.c ---- */

/* Each in a file of its own. */
#define COMMAND(name) extern const struct slurm_command slurm_##name;
#include "cli/slurm/commands.def"
#undef COMMAND

/* Sorted by name; NULL past the end. */
const struct slurm_command *slurm_command_at(size_t index);
/* NULL: none of this name. */
const struct slurm_command *slurm_command_find(const char *name);
/* The one that the program was called as ("/x/squeue …", "strata slurm squeue …"), with argc and
 * argv moved to where its own words begin; NULL: none, and they stay. */
const struct slurm_command *slurm_called(int *argc, char ***argv);
/* Candidates for a command's name, and for the last of its own words, "word<TAB>what it is" a
 * line. */
void slurm_complete_names(struct buf *ret_lines);
void slurm_complete(const struct slurm_command *command, const char *last, struct buf *ret_lines);
/* Reads the settings, runs it and flushes. Returns the exit code. */
int slurm_main(struct cli *cli, const struct slurm_command *command, int argc, char **argv);

/* ---- slurm_say.c: what is said on stderr, behind what is printed so far ---- */

/* "squeue: error: …" */
void slurm_error(struct cli *cli, const char *command, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A line without a name in front. */
void slurm_say(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* That the service could not be asked, as Slurm says it ("slurm_load_jobs error: Unable to
 * contact slurm controller (connect failure)"), and what cli->err knows about it. Returns the
 * exit code. */
int slurm_unreachable(struct cli *cli, const char *call);
/* "Sun Nov 15 18:58:54 2026", in front of long and repeated listings. */
void slurm_print_date(struct cli *cli);
/* --iterate: prints every so many seconds until that fails; 0: once. Returns what print returned
 * last, an exit code. */
int slurm_repeat(struct cli *cli, int64_t every_s,
		 int (*print)(struct cli *cli, const void *context), const void *context);
/* --version */
int slurm_version(struct cli *cli);

/* ---- options.c ---- */

/* Reads variables and words into the struct that the command's rows fill. -1: go on
 * (reading->ended is an option of the command's own that asks for something else); else the exit
 * code, and what was to be said or shown has been. */
int slurm_options(struct cli *cli, const struct slurm_command *command, int argc, char **argv,
		  void *into, struct slurm_reading *reading);
/* --help, --usage, --version: shows it and returns the exit code; -1: it is none of them. */
int slurm_talk(struct cli *cli, const struct slurm_command *command, const char *option);
void slurm_help(struct cli *cli, const struct slurm_command *command);
/* --clusters (NULL: none): is it this one? False: it has been said. batch_own.c */
bool slurm_cluster_known(struct cli *cli, const char *command, const char *list);
/* "CLUSTER: name", where --clusters was given (not NULL). */
void slurm_print_cluster(struct cli *cli, const char *clusters);
/* --verbose: a block of "name = value". */
struct slurm_setting {
	const char *name, *value; /* a value of NULL is "(null)" */
};
void slurm_print_settings(struct cli *cli, const struct slurm_setting *settings, size_t count,
			  int width);
/* --me: the caller's name. */
slurm_read slurm_read_own_name;
/* --iterate: whole seconds, at least 1. */
bool slurm_interval_parse(const char *text, int64_t *ret_seconds);

#endif
