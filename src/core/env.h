/*
 * The outside world as a table: clock, random bytes, files, processes. The doing half reaches all of them through a
 * struct env, so that a test can put its own in place: a clock that stands still, a disk that fails at the n-th call,
 * a machine that stops between two of them. Levels never include this header.
 *
 * The table holds primitives, thin as system calls; what is built on them (durable files, whole reads, exact waits) are
 * the functions below, and so the test's primitives run under the same code. Every failure is a negative errno code.
 * Nothing here allocates, but for env_read_file on the caller's arena. All of it is thread-safe if the table is.
 */
#ifndef CORE_ENV_H
#define CORE_ENV_H

#include <strata/error.h>
#include <strata/memory.h>

#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>

enum env_clock {
	ENV_REALTIME,  /* since 1970; may jump */
	ENV_MONOTONIC, /* since some moment; never goes back */
};

/* Who a process runs as. */
struct env_identity {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* the supplementary ones, all of them; borrowed during the call */
	size_t group_count;
};

/* A program to start. All pointers are borrowed during the call. */
/* A soft limit of a process, as of setrlimit; never above the hard one. */
struct env_limit {
	int resource;
	uint64_t value; /* UINT64_MAX: none */
};

struct env_command {
	/* a path with a slash, or with `search` a name; no shell is involved */
	const char *program;
	/* where to look for a name, as in PATH; done by the child, with its rights. NULL: nowhere */
	const char *search;
	const char *const *argv; /* NULL-terminated, argv[0] included */
	const char *const *envp; /* NULL-terminated; the whole environment, nothing is inherited */
	const char *cwd;         /* NULL: the caller's */
	int cwd_fd; /* the same, opened; above 2, and `cwd` is then what to call it. 0: by its path */
	int fds[3]; /* its stdin, stdout, stderr; -1: /dev/null. No other descriptor gets through */
	bool new_session;     /* its own session and process group, without a terminal … */
	bool terminal;        /* … but for this: its stdin is one, and becomes the session's */
	bool new_group;       /* its own process group */
	bool die_with_parent; /* killed when the *thread* that started it ends */
	const struct env_identity *identity; /* NULL: the caller's. Another needs privileges */
	const struct env_limit *limits;      /* that it begins with, over the caller's */
	size_t limit_count;
	int cgroup; /* directory of the control group it is born in; 0: the caller's. -ENOTSUP where the kernel cannot */
};

/* A process that was started. */
struct env_process {
	pid_t pid;
	int pidfd; /* -1 where the kernel has none; owned, see env_process_close */
};

enum env_state { ENV_RUNNING, ENV_EXITED, ENV_KILLED };

/* How a process ended. */
struct env_exit {
	enum env_state state;
	int code;    /* ENV_EXITED: its exit status, 0 to 255 */
	int signal;  /* ENV_KILLED: by which signal */
	bool dumped; /* ENV_KILLED: with a core dump */
};

/*
 * The table. Files: as the system calls of the same name, paths being relative to the directory descriptor `dir`
 * (AT_FDCWD for the current one). Any of them may return -EINTR, and read and write may do less than they were asked.
 */
struct env {
	void *context; /* first argument of every function */

	int64_t (*now_ns)(void *context, enum env_clock clock);
	ssize_t (*random)(void *context, void *bytes, size_t count);

	int (*open)(void *context, int dir, const char *path, int flags, mode_t mode);
	int (*close)(void *context, int fd);
	ssize_t (*read)(void *context, int fd, void *bytes, size_t room);
	ssize_t (*write)(void *context, int fd, const void *bytes, size_t count);
	int (*sync)(void *context, int fd, bool data_only); /* fsync or fdatasync */
	int (*chmod)(void *context, int fd, mode_t mode);
	off_t (*size)(void *context, int fd);
	int (*truncate)(void *context, int fd, off_t size);
	int (*rename)(void *context, int dir, const char *from, const char *to);
	int (*link)(void *context, int dir, const char *from, const char *to);
	int (*unlink)(void *context, int dir, const char *path);
	int (*mkdir)(void *context, int dir, const char *path, mode_t mode);

