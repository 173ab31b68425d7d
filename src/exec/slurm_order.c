/*
 * An order as sbatch wants it: words, a script, an environment. The nodes are those that were
 * decided on, so Slurm has nothing to choose but which of a node's GPUs and cores. Jobs are
 * submitted held, so that one whose number got lost on the way back never runs.
 *
 * The job's variables go through a file, not through sbatch's own environment, which is root's:
 * LD_PRELOAD means something there. Slurm's variables and those that name GPUs are left to Slurm.
 */
#include "exec/exec_slurm.h"

#include "core/buf.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct maker {
	const struct slurm_conf *conf;
	const struct exec_order *order;
	struct strata_arena *arena;
	struct slurm_order *made;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct maker *maker, const char *format, ...)
{
	char text[STRATA_PATH_BYTES_MAX + 64];
	va_list args;

	va_start(args, format);
	int length = vsnprintf(text, sizeof(text), format, args);

	va_end(args);
	const char *word = length < (int)sizeof(text)
				   ? strata_arena_text(maker->arena, text, strlen(text))
				   : NULL;

	if (!word || maker->made->word_count + 1 >= SLURM_WORDS_MAX)
		maker->failed = true;
	else
		maker->made->words[maker->made->word_count++] = word;
}

/* ---- where ---- */

static int64_t divide_up(int64_t value, int64_t by)
{
	return value / by + (value % by != 0);
}

static int read_places(struct maker *maker, struct exec_place **ret_places,
		       struct strata_error *err)
{
	const struct strata_list *list = &maker->order->places;
	const char *const *texts = list->items;
	struct exec_place *places = strata_arena_array(maker->arena, list->count, sizeof(*places));
	int rc = places ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		rc = strata_schema_defaults(&exec_place_schema, maker->arena, &places[i], err);
		if (rc == 0)
			rc = strata_schema_read_text(&exec_place_schema, texts[i], strlen(texts[i]),
						     maker->arena, &places[i], err);
		if (rc == 0 && places[i].gpus && places[i].gpu_milli < 1000)
			rc = strata_fail(err, -EINVAL,
					 "it asks for a part of a GPU, which Slurm does not share");
	}
	*ret_places = places;
	return rc;
}

/* The same on every node? */
static bool are_equal(const struct exec_place *places, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (places[i].tasks != places[0].tasks || places[i].gpus != places[0].gpus)
			return false;
	return true;
}

/* A name for each task, in the order of the nodes: what an arbitrary distribution goes by. */
static int add_task_list(struct maker *maker, const struct exec_place *places, size_t count,
			 struct strata_error *err)
{
	struct buf list;

	buf_init(&list, maker->arena->memory, STRATA_TEXT_BYTES_MAX);
	for (size_t i = 0; i < count; i++)
		for (int64_t task = 0; task < places[i].tasks; task++)
			buf_printf(&list, "%s%s", list.length ? "," : "", places[i].name);
	int rc = buf_check(&list, err);
	const char *word = rc ? NULL
			      : strata_arena_printf(maker->arena, "--nodelist=%s", list.text);

	buf_fini(&list);
	if (word && maker->made->word_count + 1 < SLURM_WORDS_MAX)
		maker->made->words[maker->made->word_count++] = word;
	else
		maker->failed = true;
	add(maker, "--distribution=arbitrary");
	return rc;
}

static int add_nodes(struct maker *maker, const struct exec_place *places, size_t count,
		     struct strata_error *err)
{
	const char **names = strata_arena_array(maker->arena, count, sizeof(*names));
	const char *list = "";
	int rc = names ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < count; i++)
		names[i] = places[i].name;
	if (rc == 0)
		rc = strata_hostlist_compress(names, count, maker->arena, &list, err);
	if (rc == 0) {
		add(maker, "--nodelist=%s", list);
		add(maker, "--ntasks-per-node=%" PRId64, places[0].tasks);
	}
	return rc;
}

static void add_gpus(struct maker *maker, const struct exec_place *place, bool equal)
{
	const char *colon = place->gpu_type ? ":" : "";
	const char *type = place->gpu_type ? place->gpu_type : "";

	if (place->gpus && equal)
		add(maker, "--gres=gpu%s%s:%" PRId64, colon, type, place->gpus);
	else if (place->gpus)
		add(maker, "--gpus-per-task=%s%s%" PRId64, type, colon, place->gpus / place->tasks);
}

