/* The measurements of calibrate.h. */
#include <strata/machine.h>

#include <arpa/inet.h>
#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	SIDE = 768,                /* of the matrices: out of the second cache, quick enough */
	PLAIN_SIDE = 192,          /* of those for a plain loop */
	COPY_BYTES = 16 << 20,     /* per thread: out of every cache */
	MESSAGE_BYTES = 256 << 10, /* of the network */
	PING_COUNT = 200,
	THREADS_MAX = 64,
};

struct calibrate {
	const struct strata_measure_conf *conf;
	struct strata_memory *memory;
	hwloc_topology_t topology;
	uint32_t cores, domains;
	struct strata_error *err;
};

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void tell(const struct calibrate *calibrate, const char *what, double done)
{
	if (calibrate->conf->progress)
		calibrate->conf->progress(calibrate->conf->progress_context, what, done);
}

static int fail_here(const struct calibrate *calibrate, const char *what)
{
	int code = errno ? errno : EIO;

	return strata_fail(calibrate->err, -code, "%s: %s", what, strerror(code));
}

/* ---- multiplying ---- */

static void multiply_plainly(void *context, int n, const float *a, const float *b, float *c)
{
	(void)context;
	memset(c, 0, (size_t)n * (size_t)n * sizeof(*c));
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			for (int j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
}

typedef void matmul_call(void *context, int n, const float *a, const float *b, float *c);

/* Least time of one call, while there is time. */
static double time_call(const struct calibrate *calibrate, matmul_call *matmul, int n,
			float *matrices)
{
	int64_t end = now_ns() + calibrate->conf->time_ns;
	size_t size = (size_t)n * (size_t)n;
	double least = 1e18;

	do {
		int64_t begin = now_ns();

		matmul(calibrate->conf->matmul_context, n, matrices, matrices + size,
		       matrices + 2 * size);
		double took = (double)(now_ns() - begin);

		least = took < least ? took : least;
	} while (now_ns() < end);
	return least > 1 ? least : 1;
}

static int measure_matmul(const struct calibrate *calibrate, struct strata_measured *result)
{
	bool plain = !calibrate->conf->matmul;
	matmul_call *matmul = plain ? multiply_plainly : calibrate->conf->matmul;
	int n = plain ? PLAIN_SIDE : SIDE;
	size_t bytes = 3 * (size_t)n * (size_t)n * sizeof(float);
	float *matrices = strata_memory_get(calibrate->memory, bytes);

	if (!matrices)
		return strata_fail_memory(calibrate->err);
	for (size_t i = 0; i < 2 * (size_t)n * (size_t)n; i++)
		matrices[i] = (float)(i % 17) - 8;
	double took = time_call(calibrate, matmul, n, matrices);

	result->flops_per_s = 2e9 * n * n * n / took * (plain ? calibrate->cores : 1);
	result->overhead_ns = time_call(calibrate, matmul, 1, matrices);
	strata_memory_put(calibrate->memory, matrices, bytes);
	return 0;
}

/* ---- memory ---- */

struct copier {
	pthread_t thread;
	const char *from;
	char *to;
	int64_t time_ns;
	double bytes_per_s; /* read and written */
};

static void *copy(void *context)
{
	struct copier *copier = context;
	double bytes = 0;

	memcpy(copier->to, copier->from, COPY_BYTES); /* its pages are there from now on */
	int64_t begin = now_ns(), passed;

	do {
		memcpy(copier->to, copier->from, COPY_BYTES);
		bytes += 2.0 * COPY_BYTES;
		passed = now_ns() - begin;
	} while (passed < copier->time_ns);
	copier->bytes_per_s = bytes * 1e9 / (double)passed;
	return NULL;
}

/* All at once; a thread that cannot be had is done without. */
static double copy_at_once(struct copier *copiers, uint32_t count)
{
	double sum = 0;
	uint32_t running = 0;

	while (running + 1 < count &&
	       pthread_create(&copiers[running + 1].thread, NULL, copy, &copiers[running + 1]) == 0)
		running++;
	copy(&copiers[0]);
	for (uint32_t i = 0; i <= running; i++) {
		if (i > 0)
			pthread_join(copiers[i].thread, NULL);
		sum += copiers[i].bytes_per_s;
	}
	return sum;
}

static int measure_memory(const struct calibrate *calibrate, struct strata_measured *result)
{
	struct copier copiers[THREADS_MAX] = { 0 };
	uint32_t count = calibrate->cores < THREADS_MAX ? calibrate->cores : THREADS_MAX;
	size_t bytes = 2 * (size_t)count * COPY_BYTES;
	char *block = strata_memory_get(calibrate->memory, bytes);

	if (!block)
		return strata_fail_memory(calibrate->err);
	for (uint32_t i = 0; i < count; i++)
		copiers[i] = (struct copier){ .from = block + 2 * (size_t)i * COPY_BYTES,
					      .to = block + (2 * (size_t)i + 1) * COPY_BYTES,
					      .time_ns = calibrate->conf->time_ns };
	result->bytes_per_s = copy_at_once(copiers, count);
	strata_memory_put(calibrate->memory, block, bytes);
	return 0;
}

/* From the memory of one domain to that of another, by a processor of the second. 0: the system does not let us. */
static double measure_way(const struct calibrate *calibrate, hwloc_obj_t from, hwloc_obj_t to)
{
	struct copier copier = { .time_ns = calibrate->conf->time_ns /
					    ((int64_t)calibrate->domains * calibrate->domains) };
	char *there = hwloc_alloc_membind(calibrate->topology, COPY_BYTES, from->nodeset,
					  HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET);
	char *here = hwloc_alloc_membind(calibrate->topology, COPY_BYTES, to->nodeset,
					 HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET);

	if (there && here &&
	    hwloc_set_cpubind(calibrate->topology, to->cpuset, HWLOC_CPUBIND_THREAD) == 0) {
		memset(there, 1, COPY_BYTES);
		copier.from = there;
		copier.to = here;
		copy(&copier);
		hwloc_set_cpubind(calibrate->topology,
				  hwloc_topology_get_allowed_cpuset(calibrate->topology),
				  HWLOC_CPUBIND_THREAD);
	}
	if (there)
		hwloc_free(calibrate->topology, there, COPY_BYTES);
	if (here)
		hwloc_free(calibrate->topology, here, COPY_BYTES);
	return copier.bytes_per_s / 2; /* what arrives, not what is read and written */
}

static void measure_ways(const struct calibrate *calibrate, struct strata_measured *result)
{
	for (uint32_t i = 0; i < calibrate->domains; i++)
		for (uint32_t k = 0; k < calibrate->domains; k++) {
			hwloc_obj_t from =
				hwloc_get_obj_by_type(calibrate->topology, HWLOC_OBJ_NUMANODE, i);
			hwloc_obj_t to =
				hwloc_get_obj_by_type(calibrate->topology, HWLOC_OBJ_NUMANODE, k);
			double rate = i == k ? 0 : measure_way(calibrate, from, to);

			if (rate > 0 &&
			    (result->cross_bytes_per_s == 0 || rate < result->cross_bytes_per_s))
				result->cross_bytes_per_s = rate;
		}
}

/* ---- network ---- */

static bool move_all(int fd, char *bytes, size_t count, bool out)
{
	for (size_t done = 0; done < count;) {
		ssize_t some = out ? send(fd, bytes + done, count - done, MSG_NOSIGNAL)
				   : recv(fd, bytes + done, count - done, 0);

		if (some > 0)
			done += (size_t)some;
		else if (some == 0 || errno != EINTR)
			return false;
	}
	return true;
}

/* Sends back one byte for each that comes, as far as pings go; then swallows everything. */
static void *answer(void *context)
{
	char buffer[MESSAGE_BYTES / 4];
	int fd = *(int *)context;
	char byte;

	for (int i = 0; i < PING_COUNT; i++)
		if (!move_all(fd, &byte, 1, false) || !move_all(fd, &byte, 1, true))
			return NULL;
	while (recv(fd, buffer, sizeof(buffer), 0) > 0)
		;
	return NULL;
}

static bool ping_and_send(const struct calibrate *calibrate, int fd, char *message,
			  struct strata_measured *result)
{
	double least = 1e18, bytes = 0;
	char byte = 0;

	for (int i = 0; i < PING_COUNT; i++) {
		int64_t begin = now_ns();

		if (!move_all(fd, &byte, 1, true) || !move_all(fd, &byte, 1, false))
			return false;
		double way = (double)(now_ns() - begin) / 2;

		least = way < least ? way : least;
	}
	int64_t begin = now_ns(), passed;

	do {
		if (!move_all(fd, message, MESSAGE_BYTES, true))
			return false;
		bytes += MESSAGE_BYTES;
		passed = now_ns() - begin;
	} while (passed < calibrate->conf->time_ns);
	result->network_latency_ns = least;
	result->network_bytes_per_s = bytes * 1e9 / (double)passed;
	return true;
}

/* Two ends of a connection over the loopback device. */
static int connect_ends(const struct calibrate *calibrate, int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int rc = 0, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ends[1] = -1;
	if (listener < 0 || ends[0] < 0 || bind(listener, (void *)&address, length) ||
	    listen(listener, 1) || getsockname(listener, (void *)&address, &length) ||
	    connect(ends[0], (void *)&address, length) ||
	    (ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		rc = fail_here(calibrate, "the loopback network");
	if (listener >= 0)
		close(listener);
	return rc;
}

static int measure_network(const struct calibrate *calibrate, struct strata_measured *result)
{
	int ends[2] = { -1, -1 };
	char *message = strata_memory_get(calibrate->memory, MESSAGE_BYTES);
	pthread_t thread;
	int rc = message ? connect_ends(calibrate, ends) : strata_fail_memory(calibrate->err);

	if (rc == 0) {
		rc = pthread_create(&thread, NULL, answer, &ends[1]);
		if (rc)
			rc = strata_fail(calibrate->err, -rc, "cannot start a thread: %s",
					 strerror(rc));
	}
	if (rc == 0) {
		if (!ping_and_send(calibrate, ends[0], message, result))
			rc = fail_here(calibrate, "the loopback network");
		shutdown(ends[0], SHUT_RDWR);
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	strata_memory_put(calibrate->memory, message, MESSAGE_BYTES);
	return rc;
}

/* ---- all of it ---- */

static int measure_all(struct calibrate *calibrate, struct strata_measured *result)
{
	tell(calibrate, "multiplying", 0);
	int rc = measure_matmul(calibrate, result);

	tell(calibrate, "memory", 0.4);
	if (rc == 0)
		rc = measure_memory(calibrate, result);
	tell(calibrate, "ways between domains", 0.6);
	if (rc == 0)
		measure_ways(calibrate, result);
	tell(calibrate, "network", 0.8);
	if (rc == 0)
		rc = measure_network(calibrate, result);
	tell(calibrate, "done", 1);
	return rc;
}

static uint32_t count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	int count = hwloc_get_nbobjs_by_type(topology, type);

	return count < 1 ? 1 : (uint32_t)count;
}

int strata_machine_measure(const struct strata_measure_conf *conf, struct strata_memory *memory,
			   struct strata_measured *ret_result, struct strata_error *err)
{
	struct calibrate calibrate = { .conf = conf, .memory = memory, .err = err };
	struct strata_measured result = { 0 };

	if (hwloc_topology_init(&calibrate.topology) < 0)
		return strata_fail_memory(err);
	int rc = hwloc_topology_load(calibrate.topology) < 0
			 ? fail_here(&calibrate, "this machine cannot be explored")
			 : 0;

	if (rc == 0) {
		calibrate.cores = count_of(calibrate.topology, HWLOC_OBJ_CORE);
		calibrate.domains = count_of(calibrate.topology, HWLOC_OBJ_NUMANODE);
		rc = measure_all(&calibrate, &result);
	}
	hwloc_topology_destroy(calibrate.topology);
	if (rc == 0)
		*ret_result = result;
	return rc;
}
