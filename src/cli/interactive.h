/*
 * Jobs that somebody sits at: what `strata run`, `shell`, `attach`, `salloc` and `srun` share. The
 * job's command is `strata console DIR … COMMAND`, which runs COMMAND and waits in DIR for a view
 * (src/console); this is where the view comes from: it waits with the person for the start, sits
 * between, and tells how it ended.
 */
#ifndef CLI_INTERACTIVE_H
#define CLI_INTERACTIVE_H

#include "cli/service.h"
#include "console/console.h"

struct interactive;

/* What is said, where the commands differ; each may be NULL. */
struct interactive_voice {
	/* It has waited for a moment, or waits for something else now. */
	void (*waits)(struct interactive *it, const json_t *job);
	void (*starts)(struct interactive *it);
	/* A signal while it waited: it has been cancelled. */
	void (*gives_up)(struct interactive *it);
	/* Instead of a signal being passed on to the program: true, it was dealt with. */
	bool (*signal)(struct interactive *it, int number);
	/* It ended, and not by itself. */
	void (*ended)(struct interactive *it, const json_t *job);
};

struct interactive {
	struct cli *cli;
	const struct interactive_voice *voice;
	char *dir;   /* of its console; in the arena */
	int held;    /* the owner's lock; −1: a guest */
	int signals; /* of console_signals_open */
	int64_t id;
	bool terminal; /* the program is to have one */
	char keys_prefix;
};

/* Before the job is submitted: a place for the console. -ENOTSUP: the service is on another
 * machine. */
int interactive_open(struct interactive *it, struct cli *cli,
		     const struct interactive_voice *voice);
void interactive_close(struct interactive *it);
/* The program that we are; in the arena. NULL: it cannot be said. */
char *interactive_self(struct cli *cli);
/* The caller's shell; in the arena. NULL: no memory. */
char *interactive_shell(struct cli *cli);
/* Puts the command into the body of a submission, and what else makes it interactive: its output is
 * the console's log unless the body has files, it is not started twice. */
int interactive_fill(struct interactive *it, json_t *body, char *const *words, size_t count);
/* From the submission of job `id` to its end. The exit code, or a negative code. */
int interactive_follow(struct interactive *it, int64_t id);
/* A guest at a job that has a console: the exit code, or a negative code. */
int interactive_visit(struct interactive *it, const json_t *job);
/* Where a job has its console, in the arena; NULL: it has none. */
char *interactive_dir(struct cli *cli, const json_t *job);
/* Cancels it; that it has ended already is no mistake. */
void interactive_cancel(struct interactive *it);
/* The command of a job, without what stands in front of it in an interactive one. */
void interactive_command_cell(const struct grid_cell *cell);
/* A job's output is not there (rc, and cli->err says so): where it went, if it was interactive. */
int interactive_explain(struct cli *cli, const char *word, int rc);

/* The usual voice, of our own commands. */
extern const struct interactive_voice interactive_plain;

#endif
