/*
 * Studies: commands that the service runs for people, with what people sent, in a process without
 * rights (cmd_study.c). What they tell meanwhile goes to a descriptor instead of a terminal.
 */
#ifndef CLI_STUDY_H
#define CLI_STUDY_H

#include "cli/cli.h"

/* main.c: finds the command that these words name and runs it. 0, or a negative code with a
 * sentence in cli->err, or a positive exit code. */
int cli_dispatch(struct cli *cli, int argc, char *argv[]);
/* progress.c: from now on progress is lines "progress PART WHAT" on this descriptor, PART from 0 to
 * 1. */
void cli_progress_to(int fd);

#endif
