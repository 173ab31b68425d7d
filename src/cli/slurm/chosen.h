/*
 * Jobs as Slurm's commands name them: "40", which is the whole array where 40 is one, "40_4",
 * "40_[1-3,7]". They are looked for among those that are queued or run, which is all that anything
 * can be done to.
 */
#ifndef CLI_SLURM_CHOSEN_H
#define CLI_SLURM_CHOSEN_H

#include "cli/service.h"
#include "cli/slurm/command.h"

#include <strata/slurm.h>

/* One word of a command line. */
struct chosen {
	const char *word; /* borrowed */
	int64_t job;
	struct strata_array tasks; /* of its array; none: the whole of it */
};

/* false: it is none. */
bool chosen_parse(const char *word, struct strata_arena *arena, struct chosen *ret_chosen);
/* Is it one of them? */
bool chosen_has(const struct chosen *chosen, const json_t *job);
/* As Slurm writes it: "40", "40_4"; in the arena. */
const char *chosen_name(struct cli *cli, const json_t *job);
/* All that are queued or run: a new reference to a list. */
int chosen_list(struct cli *cli, json_t **ret_jobs);
/* Slurm's sentence for a refusal, from cli->err. */
const char *chosen_why(const struct cli *cli);

#endif
