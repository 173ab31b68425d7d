/* A library that looks like ONNX Runtime from outside: FAKE_VERSION is what it says it is. Each
 * slot that is not made here ends the program when it is called. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char *fake_message(const void *status)
{
	return status;
}

static void *fake_create_env(int level, const char *name, void **out)
{
	(void)level;
	(void)name;
	*out = (void *)"env";
	return NULL;
}

static const void *fake_create_memory_info(int allocator, int memory, void **out)
{
	(void)allocator;
	(void)memory;
	*out = (void *)"cpu";
	return getenv("FAKE_ORT_FAILS") ? "no memory info\nin two lines" : NULL;
}

static void fake_release(void *object)
{
	(void)object;
}

typedef void slot(void);

static const void *get_api(uint32_t version)
{
	static slot *slots[256];

	if (version != 12 || FAKE_MINOR < 12) {
		printf("not ok 1 - a library was asked for what it lacks\n");
		exit(1);
	}
	for (size_t i = 0; i < 256; i++)
		slots[i] = abort;
	slots[2] = (slot *)fake_message;
	slots[3] = (slot *)fake_create_env;
	slots[69] = (slot *)fake_create_memory_info;
	for (size_t i = 92; i <= 101; i++)
		slots[i] = (slot *)fake_release;
	return slots;
}

static const char *get_version(void)
{
	return FAKE_VERSION;
}

__attribute__((visibility("default"))) const void *OrtGetApiBase(void);
const void *OrtGetApiBase(void)
{
	static const struct {
		const void *(*api)(uint32_t version);
		const char *(*version)(void);
	} base = { get_api, get_version };

	return &base;
}
