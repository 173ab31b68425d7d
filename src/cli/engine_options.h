/* What the commands about engines take. Their rows are in both programs; what they do is in the full one, which has the engine. */
#ifndef CLI_ENGINE_OPTIONS_H
#define CLI_ENGINE_OPTIONS_H

#include "cli/cli.h"

struct engine_run_options {
	struct strata_map inputs, dims;
	const char *output, *devices, *budget, *backend, *trace, *experience;
	int mode, objective;
	int64_t repeat;
};
int engine_run_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_conformance_options {
	const char *backend, *devices;
};
int engine_conformance_run_cli(struct cli *cli, const void *conf, char **operands,
			       size_t operand_count);

enum engine_preview_mode {
	ENGINE_PREVIEW_AUTO,
	ENGINE_PREVIEW_NONE,
	ENGINE_PREVIEW_BLOCKS,
	ENGINE_PREVIEW_SIXEL,
	ENGINE_PREVIEW_KITTY,
};

struct engine_image_options {
	const char *solver, *negative, *size, *init, *output, *devices, *backend, *budget, *noise;
	int64_t steps, seed, scale;
	double guidance, strength;
	int preview; /* enum engine_preview_mode */
};
int engine_image_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_text_options {
	const char *devices, *backend, *budget;
	int64_t tokens, top_k, seed;
	double temperature, top_p;
	bool ids;
};
int engine_text_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_replay_options {
	const char *devices, *backend, *budget, *over;
};
int engine_replay_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

/* engine_budget.c: "2GiB" is bytes, "33%" a share of each model's weights; NULL: neither. */
int engine_budget_read(struct cli *cli, const char *text, int64_t *ret_bytes, double *ret_share);
/* ^C ends the call under way; NULL: as before. */
struct strata_engine;
void engine_interruptible(struct strata_engine *engine);

#endif
