/*
 * NVIDIA's GPUs, by their management library, which is opened at run time: a machine without GPUs has no such library, and a
 * program that runs on both cannot be linked with it. The declarations follow its documented binary interface.
 */
#include "machine/inventory.h"

#include <strata/text.h>

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NVML_NAME_BYTES = 96, NVML_P2P_NVLINK = 2, NVML_P2P_OK = 0 };

typedef struct nvml_device *nvml_device;

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_pci {
	char bus_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct nvml_use {
	unsigned gpu, memory; /* per cent of the last while */
};

struct nvml {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *count);
	int (*by_index)(unsigned index, nvml_device *device);
	int (*name)(nvml_device device, char *name, unsigned room);
	int (*uuid)(nvml_device device, char *uuid, unsigned room);
	int (*memory)(nvml_device device, struct nvml_memory *memory);
	int (*pci)(nvml_device device, struct nvml_pci *pci);
	int (*p2p)(nvml_device one, nvml_device two, int index, int *status); /* may be missing */
	int (*use)(nvml_device device, struct nvml_use *use); /* may be missing */
	const char *(*error)(int code);
};

/* ---- the library ---- */

static bool find(void *library, const char *name, void *slot)
{
	void *symbol = dlsym(library, name);

	memcpy(slot, &symbol, sizeof(symbol)); /* an object pointer where a function pointer is */
	return symbol;
}

static int open_nvml(struct nvml *nvml, const char *name, struct strata_error *err)
{
	*nvml = (struct nvml){ .library = dlopen(name, RTLD_NOW | RTLD_LOCAL) };
	if (!nvml->library)
		return strata_fail(err, -ENOENT, "no NVIDIA GPUs: %.200s", dlerror());
	void *library = nvml->library;

	find(library, "nvmlDeviceGetP2PStatus", &nvml->p2p);
	find(library, "nvmlDeviceGetUtilizationRates", &nvml->use);
	if (find(library, "nvmlInit_v2", &nvml->init) &&
	    find(library, "nvmlShutdown", &nvml->shutdown) &&
	    find(library, "nvmlDeviceGetCount_v2", &nvml->count) &&
	    find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->by_index) &&
	    find(library, "nvmlDeviceGetName", &nvml->name) &&
	    find(library, "nvmlDeviceGetUUID", &nvml->uuid) &&
	    find(library, "nvmlDeviceGetMemoryInfo", &nvml->memory) &&
	    find(library, "nvmlDeviceGetPciInfo_v3", &nvml->pci) &&
	    find(library, "nvmlErrorString", &nvml->error))
		return 0;
	int rc = strata_fail(err, -ENOSYS, "%.200s lacks a function: %.100s", name, dlerror());

	dlclose(library);
	return rc;
}

static int fail(const struct nvml *nvml, int code, const char *what, struct strata_error *err)
{
	return strata_fail(err, -ENODEV, "no NVIDIA GPUs: %s: %.200s", what, nvml->error(code));
}

/* ---- one GPU ---- */

static bool is_noise(const char *word, size_t length)
{
	static const char *const words[] = { "nvidia",   "geforce",    "tesla", "quadro",
					     "graphics", "generation", "pcie",  "sxm",
					     "nvl",      "laptop",     "gpu",   "device" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == length && strncasecmp(word, words[i], length) == 0)
			return true;
	if (length > 3 && strncasecmp(word, "hbm", 3) == 0)
		return true;
	/* "80GB" */
	return length > 2 && isdigit((unsigned char)word[0]) &&
	       strncasecmp(word + length - 2, "gb", 2) == 0;
}

void inventory_gpu_type(const char *name, char *ret_type, size_t room)
{
	size_t used = 0;

	ret_type[0] = '\0';
	while (*name) {
		size_t length = strcspn(name, " "),
		       word = strcspn(name, " -"); /* "A100-SXM4-80GB" */

		if (word && !is_noise(name, word) && used + word + 2 < room) {
			if (used)
				ret_type[used++] = '_';
			for (size_t i = 0; i < word; i++)
				ret_type[used++] = (char)tolower((unsigned char)name[i]);
			ret_type[used] = '\0';
		}
		name += length + (name[length] != '\0');
	}
	if (!used)
		snprintf(ret_type, room, "gpu");
}

/* The NUMA domain of a PCI device; 0 where the kernel does not know. Its directory has four digits of domain, NVML eight. */
static uint32_t read_numa(const char *sys, const char *bus_id)
{
	char path[PATH_MAX], text[32];
	size_t skip = strlen(bus_id) > 12 ? strlen(bus_id) - 12 : 0;
	int64_t domain = 0;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/numa_node", sys, bus_id + skip);
	for (char *c = path + strlen(sys); *c; c++)
		*c = (char)tolower((unsigned char)*c);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[got < 0 ? 0 : got] = '\0';
	if (strata_int_parse(text, strcspn(text, "\n"), 0, UINT8_MAX, &domain, NULL))
		return 0;
	return (uint32_t)domain;
}

static int read_gpu(const struct nvml *nvml, const char *sys, nvml_device device,
		    struct strata_arena *arena, struct inventory_gpu *gpu, struct strata_error *err)
{
	char name[NVML_NAME_BYTES] = "", uuid[INVENTORY_UUID_BYTES] = "", type[NVML_NAME_BYTES];
	struct nvml_memory memory = { 0 };
	struct nvml_pci pci = { 0 };
	int code = nvml->name(device, name, sizeof(name));

