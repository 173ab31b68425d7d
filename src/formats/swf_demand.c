/* Demands in the header of a log: see swf_demand.h. An option table describes them, as it does
 * every key=value in this project. */
#include "formats/swf_demand.h"

#include "core/option.h"
#include "core/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEY "Demand"
enum { MODELS_BYTES_MAX = 1024 };

#define FIELD(field) offsetof(struct swf_demand, field)

static const struct strata_option demand_options[] = {
	{ "nodes", STRATA_INT, FIELD(nodes), .integer = { 1, 1, 1 << 20 },
	  .help = "nodes, all at once" },
	{ "gpus", STRATA_INT, FIELD(gpus), .integer = { 0, 0, 1024 }, .help = "GPUs on each node" },
	{ "gpu_milli", STRATA_INT, FIELD(gpu_milli), .integer = { 1000, 1, 1000 },
	  .help = "thousandths of each GPU; below 1000 a single one is shared" },
	{ "cpu_milli", STRATA_INT, FIELD(cpu_milli), .integer = { 0, 0, 1000000000 },
	  .help = "thousandths of a CPU on each node" },
	{ "memory_mib", STRATA_INT, FIELD(memory_mib),
	  .integer = { 0, 0, SWF_DEMAND_MEMORY_MIB_MAX }, .help = "memory on each node",
	  .unit = "MiB" },
	{ "gpu_models", STRATA_TEXT, FIELD(gpu_models), .text = { "", MODELS_BYTES_MAX },
	  .help = "allowed models, separated by |" },
	{ 0 }
};

static const struct strata_schema demand_schema = { "demand", NULL, sizeof(struct swf_demand),
						    demand_options };

static int fail_note(const struct strata_swf_note *note, const char *why, struct strata_error *err)
{
	char text[STRATA_ERROR_TEXT_BYTES];

	memcpy(text, why, strnlen(why, sizeof(text) - 1) + 1); /* why may be err's own */
	return strata_fail(err, -EBADMSG, "line %" PRId64 ": " KEY ": %s", note->line, text);
}

static int read_demand(const struct strata_swf_note *note, struct strata_arena *arena,
		       struct swf_demand *demand, struct strata_error *err)
{
	struct strata_error why = { 0 };
	const char *options;
	char *end;

	errno = 0;
	int64_t executable = strtoll(note->value, &end, 10);

	if (end == note->value || errno || (*end && *end != ' '))
		return fail_note(note, "expected the number of an executable first", err);
	for (options = end; *options == ' ';)
		options++;
	int rc = strata_schema_defaults(&demand_schema, arena, demand, &why);

	if (rc == 0)
		rc = strata_schema_read_text(&demand_schema, options, strlen(options), arena,
					     demand, &why);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc)
		return fail_note(note, why.text, err);
	if (demand->gpu_milli < SWF_DEMAND_GPU_MILLI && (demand->gpus != 1 || demand->nodes != 1))
		return fail_note(note, "gpu_milli is below 1000; only a single GPU can be shared",
				 err);
	demand->executable = executable;
	return 0;
}

static int by_executable(const void *a_any, const void *b_any)
{
	const struct swf_demand *a = a_any, *b = b_any;

	return a->executable < b->executable ? -1 : a->executable > b->executable;
}

int swf_demand_read(const struct strata_swf *swf, struct strata_arena *arena,
		    struct swf_demand **ret_demands, size_t *ret_count, struct strata_error *err)
{
	size_t count = 0, room = 0;

	for (size_t i = 0; i < swf->note_count; i++)
		room += strcmp(swf->notes[i].key, KEY) == 0;
	struct swf_demand *demands = strata_arena_array(arena, room, sizeof(*demands));

	if (!demands)
		return strata_fail_memory(err);
	for (size_t i = 0; i < swf->note_count; i++) {
		if (strcmp(swf->notes[i].key, KEY) != 0)
			continue;
		int rc = read_demand(&swf->notes[i], arena, &demands[count++], err);

		if (rc)
			return rc;
	}
	qsort(demands, count, sizeof(*demands), by_executable);
	for (size_t i = 1; i < count; i++)
		if (demands[i - 1].executable == demands[i].executable)
			return strata_fail(err, -EBADMSG,
					   KEY ": executable %" PRId64 " has more than one",
					   demands[i].executable);
	*ret_demands = demands;
	*ret_count = count;
	return 0;
}

const struct swf_demand *swf_demand_find(const struct swf_demand *demands, size_t count,
					 int64_t executable)
{
	const struct swf_demand key = { .executable = executable };

	return count ? bsearch(&key, demands, count, sizeof(key), by_executable) : NULL;
}

/* The models as the reader takes them: what it would refuse is no demand. */
static int print_models(const char *models, struct buf *buf, struct strata_error *err)
{
	size_t length = strlen(models);

	if (length > MODELS_BYTES_MAX)
		return strata_fail(err, -EBADMSG,
				   "the GPU type is %zu bytes long; expected at most %d", length,
				   MODELS_BYTES_MAX);
	if (text_printable(models, length) < length)
		return strata_fail(err, -EBADMSG,
				   "the GPU type is '%.60s'; expected printable characters",
				   models);
	buf_add(buf, ":gpu_models=");
	option_print_piece(models, buf);
	return 0;
}

int swf_demand_note(const struct swf_demand *demand, struct strata_arena *arena,
		    struct strata_swf_note *ret_note, struct strata_error *err)
{
	const char *models = demand->gpu_models;
	struct strata_memory memory = { 0 };
	struct buf buf;
	int rc = 0;

	assert(demand->gpu_milli >= 1 && demand->gpu_milli <= SWF_DEMAND_GPU_MILLI);
	buf_init(&buf, &memory, 0);
	buf_printf(&buf,
		   "%" PRId64 " nodes=%" PRId64 ":gpus=%" PRId64 ":gpu_milli=%" PRId64
		   ":cpu_milli=%" PRId64 ":memory_mib=%" PRId64,
		   demand->executable, demand->nodes, demand->gpus, demand->gpu_milli,
		   demand->cpu_milli, demand->memory_mib);
	if (models && *models)
		rc = print_models(models, &buf, err);
	if (rc == 0)
		rc = buf_check(&buf, err);
	const char *value = rc ? NULL : strata_arena_text(arena, buf.text, buf.length);

	buf_fini(&buf);
	if (rc || !value)
		return rc ? rc : strata_fail_memory(err);
	*ret_note = (struct strata_swf_note){ .key = KEY, .value = value };
	return 0;
}
