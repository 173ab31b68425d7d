/*
 * ONNX Runtime's C interface, as far as we use it. Their library hands out one struct of function
 * pointers that only ever grows, so a client needs the numbers of its slots and declarations of its
 * own. It is opened at run time and never linked; no header of theirs is needed.
 */
#ifndef ENGINE_ORT_API_H
#define ENGINE_ORT_API_H

#include <strata/error.h>

#include <stddef.h>
#include <stdint.h>

struct ort_status; /* NULL: it went well */
struct ort_env;
struct ort_session;
struct ort_session_options;
struct ort_run_options;
struct ort_memory_info;
struct ort_value;
struct ort_shape_info;
struct ort_cuda_options;

enum {
	ORT_API_VERSION = 12, /* the first that has all slots below: ONNX Runtime 1.12 */
	ORT_LOG_FATAL = 4,    /* anything less comes back as a status */
	ORT_DEVICE_ALLOCATOR = 0,
	ORT_MEMORY_DEFAULT = 0,
	ORT_TYPE_TENSOR = 1,
};

/* Functions that give a status: slot, name, parameters. Element types are numbered like those of
 * the file format. */
#define ORT_CALLS(X)                                                                             \
	X(3, create_env, (int level, const char *name, struct ort_env **out))                    \
	X(7, create_session_of_file,                                                             \
	  (struct ort_env * env, const char *path, const struct ort_session_options *options,    \
	   struct ort_session **out))                                                            \
	X(8, create_session,                                                                     \
	  (struct ort_env * env, const void *bytes, size_t length,                               \
	   const struct ort_session_options *options, struct ort_session **out))                 \
	X(9, run,                                                                                \
	  (struct ort_session * session, const struct ort_run_options *options,                  \
	   const char *const *input_names, const struct ort_value *const *inputs,                \
	   size_t input_count, const char *const *output_names, size_t output_count,             \
	   struct ort_value **outputs))                                                          \
	X(10, create_session_options, (struct ort_session_options * *out))                       \
	X(19, disable_cpu_arena, (struct ort_session_options * options))                         \
	X(23, set_optimization, (struct ort_session_options * options, int level))               \
	X(24, set_intra_threads, (struct ort_session_options * options, int count))              \
	X(25, set_inter_threads, (struct ort_session_options * options, int count))              \
	X(39, create_run_options, (struct ort_run_options * *out))                               \
	X(46, set_terminate, (struct ort_run_options * options))                                 \
	X(47, unset_terminate, (struct ort_run_options * options))                               \
	X(49, create_tensor,                                                                     \
	  (const struct ort_memory_info *info, void *data, size_t bytes, const int64_t *dims,    \
	   size_t rank, int dtype, struct ort_value **out))                                      \
	X(51, tensor_data, (struct ort_value * value, void **out))                               \
	X(60, shape_dtype, (const struct ort_shape_info *info, int *out))                        \
	X(61, shape_rank, (const struct ort_shape_info *info, size_t *out))                      \
	X(62, shape_dims, (const struct ort_shape_info *info, int64_t *dims, size_t rank))       \
	X(65, tensor_shape, (const struct ort_value *value, struct ort_shape_info **out))        \
	X(67, value_type, (const struct ort_value *value, int *out))                             \
	X(69, create_cpu_memory_info, (int allocator, int memory, struct ort_memory_info **out)) \
	X(130, add_config,                                                                       \
	  (struct ort_session_options * options, const char *key, const char *value))            \
	X(204, append_cuda,                                                                      \
	  (struct ort_session_options * options, const struct ort_cuda_options *cuda))           \
	X(205, create_cuda_options, (struct ort_cuda_options * *out))                            \
	X(206, update_cuda_options,                                                              \
	  (struct ort_cuda_options * cuda, const char *const *keys, const char *const *values,   \
	   size_t count))                                                                        \
	X(210, add_external_initializers,                                                        \
	  (struct ort_session_options * options, const char *const *names,                       \
	   const struct ort_value *const *values, size_t count))

/* Functions that free: slot, name, what. NULL is nothing to them. */
#define ORT_RELEASES(X)                         \
	X(92, release_env, env)                 \
	X(93, release_status, status)           \
	X(94, release_memory_info, memory_info) \
	X(95, release_session, session)         \
	X(96, release_value, value)             \
	X(97, release_run_options, run_options) \
	X(99, release_shape_info, shape_info)   \
	X(100, release_session_options, session_options) \
	X(208, release_cuda_options, cuda_options)

struct ort {
	const char *version; /* of the library: "1.31.1"; its own text */
	const char *(*message)(const struct ort_status *status); /* slot 2 */
#define ORT_CALL(slot, name, parameters) struct ort_status *(*name)parameters;
	ORT_CALLS(ORT_CALL)
#undef ORT_CALL
#define ORT_RELEASE(slot, name, what) void (*name)(struct ort_##what * object);
	ORT_RELEASES(ORT_RELEASE)
#undef ORT_RELEASE
	struct ort_env *env;         /* one for the process: theirs counts its users */
	struct ort_memory_info *cpu; /* "in main memory" */
};

/* Opens a library by path or, without '/', by the system's search. -ENOENT when there is none,
 * -ENOSYS when it is not ONNX Runtime or too old. It stays loaded until the process ends,
 * because its threads may outlive all that used them. */
int ort_open(const char *name, struct ort *ret_ort, struct strata_error *err);
void ort_close(struct ort *ort);

/* The one that this process uses: found at the first call (ort_find.h), then kept. *ret_ort and
 * *ret_path are valid until the process ends; ret_path may be NULL. -ENOENT says how to get it.
 * From any thread. */
int ort_get(const struct ort **ret_ort, const char **ret_path, struct strata_error *err);

/* The sentence of a status, which is released: "what: theirs". Returns rc. 0 when the status is
 * NULL. */
int ort_fail(const struct ort *ort, struct ort_status *status, int rc, const char *what,
	     struct strata_error *err);

#endif
