/*
 * What sbatch and srun share: a job as Slurm's options describe it, on its way to the service. The
 * options are read by strata_sbatch_parse; here they are looked at beside the nodes there are
 * (fits.c), what they wait for is settled and the request is sent (slurm_batch.c).
 */
#ifndef CLI_SLURM_SLURM_BATCH_H
#define CLI_SLURM_SLURM_BATCH_H

#include "cli/service.h"
#include "cli/slurm/command.h"
#include "slurm/job_script.h"

struct batch {
	struct cli *cli;
	const char *program; /* "sbatch" */
	/* what is asked for; changed where the service wants it otherwise */
	struct strata_sbatch job;
	struct job_caller caller; /* working_dir is the arena's */
	json_t *body;             /* of POST /api/v1/jobs */
	const char *script_name;  /* sbatch's: the path as it was given; "stdin" */
	const char *limits;       /* resource limits that it takes over; NULL: none */
};

/* ---- fits.c ---- */

/* Is it something that Slurm's controller takes? Returns 0, or the exit code when what is wrong has
 * been said. */
int slurm_fits_check(struct batch *batch);
/* What Slurm says when a field of the request cannot be had, by what is wrong with it; NULL:
 * nothing of its own. */
const char *slurm_sentence(const char *field, int code);
/* When and where it could start, for --test-only. Returns the exit code. */
int slurm_fits_tell(struct batch *batch);

/* ---- shape.c ---- */

/* Nodes that are built otherwise than asked for are excluded; more nodes where tasks are to be
 * spread. Returns 0 or the exit code. */
int slurm_shape_settle(struct batch *batch);
/* Temporary disk of every node: they are all on this machine. */
int64_t slurm_tmp_bytes(void);

/* ---- batch_own.c ---- */

/* What the job takes from here, as its options say. Returns 0 or the exit code. */
int slurm_batch_take_own(struct batch *batch);
/* The limits among the job's variables. False: no memory. */
bool slurm_batch_add_limits(const struct batch *batch, json_t *map);

/* ---- batch_tell.c ---- */

/* --verbose: the options among the words, which are those behind the program's name. */
void slurm_batch_tell(const struct batch *batch, const struct slurm_syntax *syntax,
		      const char *const *words, size_t count);

/* ---- slurm_batch.c ---- */

/* This directory, environment and time. Returns 0 or the exit code. */
int slurm_batch_init(struct batch *batch, struct cli *cli, const char *program);
/* What is wrong with the options, as Slurm says it: from cli->err. Returns the exit code. */
int slurm_batch_complain(struct batch *batch);
/* Shows what --version, --help or --usage asked for. Returns the exit code. */
int slurm_batch_talk(struct batch *batch, const struct slurm_command *command);
/* Warnings of the options. */
void slurm_batch_warn_options(const struct batch *batch);
/* These, and traps of the file names. */
void slurm_batch_warn(struct batch *batch);
/* Fills the body with everything but the program. Returns 0 or the exit code. */
int slurm_batch_fill(struct batch *batch);
/* Sends it. Returns 0 or the exit code; ret_ids is the arena's, one for each element of an
 * array. */
int slurm_batch_send(struct batch *batch, int64_t **ret_ids, size_t *ret_count);
/* Until all have ended. Returns the largest exit code. */
int slurm_batch_wait(struct batch *batch, const int64_t *ids, size_t count);
/* --immediate: 0 once it has started; the exit code where it has not within that time, and was
 * cancelled. */
int slurm_batch_immediate(struct batch *batch, int64_t id);
/* Cancels it; that it has ended already is no mistake. */
void slurm_batch_cancel(const struct batch *batch, int64_t id);
/* One line behind "strata: ", about something where Slurm would be silent; nothing with --quiet. */
void slurm_batch_note(const struct batch *batch, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "sbatch: error: Batch job submission failed: …". Returns the exit code. */
int slurm_batch_refuse(struct batch *batch, const char *why);
/* The same for an account, partition or qos (the field) that nobody made. */
int slurm_batch_refuse_name(struct batch *batch, const char *field, const char *name);
/* That the service cannot be asked. Returns the exit code. */
int slurm_batch_unreachable(struct batch *batch);
/* One job; new reference. A negative code when there is none. */
int slurm_batch_job(struct cli *cli, int64_t id, json_t **ret_job);

#endif
