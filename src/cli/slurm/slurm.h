/*
 * Slurm's commands: squeue, sbatch and the others, as names of this one program. Each is a file that ends in a const row; the
 * table (commands.c) feeds the dispatcher and `strata slurm ls`. Options, messages and exit codes are Slurm's, so options are read
 * with getopt_long from tables of their own and not from ours.
 */
#ifndef CLI_SLURM_SLURM_H
#define CLI_SLURM_SLURM_H

#include "cli/cli.h"

#include <getopt.h>

struct slurm_command {
	const char *name;    /* "squeue" */
	const char *summary; /* one line, lower case, no full stop */

	/* argv[0] is the name. Returns the exit code; what is to be said has been said, as Slurm says it. Data is printed with
	 * cli_print*, which is flushed at the end. */
	int (*run)(struct cli *cli, int argc, char **argv);
};

/* ---- commands.c ---- */

/* Each in a file of its own. */
extern const struct slurm_command slurm_sacct, slurm_sbatch, slurm_scancel, slurm_scontrol,
	slurm_sinfo, slurm_sprio, slurm_squeue, slurm_srun, slurm_sshare;

/* Sorted by name; NULL past the end. */
const struct slurm_command *slurm_command_at(size_t index);
/* NULL: none of this name. */
const struct slurm_command *slurm_command_find(const char *name);
/* The one that the program was called as ("/x/squeue …", "strata slurm squeue …"), with argc and argv moved to where its own
 * words begin; NULL: none, and they stay. */
const struct slurm_command *slurm_called(int *argc, char ***argv);
/* Reads the settings, runs it and flushes. Returns the exit code. */
int slurm_main(struct cli *cli, const struct slurm_command *command, int argc, char **argv);

/* ---- say.c: what is said on stderr, behind what is printed so far ---- */

/* getopt_long's next option. '?' is one that is not known: that, and where help is, has been said. */
int slurm_option(int argc, char **argv, const char *letters, const struct option *options);
/* "squeue: error: …" */
void slurm_error(struct cli *cli, const char *command, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A line without a name in front. */
void slurm_say(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* That the service could not be asked, as Slurm says it ("slurm_load_jobs error: Unable to contact slurm controller (connect
 * failure)"), and what cli->err knows about it. Returns the exit code. */
int slurm_unreachable(struct cli *cli, const char *call);
/* "Sun Nov 15 18:58:54 2026", in front of long and repeated listings. */
void slurm_print_date(struct cli *cli);
/* --iterate: prints every so many seconds until that fails; 0: once. Returns what print returned last, an exit code. */
int slurm_repeat(struct cli *cli, long every_s, int (*print)(struct cli *cli, const void *context),
		 const void *context);
/* help.c: --help, from the options; those with the value `nothing` have no effect. */
void slurm_help(struct cli *cli, const struct slurm_command *command, const struct option *options,
		int nothing);
/* --version */
int slurm_version(struct cli *cli);

#endif
