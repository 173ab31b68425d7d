/*
 * Pipelines by name: a folder is taken as it is; a plain name is looked for where models are: in the directories of STRATA_MODELS, beside a program that was
 * built in its tree (models/), among what was installed with it (share/strata/models). So `strata engine image digits` works wherever it is typed.
 */
#ifndef ENGINE_MODEL_FIND_H
#define ENGINE_MODEL_FIND_H

#include <strata/error.h>
#include <strata/memory.h>

struct model_places {          /* each may be NULL; borrowed */
	const char *named;     /* STRATA_MODELS: directories with ':' between them */
	const char *program;   /* the path of this program */
	const char *installed; /* where this build's models are installed */
};
/* What holds for this process; the program's path is in the arena. -ENOMEM. */
int model_places_of_process(struct strata_arena *arena, struct model_places *ret_places,
			    struct strata_error *err);

/* The folder with a model_index.json that `name` stands for, in the arena. -ENOENT where there is none, with the names that there are. */
int model_find(const struct model_places *places, const char *name, struct strata_arena *arena,
	       const char **ret_folder, struct strata_error *err);

#endif
