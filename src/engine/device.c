/* Devices: see device.h. */
#include "engine/device.h"

#include "core/env.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAKES = 9 };

/* ---- reading ---- */

/* "0-3" or "2": these cores, all of which this process may use. */
static int read_cores(const char *text, size_t length, const cpu_set_t *allowed, cpu_set_t *ret_cores,
		      struct strata_error *err)
{
	char word[32];
	char *end;

	if (length == 0 || length >= sizeof(word))
		return strata_fail(err, -EINVAL, "'cpu:%.*s' is not a device; expected cpu:0 or cpu:0-3",
				   (int)(length < 40 ? length : 40), text);
	memcpy(word, text, length);
	word[length] = 0;
	long first = strtol(word, &end, 10), last = first;

	if (*end == '-')
		last = strtol(end + 1, &end, 10);
	if (*end || end == word || first < 0 || last < first || last >= CPU_SETSIZE)
		return strata_fail(err, -EINVAL, "'cpu:%s' is not a device; expected cpu:0 or cpu:0-3",
				   word);
	CPU_ZERO(ret_cores);
	for (long core = first; core <= last; core++) {
		if (!CPU_ISSET((size_t)core, allowed))
			return strata_fail(err, -EINVAL,
					   "cpu:%s: core %ld is not one that this process may use",
					   word, core);
		CPU_SET((size_t)core, ret_cores);
	}
	return 0;
}

/* "cuda:0": whether there is such a GPU is the backend's to say. */
static int read_gpu(const char *text, size_t length, struct strata_error *err)
{
	if (length == 1 && *text >= '0' && *text <= '9')
		return *text - '0';
	if (length == 2 && *text >= '1' && *text <= '9' && text[1] >= '0' && text[1] <= '9')
		return (*text - '0') * 10 + text[1] - '0';
	return strata_fail(err, -EINVAL, "'cuda:%.*s' is not a device; expected cuda:0 to cuda:99",
			   (int)(length < 40 ? length : 40), text);
}

static int read_device(const char *text, size_t length, const cpu_set_t *allowed,
		       struct engine_device *device, struct strata_error *err)
{
	device->gpu = -1;
	device->cores = *allowed;
	if (length == 3 && strncmp(text, "cpu", 3) == 0)
		return 0;
	if (length > 5 && strncmp(text, "cuda:", 5) == 0) {
		device->gpu = read_gpu(text + 5, length - 5, err);
		return device->gpu < 0 ? device->gpu : 0;
	}
	if (length > 4 && strncmp(text, "cpu:", 4) == 0)
		return read_cores(text + 4, length - 4, allowed, &device->cores, err);
	return strata_fail(err, -EINVAL, "'%.*s' is not a device; expected cpu, cpu:0, cpu:0-3 or cuda:0",
			   (int)(length < 40 ? length : 40), text);
}

int engine_devices_read(const char *text, struct engine_heap *heap, struct strata_arena *arena,
			struct engine_device **ret_devices, size_t *ret_count,
			struct strata_error *err)
{
	size_t count = 1, index = 0;
	cpu_set_t allowed;
	int rc = 0;

	for (const char *at = text; *at; at++)
		count += *at == ',';
	struct engine_device *devices = strata_arena_array(arena, count, sizeof(*devices));

	if (!devices)
		return strata_fail_memory(err);
	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		CPU_ZERO(&allowed);
		CPU_SET(0, &allowed);
	}
	while (rc == 0 && index < count) {
		size_t length = strcspn(text, ",");
		struct engine_device *device = &devices[index++];

		rc = read_device(text, length, &allowed, device, err);
		device->name = strata_arena_text(arena, text, length);
		device->heap = heap;
		device->team.thread_count = device->gpu >= 0 ? 1 : CPU_COUNT(&device->cores);
		device->inline_only = count == 1 && length == 3;
		if (rc == 0 && !device->name)
			rc = strata_fail_memory(err);
		text += length + 1;
	}
	if (rc)
		return rc;
	*ret_devices = devices;
	*ret_count = count;
	return 0;
}

/* ---- threads ---- */

static struct engine_work *next_work(struct engine_device *device)
{
	pthread_mutex_lock(&device->lock);
	while (!device->first && !device->ending)
		pthread_cond_wait(&device->wake, &device->lock);
	struct engine_work *work = device->first;

