/* The languages of -o and -O: whatever is asked for, columns can be printed. The first byte chooses the language. */
#include "slurm/output_format.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_x(struct buf *buf, const void *row)
{
	(void)row;
	buf_add(buf, "xyz");
}

static const struct slurm_field fields[] = {
	{ 'i', "jobid", "JOBID", write_x, .width = -12 },
	{ 'T', "state", "STATE", write_x, .whole = true, .width = 10 },
	{ .write = NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct slurm_format format;
	struct strata_arena arena;
	struct strata_error err;
	struct buf line;
	int rc;

	if (size == 0)
		return 0;
	strata_arena_init(&arena, &memory, 0);
	const char *text = strata_arena_text(&arena, (const char *)data + 1, size - 1);

	if (!text) {
		strata_arena_fini(&arena);
		return 0;
	}
	rc = data[0] == 'o' ? slurm_format_read(fields, text, &arena, &format, &err)
	     : data[0] == 'O'
		     ? slurm_format_read_names(fields, "format", text, &arena, &format, &err)
		     : slurm_format_read_list(fields, text, &arena, &format, &err);
	if (rc == 0) {
		buf_init(&line, &memory, 1 << 20);
		slurm_format_fit(&format, NULL, &memory);
		slurm_format_head(&format, &line);
		slurm_format_row(&format, NULL, &line);
		buf_fini(&line);
	} else {
		assert(err.code < 0 && err.text[0]);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
