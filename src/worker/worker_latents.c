/* The envelope of worker_latents.h: a head, then what the pipeline saves. Written and read on one
 * kind of machine, by one version of the program. */
#include "worker/worker_latents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct head {
	char magic[8];
	uint64_t key, size_bytes, sum;
};

static const char magic[8] = "stlaten1";

/* FNV-1a: finds what is torn; nobody else can write the file. */
static uint64_t add_bytes(uint64_t sum, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum = (sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static uint64_t sum_of(const void *bytes, size_t count)
{
	return add_bytes(UINT64_C(0xcbf29ce484222325), bytes, count);
}

uint64_t worker_latents_key(const char *model, const struct worker_task *task)
{
	char *text = json_dumps(task->parameters, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		return 0;
	uint64_t key = sum_of(STRATA_VERSION, sizeof(STRATA_VERSION));

	key = add_bytes(key, model, strlen(model) + 1);
	key = add_bytes(key, &task->id, sizeof(task->id));
	key = add_bytes(key, &task->seed, sizeof(task->seed));
	key = add_bytes(key, text, strlen(text));
	free(text);
	return key ? key : 1;
}

int worker_latents_save(const struct strata_pipeline_run *run, uint64_t key, struct buf *bytes,
			struct strata_error *err)
{
	struct head head = { .key = key };
	struct strata_arena arena;
	size_t count = 0;
	void *saved;

	if (!key)
		return strata_fail_memory(err);
	strata_arena_init(&arena, bytes->memory, 0);
	int rc = strata_pipeline_save(run, &arena, &saved, &count, err);

	if (rc == 0 && count > STRATA_LATENTS_BYTES_MAX - sizeof(head))
		rc = strata_fail(err, -E2BIG, "the latents have %zu bytes; at most %d are kept",
				 count, STRATA_LATENTS_BYTES_MAX);
	if (rc == 0) {
		memcpy(head.magic, magic, sizeof(magic));
		head.size_bytes = count;
		head.sum = sum_of(saved, count);
		buf_add_bytes(bytes, (const char *)&head, sizeof(head));
		buf_add_bytes(bytes, saved, count);
		rc = buf_check(bytes, err);
	}
	strata_arena_fini(&arena);
	return rc;
}

int worker_latents_restore(struct strata_pipeline_run *run, uint64_t key, const void *bytes,
			   size_t count, struct strata_error *err)
{
	struct head head;

	if (count < sizeof(head))
		return strata_fail(err, -EBADMSG, "they have %zu bytes and are torn", count);
	memcpy(&head, bytes, sizeof(head));
	const char *saved = (const char *)bytes + sizeof(head);

	if (memcmp(head.magic, magic, sizeof(magic)) != 0)
		return strata_fail(err, -EBADMSG, "they are of another program or version");
	if (!key || head.key != key)
		return strata_fail(err, -EBADMSG, "they are of another task or version");
	if (head.size_bytes != count - sizeof(head) ||
	    head.sum != sum_of(saved, count - sizeof(head)))
		return strata_fail(err, -EBADMSG, "they are torn");
	return strata_pipeline_restore(run, saved, count - sizeof(head), err);
}