	if (work) {
		device->first = work->next;
		if (!device->first)
			device->last = NULL;
	}
	pthread_mutex_unlock(&device->lock);
	return work;
}

static void *serve(void *arg)
{
	struct engine_device *device = arg;
	struct engine_work *work;

	omp_set_num_threads(device->team.thread_count); /* for oneDNN, which asks for no number of its own */
	while ((work = next_work(device))) {
		int rc = work->run(work->arg, &work->err);

		pthread_mutex_lock(&device->lock);
		work->rc = rc;
		work->done = true;
		pthread_cond_broadcast(&device->finished);
		pthread_mutex_unlock(&device->lock);
	}
	return NULL;
}

static int start(struct engine_device *device, struct strata_error *err)
{
	pthread_attr_t attributes;

	pthread_mutex_init(&device->lock, NULL);
	pthread_cond_init(&device->wake, NULL);
	pthread_cond_init(&device->finished, NULL);
	if (device->inline_only)
		return 0;
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(device->cores), &device->cores);
	pthread_attr_setstacksize(&attributes, 8 << 20);
	int rc = pthread_create(&device->thread, &attributes, serve, device);

	pthread_attr_destroy(&attributes);
	if (rc)
		return strata_fail(err, -rc, "no thread for device %s: %s", device->name,
				   strerror(rc));
	device->has_thread = true;
	return 0;
}

/* ---- how long handing over takes ---- */

static int note_start(void *arg, struct strata_error *err)
{
	(void)err;
	*(int64_t *)arg = env_now_ns(env_system(), ENV_MONOTONIC);
	return 0;
}

static int by_time(const void *one, const void *two)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;

	return a < b ? -1 : a > b;
}

/* From handing over to the beginning of the work, on a thread that sleeps: the median of some. */
static int64_t measure_wake(struct engine_device *device)
{
	int64_t took_ns[WAKES];

	for (size_t i = 0; i < WAKES; i++) {
		int64_t started_ns = 0, given_ns = env_now_ns(env_system(), ENV_MONOTONIC);
		struct engine_work work = { .run = note_start, .arg = &started_ns };

		engine_device_give(device, &work);
		engine_device_wait(device, &work);
		took_ns[i] = started_ns - given_ns;
	}
	qsort(took_ns, WAKES, sizeof(took_ns[0]), by_time);
	return took_ns[WAKES / 2];
}

int engine_devices_start(struct engine_device *devices, size_t count, struct strata_error *err)
{
	for (size_t i = 0; i < count; i++) {
		int rc = start(&devices[i], err);

		if (rc) {
			engine_devices_end(devices, i + 1);
			return rc;
		}
	}
	for (size_t i = 0; count > 1 && i < count; i++)
		devices[i].wake_ns = measure_wake(&devices[i]);
	return 0;
}

void engine_devices_end(struct engine_device *devices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct engine_device *device = &devices[i];

		if (device->has_thread) {
			pthread_mutex_lock(&device->lock);
			device->ending = true;
			pthread_cond_signal(&device->wake);
			pthread_mutex_unlock(&device->lock);
			pthread_join(device->thread, NULL);
		}
		pthread_cond_destroy(&device->wake);
		pthread_cond_destroy(&device->finished);
		pthread_mutex_destroy(&device->lock);
	}
}

void engine_device_give(struct engine_device *device, struct engine_work *work)
{
	work->done = false;
	work->next = NULL;
	if (device->inline_only) {
		int before = omp_get_max_threads(); /* the caller's own: oneDNN asks for it */

		omp_set_num_threads(device->team.thread_count);
		work->rc = work->run(work->arg, &work->err);
		omp_set_num_threads(before);
		work->done = true;
		return;
	}
	pthread_mutex_lock(&device->lock);
	*(device->last ? &device->last->next : &device->first) = work;
	device->last = work;
	pthread_cond_signal(&device->wake);
	pthread_mutex_unlock(&device->lock);
}

void engine_device_wait(struct engine_device *device, struct engine_work *work)
{
	pthread_mutex_lock(&device->lock);
	while (!work->done)
		pthread_cond_wait(&device->finished, &device->lock);
	pthread_mutex_unlock(&device->lock);
}
