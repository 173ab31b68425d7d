/*
 * Checkpoints a job wrote. The contract: it writes under a name that begins with a dot or ends in
 * .tmp or .part, then renames; so whatever has another name is whole. The newest is told apart by
 * name, inode and time, so that one written over an older one counts too. Beside the directory a
 * record is kept, DIRECTORY.json, by which the next run finds it.
 */
#ifndef EXEC_SAVED_H
#define EXEC_SAVED_H

#include "exec/launch.h"
#include "exec/record.h"

enum { SAVED_NAME_BYTES = 256 };

/* The newest checkpoint of a directory. */
struct saved {
	char name[SAVED_NAME_BYTES]; /* "": none */
	ino_t inode;
	int64_t written_ns; /* its time of modification, since 1970 */
	int64_t dir_ns;     /* the directory's: nothing is new while it stays */
	int64_t size_bytes; /* of the file, or of all files below it */
};

/* Looks with the user's rights; true when there is one that `last` was not, which it then is. */
bool saved_look(const struct launch_user *user, const char *checkpoint_dir, struct saved *last);

/* Writes the record of a checkpoint: beside the directory, with the user's rights unless it is in a
 * place of the service's. */
int saved_record(const struct env *env, const struct launch_user *user,
		 const struct exec_order *order, const struct record_checkpoint *checkpoint,
		 struct strata_memory *memory, struct strata_error *err);

#endif
