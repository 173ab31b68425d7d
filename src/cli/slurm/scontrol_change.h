/* The verbs of scontrol that change something: hold, release, requeue, suspend, resume, update. */
#ifndef CLI_SLURM_SCONTROL_CHANGE_H
#define CLI_SLURM_SCONTROL_CHANGE_H

#include "cli/slurm/command.h"

/* Their names; NULL past the end. */
const char *scontrol_change_at(size_t index);
/* Is it one of them? Words may be cut short and in any case, as in Slurm. */
bool scontrol_changes(const char *verb);
/* Does it; words are those behind the verb. Returns the exit code. */
int scontrol_change(struct cli *cli, const char *verb, char **words, size_t count);

#endif
