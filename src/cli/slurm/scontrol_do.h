/* scontrol's words that are neither show nor a change of jobs: see scontrol_do.c. */
#ifndef CLI_SLURM_SCONTROL_DO_H
#define CLI_SLURM_SCONTROL_DO_H

#include "cli/slurm/scontrol.h"

/* words[0] is the verb. Return the exit code. */
int scontrol_completing(struct scontrol *scontrol, int count, char **words);
int scontrol_errnumstr(struct scontrol *scontrol, int count, char **words);
int scontrol_reconfigure(struct scontrol *scontrol, int count, char **words);
int scontrol_refuse(struct scontrol *scontrol, int count, char **words);
int scontrol_top(struct scontrol *scontrol, int count, char **words); /* scontrol_top.c */
int scontrol_wait_job(struct scontrol *scontrol, int count, char **words);
int scontrol_write(struct scontrol *scontrol, int count, char **words);

#endif
