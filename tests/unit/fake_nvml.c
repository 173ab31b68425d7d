/* NVIDIA's management library as tests want it: what it says comes from the variable FAKE_NVML, "GPUS", or "driver" for one that
 * finds no driver. GPUs are alternately of two kinds when it is "mixed". 0 and 1, 2 and 3 … are linked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
	unsigned long long total, free, used;
};

struct pci {
	char bus_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned room);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned room);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
int nvmlDeviceGetP2PStatus(void *one, void *two, int index, int *status);
const char *nvmlErrorString(int code);

struct use {
	unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(void *device, struct use *use);

static char devices[64];

static const char *mode(void)
{
	return getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "4";
}

static int number(void *device)
{
	return (int)((char *)device - devices);
}

int nvmlInit_v2(void)
{
	return strcmp(mode(), "driver") == 0 ? 9 : 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = strcmp(mode(), "mixed") == 0 ? 2 : (unsigned)atoi(mode());
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = devices + index;
	return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned room)
{
	int other = strcmp(mode(), "mixed") == 0 && number(device) % 2;

	snprintf(name, room, "%s", other ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-80GB");
	return 0;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned room)
{
	snprintf(uuid, room, "GPU-%d", number(device));
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
	(void)device;
	memory->total = 80ull << 30;
	memory->used = (unsigned long long)(number(device) + 1) << 30;
	return 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
	snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:0%X:00.0", 10 + number(device));
	return 0;
}

int nvmlDeviceGetP2PStatus(void *one, void *two, int index, int *status)
{
	*status = index == 2 && number(one) / 2 == number(two) / 2 ? 0 : 5;
	return 0;
}

const char *nvmlErrorString(int code)
{
	return code == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetUtilizationRates(void *device, struct use *use)
{
	use->gpu = 25 * (unsigned)(number(device) + 1);
	return strcmp(mode(), "4") == 0 ? 0 : 9;
}