	if (!code)
		code = nvml->uuid(device, uuid, sizeof(uuid));
	if (!code)
		code = nvml->memory(device, &memory);
	if (!code)
		code = nvml->pci(device, &pci);
	if (code)
		return fail(nvml, code, "a GPU does not answer", err);
	pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
	inventory_gpu_type(name, type, sizeof(type));
	*gpu = (struct inventory_gpu){
		.type = strata_arena_text(arena, type, strlen(type)),
		.uuid = strata_arena_text(arena, uuid, strnlen(uuid, sizeof(uuid))),
		.memory_bytes = (int64_t)memory.total,
		.numa = read_numa(sys, pci.bus_id),
	};
	return gpu->type && gpu->uuid ? 0 : strata_fail_memory(err);
}

/* Those with a direct link, be it over others, get the same number. */
static void find_groups(const struct nvml *nvml, const nvml_device *devices,
			struct inventory_gpu *gpus, uint32_t count)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; nvml->p2p && i < count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			int status = -1;

			if (nvml->p2p(devices[i], devices[k], NVML_P2P_NVLINK, &status) ||
			    status != NVML_P2P_OK)
				continue;
			uint32_t old = gpus[i].group, keep = gpus[k].group ? gpus[k].group : old;

			keep = keep ? keep : ++groups;
			for (uint32_t j = 0; j <= i; j++)
				if (old && gpus[j].group == old)
					gpus[j].group = keep;
			gpus[i].group = gpus[k].group = keep;
		}
	}
}

static int read_all(const struct nvml *nvml, const char *sys, struct strata_arena *arena,
		    struct inventory_gpu *gpus, uint32_t room, uint32_t *ret_count,
		    struct strata_error *err)
{
	nvml_device devices[STRATA_NODE_GPUS_MAX];
	unsigned count = 0;
	int code = nvml->count(&count);

	if (code)
		return fail(nvml, code, "they cannot be counted", err);
	if (count > room || count > STRATA_NODE_GPUS_MAX)
		return strata_fail(err, -E2BIG, "%u GPUs; at most %u can be used", count, room);
	for (unsigned i = 0; i < count; i++) {
		code = nvml->by_index(i, &devices[i]);
		if (code)
			return fail(nvml, code, "a GPU does not answer", err);
		int rc = read_gpu(nvml, sys, devices[i], arena, &gpus[i], err);

		if (rc)
			return rc;
	}
	find_groups(nvml, devices, gpus, count);
	*ret_count = count;
	return 0;
}

int inventory_read_nvml(const char *library, const char *sys, struct strata_arena *arena,
			struct inventory_gpu *ret_gpus, uint32_t room, uint32_t *ret_count,
			struct strata_error *err)
{
	struct nvml nvml;
	int rc = open_nvml(&nvml, library, err);

	if (rc)
		return rc;
	int code = nvml.init();

	if (code) {
		rc = fail(&nvml, code, "the driver does not answer", err);
	} else {
		rc = read_all(&nvml, sys, arena, ret_gpus, room, ret_count, err);
		nvml.shutdown();
	}
	dlclose(nvml.library);
	return rc;
}

/* ---- how busy they are ---- */

struct inventory_meter {
	struct nvml nvml;
	nvml_device devices[STRATA_NODE_GPUS_MAX];
	uint32_t count;
};

static int open_meter(struct inventory_meter *meter, uint64_t gpus, struct strata_error *err)
{
	const struct nvml *nvml = &meter->nvml;
	unsigned count = 0;
	int code = nvml->init();

	if (code)
		return fail(nvml, code, "the driver does not answer", err);
	if (nvml->use && nvml->count(&count) == 0)
		for (unsigned i = 0; i < count && i < 64 && meter->count < STRATA_NODE_GPUS_MAX; i++)
			if (gpus >> i & 1 &&
			    nvml->by_index(i, &meter->devices[meter->count]) == 0)
				meter->count++;
	if (meter->count)
		return 0;
	nvml->shutdown();
	return strata_fail(err, -ENODEV, "NVIDIA's library does not tell how busy these GPUs are");
}

int inventory_meter_open(const char *library, uint64_t gpus, struct inventory_meter **ret_meter,
			 struct strata_error *err)
{
	struct inventory_meter *meter = calloc(1, sizeof(*meter));
	int rc = meter ? open_nvml(&meter->nvml, library, err) : strata_fail_memory(err);

	if (rc == 0) {
		rc = open_meter(meter, gpus, err);
		if (rc)
			dlclose(meter->nvml.library);
	}
	if (rc)
		free(meter);
	else
		*ret_meter = meter;
	return rc;
}

uint32_t inventory_meter_gpus(const struct inventory_meter *meter)
{
	return meter->count;
}

bool inventory_meter_read(struct inventory_meter *meter, int64_t *ret_busy_milli,
			  int64_t *ret_memory_bytes)
{
	int64_t busy_milli = 0, memory_bytes = 0;

	for (uint32_t i = 0; i < meter->count; i++) {
		struct nvml_use use = { 0 };
		struct nvml_memory memory = { 0 };

		if (meter->nvml.use(meter->devices[i], &use) ||
		    meter->nvml.memory(meter->devices[i], &memory) || use.gpu > 100)
			return false;
		busy_milli += 10 * (int64_t)use.gpu;
		memory_bytes += (int64_t)memory.used;
	}
	*ret_busy_milli = busy_milli;
	*ret_memory_bytes = memory_bytes;
	return true;
}

void inventory_meter_close(struct inventory_meter *meter)
{
	if (!meter)
		return;
	meter->nvml.shutdown();
	dlclose(meter->nvml.library);
	free(meter);
}
