/* What the commands about engines take. Their rows are in both programs; what they do is in the full one, which has the engine. */
#ifndef CLI_ENGINE_OPTIONS_H
#define CLI_ENGINE_OPTIONS_H

#include "cli/cli.h"

#include <sys/types.h>

struct engine_run_options {
	struct strata_map inputs, dims;
	const char *output, *devices, *budget, *backend, *trace, *experience;
	int mode, objective;
	int64_t repeat;
	bool experimental;
};
int engine_run_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_conformance_options {
	const char *backend, *devices;
};
int engine_conformance_run_cli(struct cli *cli, const void *conf, char **operands,
			       size_t operand_count);

struct engine_bench_options {
	const char *part;
	struct strata_map dims;
	int64_t rounds;
	double share;
	bool keep;
};
int engine_bench_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

enum engine_preview_mode {
	ENGINE_PREVIEW_AUTO,
	ENGINE_PREVIEW_NONE,
	ENGINE_PREVIEW_BLOCKS,
	ENGINE_PREVIEW_SIXEL,
	ENGINE_PREVIEW_KITTY,
};
extern const struct strata_choice engine_previews[]; /* their names; cmd_engine_image.c */

struct engine_image_options {
	const char *quality; /* NULL: exact */
	const char *solver, *negative, *size, *init, *output, *devices, *backend, *budget, *noise;
	const char *experience, *trace;
	int64_t steps, seed, scale;
	double guidance, strength;
	int preview; /* enum engine_preview_mode */
	bool experimental;
};
int engine_image_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_text_options {
	const char *devices, *backend, *budget, *experience;
	int64_t tokens, top_k, seed, cache;
	double temperature, top_p;
	bool ids, experimental;
};
int engine_text_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_replay_options {
	const char *devices, *backend, *budget, *over;
};
int engine_replay_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

int place_experience_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

/* engine_open.c: an engine that starts from what earlier ones learned, and keeps what it learns. `experience` is the file that was named, "none" for none,
 * and NULL for the user's own, whose faults are told and stop nothing. Models are closed before anything is kept. */
struct strata_engine;
struct strata_engine_conf;
int engine_experience_path(struct cli *cli, const char *option, const char **ret_path);
int engine_open(struct cli *cli, const struct strata_engine_conf *conf, const char *experience,
		struct strata_engine **ret_engine);
int engine_keep(struct cli *cli, const struct strata_engine *engine, const char *experience);

/* engine_file.c: files as the umask says. A target is where `path` leads to, past symbolic links; -EISDIR, -EINVAL when something is there that is
 * no file. Asked before the work begins, it spares a run whose result could not be written. */
int engine_file_target(struct cli *cli, const char *path, const char **ret_target);
int engine_file_write(struct cli *cli, const char *path, const void *bytes, size_t count);

/* engine_trace.c: what happened when, of an engine; without a path all of it is nothing. Lanes below ENGINE_TRACE_TID are the caller's. */
enum { ENGINE_TRACE_TID = 10 };
struct engine_trace {
	const char *path; /* borrowed */
	struct strata_trace *trace;
	struct strata_memory memory;
};
int engine_trace_start(struct cli *cli, const char *path, struct strata_engine *engine,
		       struct engine_trace *trace);
int engine_trace_write(struct cli *cli, struct engine_trace *trace);
void engine_trace_end(struct engine_trace *trace); /* after the engine is freed */

/* engine_budget.c: "2GiB" is bytes, "33%" a share of each model's weights; NULL: neither. */
int engine_budget_read(struct cli *cli, const char *text, int64_t *ret_bytes, double *ret_share);
/* engine_made_up.c: an input of small numbers, reals from -1 to 1, whole ones 0 or 1; dimensions by name, 1 where the map has none. */
struct strata_array;
struct strata_engine_port;
void engine_make_up(struct strata_array *array, uint32_t seed);
int engine_input_made_up(struct strata_engine *engine, const struct strata_engine_port *port,
			 const struct strata_map *dims, uint32_t seed,
			 struct strata_array *ret_array, struct strata_error *err);
/* ^C ends the call under way; NULL: as before. */
void engine_interruptible(struct strata_engine *engine);

#endif
