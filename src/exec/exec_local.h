/*
 * The insides of the local executor: what it knows of each attempt. exec_local.c takes orders and
 * control requests, local_watch.c looks after what runs, local_scan.c finds what is there.
 */
#ifndef EXEC_EXEC_LOCAL_H
#define EXEC_EXEC_LOCAL_H

#include "core/map.h"
#include "exec/journal.h"
#include "exec/fork_server.h"

#include <limits.h>

/* An attempt that is watched. */
struct attempt {
	struct exec_key key;
	char name[RECORD_NAME_BYTES];
	int64_t lines_at, epoch;       /* of its file; 0: not read yet */
	struct env_process supervisor; /* pid 0: none known */
	bool asked; /* the fork server was asked for one and has not answered yet */
	bool child; /* the supervisor is ours to wait for */
	bool gone;  /* it has ended, as far as we know */
	int tries;  /* supervisors that ended without a word */
	bool started, ended, troubled; /* reported */
	int64_t checkpoints;           /* reported */
	bool dirty;
	struct attempt *next_dirty; /* while dirty */
	bool dropped; /* nobody knows it any more, but its supervisor is still to be waited for */
	struct attempt *next_dropped, **dropped_link;
};

struct local {
	struct exec base;
	const struct env *env;
	struct strata_memory *memory;
	struct strata_arena arena;       /* texts that live as long as this */
	struct strata_arena event_arena; /* texts of the last event */
	char jobs_path[PATH_MAX];
	int jobs; /* directory */
	/* what has not ended gets a supervisor; else another looks after it and writes to its
	 * file */
	bool supervised;
	int64_t epoch;
	const char *supervisor, *cgroup;
	int epoll, inotify, wake;
	struct fork_server fork_server;
	int asked;                /* of it, and not answered yet */
	struct map_text attempts; /* by name; owned */
	struct attempt *first_dirty, *last_dirty;
	struct attempt *dropped;
};

/* All of the opening but for control groups: the directory, the lead, the watches. To be ended by
 * fini, whatever came of it. */
int local_init(struct local *local, const struct exec_open *from, struct strata_error *err);
void local_fini(struct local *local);
/* Writes an order down, to be watched: all of a start but for who carries it out. */
int local_order(struct local *local, const struct exec_order *order, struct attempt **ret_attempt,
		struct strata_error *err);

/* Begins to watch an attempt; drop ends that. What waits for its supervisor is freed with it, or by
 * free_dropped. */
int local_take(struct local *local, struct exec_key key, struct attempt **ret_attempt,
	       struct strata_error *err);
void local_drop(struct local *local, struct attempt *attempt);
void local_free_dropped(struct local *local);
struct attempt *local_find(struct local *local, struct exec_key key); /* NULL: not watched */

/* The next call of `next` looks at its file. */
void local_mark(struct local *local, struct attempt *attempt);
/* Asks for the first supervisor of an attempt just ordered. */
int local_start_supervisor(struct local *local, struct attempt *attempt, struct strata_error *err);
/* Who holds the lock of the file; pid 0: nobody. The pidfd is the caller's. */
int local_find_supervisor(int fd, struct env_process *ret_process, struct strata_error *err);

/* What the file of an attempt says; its texts are gone. -ENOENT when there is none, or no whole
 * order in it. */
int local_read(struct local *local, const char *name, struct journal *ret_journal,
	       struct strata_error *err);
int local_remove(struct local *local, const char *name, struct strata_error *err);
int local_scan(struct exec *exec, struct strata_arena *arena, struct exec_found **ret_found,
	       size_t *ret_count, struct strata_error *err);

int local_next(struct exec *exec, struct exec_event *ret_event, struct strata_error *err);
int local_open_watches(struct local *local, struct strata_error *err);

#endif