static int add_places(struct maker *maker, struct strata_error *err)
{
	struct exec_place *places;
	size_t count = maker->order->places.count;
	int64_t tasks = 0, cpus = 1, memory_bytes = 0;
	int rc = read_places(maker, &places, err);

	if (rc || count == 0)
		return rc;
	bool equal = are_equal(places, count);

	for (size_t i = 0; i < count; i++) {
		int64_t each = divide_up(divide_up(places[i].cpu_milli, 1000), places[i].tasks);

		tasks += places[i].tasks;
		cpus = each > cpus ? each : cpus;
		memory_bytes = places[i].memory_bytes > memory_bytes ? places[i].memory_bytes
								     : memory_bytes;
	}
	add(maker, "--nodes=%zu", count);
	add(maker, "--ntasks=%" PRId64, tasks);
	add(maker, "--cpus-per-task=%" PRId64, cpus);
	rc = equal ? add_nodes(maker, places, count, err)
		   : add_task_list(maker, places, count, err);
	add_gpus(maker, &places[0], equal);
	if (memory_bytes)
		add(maker, "--mem=%" PRId64 "M", divide_up(memory_bytes, 1 << 20));
	else
		add(maker, "--mem-per-cpu=%" PRId64 "M",
		    divide_up(maker->conf->memory_bytes, 1 << 20));
	return rc;
}

/* ---- what ---- */