	int (*spawn)(void *context, const struct env_command *command,
		     struct env_process *ret_process, struct strata_error *err);
	int (*wait)(void *context, const struct env_process *process, bool block,
		    struct env_exit *ret_exit);
	int (*signal)(void *context, const struct env_process *process, int signal, bool group);
};

/* The real world; static storage. */
const struct env *env_system(void);

/* ---- clock and chance ---- */

int64_t env_now_ns(const struct env *env, enum env_clock clock);
/* What makes realtime of a monotonic time, as of now; a trace takes it once, so that its times neither jump nor go back. */
int64_t env_realtime_offset_ns(const struct env *env);

/* Fills all of `bytes` from the kernel's generator. */
int env_random(const struct env *env, void *bytes, size_t count, struct strata_error *err);

/* ---- files (env_file.c) ----
 *
 * A call that returns 0 is durable: it outlasts the power going out. One that fails names the file and the cause.
 * `mode` is what the file gets, whatever the umask. A path must end in a name, not in a slash or dots.
 */

/*
 * Puts a file with these contents in place of what was there, if anything. At every moment, and after every failure
 * or crash, the old contents or the new ones are there in full. A failure to make the last step durable leaves the new
 * ones in place and is still a failure. A crash may leave a file ".strata-….tmp" beside it.
 */
int env_write_file(const struct env *env, int dir, const char *path, const void *bytes,
		   size_t count, mode_t mode, struct strata_error *err);

/*
 * The same for contents that come a part at a time and need not be in memory: open, add as often as there is something,
 * then either keep or drop; both end the draft. Until it is kept, `path` stays as it is.
 */
enum { ENV_TEMP_NAME_BYTES = 40 };
struct env_draft {
	const struct env *env;
	const char *path, *name; /* the caller's, until the draft ends; its last part */
	int dir, fd;
	char temp[ENV_TEMP_NAME_BYTES];
};
int env_draft_open(struct env_draft *draft, const struct env *env, int dir, const char *path,
		   struct strata_error *err);
/* 0 or a negative errno code; the draft is then to be dropped. */
int env_draft_add(struct env_draft *draft, const void *bytes, size_t count);
int env_draft_keep(struct env_draft *draft, mode_t mode, struct strata_error *err);
void env_draft_drop(struct env_draft *draft);

/* Creates a file that must not exist, contents and all: of several callers one succeeds, the others get -EEXIST. After
 * a failure it is not there; after a crash it is there in full or not at all. Needs a file system with hard links. */
int env_claim_file(const struct env *env, int dir, const char *path, const void *bytes,
		   size_t count, mode_t mode, struct strata_error *err);

/* All of a file, with a NUL behind it, on the arena. -E2BIG when it has more than limit_bytes. Believes what it reads,
 * not the size the file claims (those in /proc claim 0), and does not wait for a FIFO's writer. */
int env_read_file(const struct env *env, int dir, const char *path, size_t limit_bytes,
		  struct strata_arena *arena, char **ret_bytes, size_t *ret_count,
		  struct strata_error *err);

/* Makes a directory and those above it that are missing, all with this mode (here the umask counts). One that is there
 * is left as it is. */
int env_make_dir(const struct env *env, int dir, const char *path, mode_t mode,
		 struct strata_error *err);

/* ---- processes (env_spawn.c) ---- */

/*
 * Starts a program. It gets default signal dispositions, an empty signal mask, and the three descriptors. When it
 * cannot be started (no such program, no right to it, no such directory) this call says so, and no process is left.
 */
int env_spawn(const struct env *env, const struct env_command *command,
	      struct env_process *ret_process, struct strata_error *err);

/* How a child ended; ENV_RUNNING, without `block`, when it has not. Waits for this one only, and once: -ECHILD after
 * that. */
int env_wait(const struct env *env, const struct env_process *process, bool block,
	     struct env_exit *ret_exit, struct strata_error *err);

/* Sends a signal to a process, or with `group` to the process group that it leads. -ESRCH when it is gone. */
int env_signal(const struct env *env, const struct env_process *process, int signal, bool group,
	       struct strata_error *err);

/* Gives back the pidfd. The process is not touched. */
void env_process_close(const struct env *env, struct env_process *process);

#endif
