/* What the commands about placing models share: settings, models, machines. */
#ifndef CLI_PLACE_MODEL_H
#define CLI_PLACE_MODEL_H

#include "cli/cli.h"

#include "formats/graph_case.h"

#include <jansson.h>

#include <strata/adaptive.h>

extern const struct strata_choice place_modes[], place_objectives[];

/* A model to be placed, from a file of any form that is known. */
struct place_model {
	const char *name;
	struct graph_file file;        /* of forms that are read whole; count 0: another */
	struct strata_graph *graph;    /* freed by place_model_close */
	struct strata_machine machine; /* no devices: the file has none */
	enum strata_objective objective;
	bool fixed_order;
	const char *workload;  /* "llm" … or "other" */
	const char *why;       /* a sentence about that; NULL */
	const char *open_dims; /* dimensions without a value, which count as 1; NULL: none */
};
int place_model_open(struct cli *cli, const char *path, const struct strata_map *dims,
		     struct place_model *ret_model);
/* Says which dimensions count as 1. Once the devices are there: until then the small program may
 * hand over, and it would be said twice. */
void place_model_note(const struct cli *cli, const struct place_model *model);
/* What it is: workload, phases, KV caches; written into the graph. */
int place_model_detect(struct cli *cli, struct place_model *model);
void place_model_close(struct place_model *model);

/* Devices from a file, or "detect": those of this machine. */
int place_machine_open(struct cli *cli, const char *devices, struct strata_machine *ret_machine);

/* A plan and what was asked for it. */
struct place_answer {
	const struct place_model *model;
	const struct strata_machine *machine;
	const struct strata_adaptive_choice *choice;
	const char *mode;
	enum strata_objective objective;
	struct strata_place_plan plan;
	double took_ms;
	/* what an engine learned: engine/experience.h; NULL: not asked for */
	const json_t *experience;
};
int place_print(struct cli *cli, const struct place_answer *answer);
int place_plot(struct cli *cli, const struct place_answer *answer, const char *path);
int place_dot(struct cli *cli, const struct place_answer *answer, const char *path);

#endif
