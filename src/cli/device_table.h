/* Devices and the ways between them, as people and as `--devices FILE` read them. */
#ifndef CLI_DEVICE_TABLE_H
#define CLI_DEVICE_TABLE_H

#include "cli/cli.h"

#include <strata/place.h>

int device_table_print(struct cli *cli, const struct strata_machine *machine);
/* The document that `--devices` takes; links that no row names get the last two figures, 0 for
 * none. NULL for lack of memory. */
json_t *device_table_json(const struct strata_machine *machine, double link_bytes_per_s,
			  double link_latency_ns);

#endif
