/* Candidates from the running service, for the shell's completion. */
#ifndef CLI_COMPLETE_NAMES_H
#define CLI_COMPLETE_NAMES_H

#include "cli/cli.h"

/* "17<TAB>train, running": what an operand of the command can be. */
void complete_operand(struct cli *cli, const struct cli_command *command, struct buf *ret_lines);
/* Names that a value can have, as of --partition. */
void complete_value(struct cli *cli, const struct strata_option *option, struct buf *ret_lines);

#endif