/* Does sbatch read options here? */
static bool is_option_line(const char *line, size_t length)
{
	static const char *const words[] = { "#SBATCH", "#BSUB", "#PBS" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (length >= strlen(words[i]) && memcmp(line, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* Its options were read when it was submitted here: for sbatch they are comments now. */
static void copy_script(struct buf *buf, const char *script, size_t length)
{
	while (length) {
		const char *end = memchr(script, '\n', length);
		size_t span = end ? (size_t)(end + 1 - script) : length;

		if (is_option_line(script, span)) {
			buf_add(buf, "# ");
			buf_add_bytes(buf, script + 1, span - 1);
		} else {
			buf_add_bytes(buf, script, span);
		}
		script += span;
		length -= span;
	}
}

static int make_script(struct maker *maker, struct strata_error *err)
{
	const struct exec_order *order = maker->order;
	const char *const *words = order->arguments.items;
	struct buf buf;

	buf_init(&buf, maker->arena->memory, 0);
	if (order->script) {
		copy_script(&buf, order->script, order->script_bytes);
	} else {
		buf_add(&buf, "#!/bin/sh\nexec ");
		buf_add_quoted(&buf, order->program);
		for (size_t i = 0; i < order->arguments.count; i++) {
			buf_add_char(&buf, ' ');
			buf_add_quoted(&buf, words[i]);
		}
		buf_add(&buf, "\n");
	}
	int rc = buf_check(&buf, err);

	if (rc == 0) {
		maker->made->script = strata_arena_text(maker->arena, buf.text, buf.length);
		maker->made->script_bytes = buf.length;
		rc = maker->made->script ? 0 : strata_fail_memory(err);
	}
	buf_fini(&buf);
	return rc;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Those that Slurm sets itself, and knows better: which GPUs, which job of its own. */
static bool is_slurms(const char *variable)
{
	static const char *const names[] = { "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=",
					     "HIP_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL=",
					     "ZE_AFFINITY_MASK=" };

	if (begins(variable, "SLURM_ARRAY_") || begins(variable, "SLURM_RESTART_COUNT="))
		return false;
	if (begins(variable, "SLURM") || begins(variable, "SBATCH_"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins(variable, names[i]))
			return true;
	return false;
}

static int make_environment(struct maker *maker, struct strata_error *err)
{
	const char *const *list = maker->order->environment;
	struct buf buf;

	buf_init(&buf, maker->arena->memory, 0);
	for (size_t i = 0; list && list[i]; i++)
		if (!is_slurms(list[i]))
			buf_add_bytes(&buf, list[i], strlen(list[i]) + 1);
	/* what sbatch would say of whoever calls it, which is not the job's user */
	buf_printf(&buf, "SLURM_UMASK=%04" PRIo64, (uint64_t)maker->order->umask);
	buf_add_char(&buf, '\0');
	int rc = buf_check(&buf, err);

	if (rc == 0) {
		char *bytes = strata_arena_get(maker->arena, buf.length + 1);

		if (bytes)
			memcpy(bytes, buf.text, buf.length);
		else
			rc = strata_fail_memory(err);
		maker->made->environment = bytes;
		maker->made->environment_bytes = buf.length;
	}
	buf_fini(&buf);
	return rc;
}

/* ---- all of it ---- */

const char *slurm_order_comment(const struct slurm_conf *conf, const struct exec_order *order,
				struct strata_arena *arena)
{
	return strata_arena_printf(arena, "strata:%" PRId64 ".%" PRId64 ".%" PRId64 ":%s",
				   order->job, order->attempt, order->epoch,
				   conf->identity ? conf->identity : "");
}

/* A name with a blank at its end, or a control character, is one that commands print wrongly. */
static const char *plain_name(struct maker *maker)
{
	const char *name = maker->order->name ? maker->order->name : "strata";
	char *own = (char *)strata_arena_text(maker->arena, name, strlen(name));

	for (char *at = own; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == '|')
			*at = '_';
	maker->failed = maker->failed || !own;
	return own ? own : "";
}

/* What was to be filled in of its name is: a % means itself. */
static void add_file(struct maker *maker, const char *option, const char *path)
{
	size_t length = 0, signs = 0;

	path = path ? path : "/dev/null";
	for (; path[length]; length++)
		signs += path[length] == '%';
	char *own = strata_arena_get(maker->arena, length + signs + 1), *at = own;

	for (size_t i = 0; own && i < length; i++) {
		*at++ = path[i];
		if (path[i] == '%')
			*at++ = '%';
	}
	add(maker, "--%s=%s", option, own ? own : "");
	maker->failed = maker->failed || !own;
}

static void add_files(struct maker *maker)
{
	const struct exec_order *order = maker->order;

	add(maker, "--chdir=%s", order->directory);
	add_file(maker, "input", order->input);
	add_file(maker, "output", order->output);
	if (order->error_output)
		add_file(maker, "error", order->error_output);
	add(maker, "--open-mode=%s", order->append ? "append" : "truncate");
}

static void add_times(struct maker *maker)
{
	const struct exec_order *order = maker->order;

	if (order->time_limit_ns == STRATA_DURATION_UNLIMITED)
		add(maker, "--time=UNLIMITED");
	else
		add(maker, "--time=%" PRId64, divide_up(order->time_limit_ns, STRATA_MINUTE_NS));
	if (order->warn_signal)
		add(maker, "--signal=B:%" PRId64 "@%" PRId64, order->warn_signal,
		    divide_up(order->warn_ns, STRATA_SECOND_NS));
}

int slurm_order_make(const struct slurm_conf *conf, const struct exec_order *order, bool as_root,
		     struct strata_arena *arena, struct slurm_order *ret_order,
		     struct strata_error *err)
{
	struct slurm_order made = { 0 };
	struct maker maker = { .conf = conf, .order = order, .arena = arena, .made = &made };
	const char *comment = slurm_order_comment(conf, order, arena);

	add(&maker, "sbatch");
	add(&maker, "--parsable");
	add(&maker, "--hold");
	add(&maker, "--no-requeue");
	add(&maker, "--ignore-pbs");
	add(&maker, "--comment=%s", comment ? comment : "");
	add(&maker, "--job-name=%s", plain_name(&maker));
	if (as_root && order->uid) {
		add(&maker, "--uid=%" PRId64, order->uid);
		add(&maker, "--gid=%" PRId64, order->gid);
	}
	if (order->partition)
		add(&maker, "--partition=%s", order->partition);
	add_files(&maker);
	add_times(&maker);
	int rc = add_places(&maker, err);

	if (rc == 0)
		rc = make_script(&maker, err);
	if (rc == 0)
		rc = make_environment(&maker, err);
	if (rc == 0 && (maker.failed || !comment))
		rc = strata_fail_memory(err);
	if (rc == 0)
		*ret_order = made;
	return rc;
}
