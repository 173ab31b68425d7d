/*
 * Where ONNX Runtime's library may be: where STRATA_ONNXRUNTIME says, where the system looks for
 * libraries, and in Python's site-packages (of the virtual environment that is on, of the python3
 * on PATH, of the user), because `pip install onnxruntime` is how most get it. Only directories are
 * looked at; no Python is run.
 */
#ifndef ENGINE_ORT_FIND_H
#define ENGINE_ORT_FIND_H

#include <stdbool.h>

struct ort_places {              /* each may be NULL; borrowed */
	const char *named;       /* STRATA_ONNXRUNTIME: nothing else is tried */
	const char *virtual_env; /* VIRTUAL_ENV */
	const char *path;        /* PATH; entries that are not absolute are left out */
	const char *home;        /* HOME */
};
struct ort_places ort_places_of_process(void);

/* Hands out names and paths, best first, until one is accepted. Names without '/' are for the
 * system's search. Of several versions in one directory, the newest comes first. */
bool ort_find(const struct ort_places *places, bool (*accept)(void *context, const char *path),
	      void *context);

#endif
