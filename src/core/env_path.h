/*
 * The one door for paths that users give: output, input, checkpoints, directories. A process of root's opens them with the user's
 * rights (the file-system identity of the thread), and that alone is not enough: /proc/self is then the process's own, and so are
 * its descriptors, its memory and what its capabilities open. So no magic link is followed, nothing on a file system of the
 * kernel's is opened, and what was opened is looked at by its descriptor, never by its name again.
 */
#ifndef CORE_ENV_PATH_H
#define CORE_ENV_PATH_H

#include <strata/error.h>

#include <fcntl.h>
#include <sys/types.h>

enum env_path_kind {
	ENV_PATH_FILE,     /* a regular file, /dev/null, or a terminal that is named as such */
	ENV_PATH_DIR,      /* a directory */
	ENV_PATH_FILE_DIR, /* a regular file or a directory */
};

/*
 * Opens a path relative to `dir`. Never waits for the other end of a pipe, never becomes the owner of a terminal; with O_TRUNC a file is emptied
 * once it is known to be one. A descriptor, or a negative code and in `err` the reason alone, to stand behind
 * "cannot open …: ". Between env_as_user_begin and _end it is done with that user's rights.
 */
int env_path_open(int dir, const char *path, enum env_path_kind kind, int flags, mode_t mode,
		  struct strata_error *err);

/* From here to _end this thread, of a process of root's, touches files with the user's rights and no more; its groups are the caller's
 * matter. Nobody can signal or trace the process as if it were that user's. */
void env_as_user_begin(uid_t uid, gid_t gid);
void env_as_user_end(void);

#endif
