/*
 * Classes: one file adds one thing. A solver, a queue policy, a placement … is a constant struct whose first member
 * is a struct strata_class: its name, its aliases, one line about it and its option table. A kind is the sorted array
 * of the built-in classes of one sort; a registry is a kind plus what plug-ins added to it.
 *
 * A class with options is written name:key=value:key=value; several are separated by commas.
 *
 * A plug-in is a shared object that exports one symbol, `strata_plugin`, and is built against this header.
 */
#ifndef STRATA_CLASS_H
#define STRATA_CLASS_H

#include <strata/error.h>
#include <strata/memory.h>
#include <strata/option.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Raised whenever a class struct, an option row or a callback's contract changes. */
#define STRATA_ABI 4u

/* The first member, called `base`, of every kind's class struct. */
struct strata_class {
	const char *name;    /* lower case, digits and _ */
	const char *aliases; /* "Euler a, k_euler_a": names users know; may be NULL */
	const char *summary; /* one line, lower case, no full stop */
	size_t conf_size;    /* of the struct that options fills; 0 with options NULL */
	const struct strata_option *options; /* may be NULL: nothing to set */
};

struct strata_kind {
	const char *name;                          /* "noise" */
	const char *summary;                       /* one line */
	const struct strata_class *const *classes; /* built in, sorted by name, ended by NULL */
};

/* What a plug-in exports as `const struct strata_plugin strata_plugin`. */
struct strata_plugin {
	uint32_t abi;                              /* STRATA_ABI */
	const char *kind;                          /* name of the kind its classes belong to */
	const struct strata_class *const *classes; /* ended by NULL */
};

/* The kinds of this library, in the order of the documents; NULL past the end. */
const struct strata_kind *strata_kind_at(size_t index);
const struct strata_kind *strata_kind_find(const char *name);

/* The built-in classes of a kind and those that plug-ins added. Not thread-safe while plug-ins are loaded. */
struct strata_registry;
int strata_registry_new(const struct strata_kind *kind, struct strata_memory *memory,
			struct strata_registry **ret_registry, struct strata_error *err);
/* Classes that were found in it, and specs that were read with it, stay valid: the code of a plug-in that was loaded once stays
 * loaded until the process ends. NULL is nothing. */
void strata_registry_free(struct strata_registry *registry);

const struct strata_kind *strata_registry_kind(const struct strata_registry *registry);
/* Built-in ones first, by name, then plug-ins' in the order of loading; NULL past the end. */
const struct strata_class *strata_registry_at(const struct strata_registry *registry, size_t index);

/* By name or alias, whatever its case, spaces, '_' and '-'. -ENOENT with "did you mean". */
int strata_registry_find(const struct strata_registry *registry, const char *name, size_t length,
			 const struct strata_class **ret_class, struct strata_error *err);

/* Loads the classes of a shared object. A path without '/' is looked for in the current directory, never in the
 * system's. Refused, with nothing changed: another ABI number, another kind, a name that is taken, an option table
 * that contradicts itself. */
int strata_registry_load(struct strata_registry *registry, const char *path,
			 struct strata_error *err);

/* What kind of classes a shared object holds, without keeping it; refused when its ABI number is another. */
int strata_plugin_kind(const char *path, struct strata_arena *arena, const char **ret_kind,
		       struct strata_error *err);

/* Is the class well formed: names, option rows inside its struct, defaults in their ranges? */
int strata_class_check(const struct strata_class *cls, struct strata_error *err);

/* A class and its options, filled. */
struct strata_spec {
	const struct strata_class *cls; /* valid as long as the process */
	void *conf; /* conf_size bytes in the arena; NULL when the class has no options */
};

/* Reads name:key=value:… */
int strata_spec_read(const struct strata_registry *registry, const char *text, size_t length,
		     struct strata_arena *arena, struct strata_spec *ret_spec,
		     struct strata_error *err);

/* Reads spec,spec,…: at least one. */
int strata_spec_read_list(const struct strata_registry *registry, const char *text, size_t length,
			  struct strata_arena *arena, struct strata_spec **ret_specs,
			  size_t *ret_count, struct strata_error *err);

/* The same of a kind's built-in classes, without a registry:
 *
 *	strata_spec_build(&strata_noise_kind, "cuda:threads=1024", &arena, &spec, &err)
 *
 * Each level has a call that goes on from there to what is wanted of a spec: strata_solver_build, strata_pool_build,
 * strata_place_build, strata_stage_build. Programs with plug-ins read specs with registries. */
int strata_spec_build(const struct strata_kind *kind, const char *text, struct strata_arena *arena,
		      struct strata_spec *ret_spec, struct strata_error *err);
int strata_spec_build_list(const struct strata_kind *kind, const char *text,
			   struct strata_arena *arena, struct strata_spec **ret_specs,
			   size_t *ret_count, struct strata_error *err);

/* name:key=value:… with every option, in table order; read back it gives the same spec. */
int strata_spec_print(const struct strata_spec *spec, struct strata_arena *arena,
		      const char **ret_text, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
