/* Opening ONNX Runtime: see ort_api.h. */
#include "engine/ort_api.h"

#include "core/env_trust.h"
#include "engine/ort_find.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What OrtGetApiBase gives. */
struct base {
	void *const *(*api)(
		uint32_t version); /* NULL, and a line on stderr, for one that it lacks */
	const char *(*version)(void);
};

/* "1.31.1" is at least 1.12: asking for an API that a library lacks makes it print, so its
 * version is looked at first. */
static bool is_new_enough(const char *version)
{
	unsigned major = 0, minor = 0;

	return sscanf(version, "%u.%u", &major, &minor) == 2 &&
	       (major > 1 || minor >= ORT_API_VERSION);
}

static void fill(struct ort *ort, void *const *slots)
{
	memcpy(&ort->message, &slots[2], sizeof(void *));
#define ORT_FILL(slot, name, rest) memcpy(&ort->name, &slots[slot], sizeof(void *));
	ORT_CALLS(ORT_FILL)
	ORT_RELEASES(ORT_FILL)
#undef ORT_FILL
}

static int start(struct ort *ort, const char *name, struct strata_error *err)
{
	struct ort_status *status = ort->create_env(ORT_LOG_FATAL, "strata", &ort->env);

	if (!status)
		status = ort->create_cpu_memory_info(ORT_DEVICE_ALLOCATOR, ORT_MEMORY_DEFAULT,
						     &ort->cpu);
	return ort_fail(ort, status, -ENOSYS, name, err);
}

int ort_open(const char *name, struct ort *ret_ort, struct strata_error *err)
{
	const struct base *(*get_base)(void);
	struct ort ort = { 0 };
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return strata_fail(err, -ENOENT, "%.300s", dlerror());
	void *symbol = dlsym(library, "OrtGetApiBase");

	memcpy(&get_base, &symbol, sizeof(symbol));
	const struct base *base = symbol ? get_base() : NULL;

	if (!base)
		return strata_fail(err, -ENOSYS,
				   "%.200s is not ONNX Runtime: it lacks OrtGetApiBase", name);
	ort.version = base->version();
	void *const *slots = is_new_enough(ort.version) ? base->api(ORT_API_VERSION) : NULL;

	if (!slots)
		return strata_fail(err, -ENOSYS,
				   "%.200s is ONNX Runtime %.16s; 1.%d or newer is needed", name,
				   ort.version, ORT_API_VERSION);
	fill(&ort, slots);
	int rc = start(&ort, name, err);

	if (rc)
		ort_close(&ort);
	else
		*ret_ort = ort;
	return rc;
}

void ort_close(struct ort *ort)
{
	if (ort->cpu)
		ort->release_memory_info(ort->cpu);
	if (ort->env)
		ort->release_env(ort->env);
	*ort = (struct ort){ 0 };
}

int ort_fail(const struct ort *ort, struct ort_status *status, int rc, const char *what,
	     struct strata_error *err)
{
	char text[STRATA_ERROR_TEXT_BYTES];

	if (!status)
		return 0;
	snprintf(text, sizeof(text), "%s", ort->message(status));
	text[strcspn(text, "\n")] = 0;
	ort->release_status(status);
	return strata_fail(err, rc, "%.200s: %s", what, text);
}

/* ---- the one of this process ---- */

static struct {
	pthread_mutex_t lock;
	struct ort ort; /* env NULL: not found yet */
	char path[PATH_MAX];
} the = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct attempt {
	bool named; /* by the user: whatever is wrong with it is said */
	int rc;
	struct strata_error err; /* of the first library that is there and will not do */
};

/* What was found and not named runs with our rights: a process of root's takes it only from where
 * nobody else can put something. */
static bool try_open(void *context, const char *path)
{
	struct attempt *attempt = context;
	struct strata_error why;
	bool found = !attempt->named && strchr(path, '/');
	int rc = found && geteuid() == 0
			 ? env_trust_check(path, ENV_TRUST_FILE, "ONNX Runtime's library", &why)
			 : 0;

	if (rc == 0)
		rc = ort_open(path, &the.ort, &why);
	if (rc == 0)
		snprintf(the.path, sizeof(the.path), "%s", path);
	else if ((attempt->named || found) && attempt->rc == 0) {
		attempt->rc = rc;
		attempt->err = why;
	}
	return rc == 0;
}

static int find_one(struct strata_error *err)
{
	const struct ort_places places = ort_places_of_process();
	struct attempt attempt = { .named = places.named && places.named[0] };

	if (ort_find(&places, try_open, &attempt))
		return 0;
	if (attempt.rc)
		return strata_fail(err, -ENOENT, "ONNX Runtime cannot be used: %.300s",
				   attempt.err.text);
	return strata_fail(
		err, -ENOENT,
		"ONNX Runtime was not found; `pip install onnxruntime`, or set "
		"STRATA_ONNXRUNTIME to the path of libonnxruntime.so, or use the backend native");
}

int ort_get(const struct ort **ret_ort, const char **ret_path, struct strata_error *err)
{
	pthread_mutex_lock(&the.lock);
	int rc = the.ort.env ? 0 : find_one(err);

	pthread_mutex_unlock(&the.lock);
	if (rc)
		return rc;
	*ret_ort = &the.ort;
	if (ret_path)
		*ret_path = the.path;
	return 0;
}
