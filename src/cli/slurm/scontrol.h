/* scontrol: words behind the program's name choose what it does; each is a row of a table. */
#ifndef CLI_SLURM_SCONTROL_H
#define CLI_SLURM_SCONTROL_H

#include "cli/slurm/node_read.h"

struct scontrol {
	struct cli *cli;
	bool oneline, details, quiet, json;
	const char *clusters;
	int64_t verbose;
};

struct scontrol_verb {
	const char *name; /* "show" */
	/* words[0] is the verb. Returns the exit code. */
	int (*run)(struct scontrol *scontrol, int count, char **words);
};

/* scontrol_show.c */
int scontrol_show(struct scontrol *scontrol, int count, char **words);
/* What stands between two fields' lines: a line break and blanks, or one blank. */
const char *scontrol_gap(const struct scontrol *scontrol);

/* scontrol_show_job.c, scontrol_show_node.c: all of them, or those of that name (NULL: all). */
int scontrol_show_jobs(struct scontrol *scontrol, const char *name);
int scontrol_show_nodes(struct scontrol *scontrol, const char *name);
int scontrol_show_partitions(struct scontrol *scontrol, const char *name);
/* scontrol_show_step.c: "7", "7.0" */
int scontrol_show_steps(struct scontrol *scontrol, const char *name);
/* scontrol_reservation.c */
int scontrol_show_reservations(struct scontrol *scontrol, const char *name);
int scontrol_create(struct scontrol *scontrol, int count, char **words);
int scontrol_delete(struct scontrol *scontrol, int count, char **words);
int scontrol_update_reservation(struct cli *cli, int count, char **words);

#endif
