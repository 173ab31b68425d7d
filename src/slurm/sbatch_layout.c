/*
 * Values of options that say how nodes are built, how the tasks of steps are laid out on them, and
 * what a job takes over from where it is submitted. As those of sbatch_read.c they check their own
 * value only.
 */
#include "slurm/sbatch_int.h"

#include "core/text.h"
#include "slurm/slurm_value.h"

#include <errno.h>
#include <string.h>

/* Words between commas: is each one of the list? */
static bool all_known(const char *value, const char *const *known, size_t count)
{
	for (const char *at = value;; at++) {
		size_t span = strcspn(at, ","), i = 0;

		while (i < count && !text_same(at, span, known[i]))
			i++;
		if (i == count)
			return false;
		at += span;
		if (!*at)
			return true;
	}
}
#define ALL_KNOWN(value, known) all_known(value, known, sizeof(known) / sizeof((known)[0]))

/* -B sockets[:cores[:threads]], with * for any number. */
int sbatch_read_shape(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	struct strata_sbatch *job = &container_of(reading, struct sbatch_reading, base)->job;
	int64_t *const parts[] = { &job->sockets_per_node, &job->cores_per_socket,
				   &job->threads_per_core };
	static const char *const places[] = { "first", "second", "third" };
	const char *at = value;
	size_t i = 0;

	(void)row;
	for (; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t span = strcspn(at, ":");
		bool any = span == 1 && *at == '*';

		if (any)
			*parts[i] = 0;
		else if (strata_int_parse(at, span, 1, INT32_MAX, parts[i], NULL))
			break;
		at += span;
		if (!*at)
			return 0;
		at++;
	}
	return strata_fail(err, -EBADMSG, "Invalid numeric value \"%.40s\" for %s arg of -B.", at,
			   places[i < 3 ? i : 2]);
}

/* Nodes, then sockets and cores, then flags: block:cyclic,Pack. */
int sbatch_read_distribution(struct slurm_reading *reading, const struct slurm_row *row,
			     const char *value, struct strata_error *err)
{
	static const char *const nodes[] = { "*", "block", "cyclic", "plane", "arbitrary" };
	static const char *const parts[] = { "*", "block", "cyclic", "fcyclic" };
	static const char *const flags[] = { "pack", "nopack" };
	size_t span = strcspn(value, ":,=");
	const char *at = value + span;
	bool good = false;
	int64_t size;

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		good |= text_same(value, span, nodes[i]);
	if (*at == '=') { /* plane=SIZE */
		span = strcspn(++at, ":,");
		good &= text_same(value, (size_t)(at - 1 - value), "plane") &&
			strata_int_parse(at, span, 1, INT32_MAX, &size, NULL) == 0;
		at += span;
	} else if (good && text_same(value, span, "plane")) {
		good = false;
	}
	for (int level = 0; good && *at == ':'; level++) {
		span = strcspn(++at, ":,");
		good = level < 2;
		bool known = false;

		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			known |= text_same(at, span, parts[i]);
		good &= known;
		at += span;
	}
	if (good && *at == ',')
		good = ALL_KNOWN(at + 1, flags);
	if (!good)
		return strata_fail_at(err, -EINVAL, row->option.name,
				      "Invalid --distribution specification");
	return slurm_read_text(reading, row, value, err);
}

/* [verbose,]closest | map_gpu:… | mask_gpu:… | none | per_task:N | single:N */
int sbatch_read_gpu_bind(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	static const char *const kinds[] = { "closest", "map_gpu:", "mask_gpu:", "map:",
					     "mask:",   "none",     "per_task:", "single:" };
	const char *kind = value;
	char excerpt[TEXT_EXCERPT_BYTES];

	for (int words = 0; words < 2; words++) {
		size_t span = strcspn(kind, ",");

		if (kind[span] == ',' &&
		    (text_same(kind, span, "verbose") || text_same(kind, span, "v") ||
		     text_same(kind, span, "quiet") || text_same(kind, span, "q")))
			kind += span + 1;
		if (strncmp(kind, "gpu:", 4) == 0)
			kind += 4;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i]);
		bool open = kinds[i][length - 1] == ':';

		if (strncmp(kind, kinds[i], length) == 0 && (open ? kind[length] : !kind[length]))
			return slurm_read_text(reading, row, kind, err);
	}
	text_excerpt(value, strlen(value), excerpt);
	return strata_fail_at(err, -EINVAL, row->option.name,
			      "Invalid --gpu-bind argument: gpu:%s", excerpt);
}

/* ALL without a value. */
int sbatch_read_propagate(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	static const char *const known[] = {
		"all",   "none",    "as",     "core",  "cpu", "data",
		"fsize", "memlock", "nofile", "nproc", "rss", "stack"
	};
	char excerpt[TEXT_EXCERPT_BYTES];

	if (!value)
		return slurm_read_text(reading, row, "ALL", err);
	if (ALL_KNOWN(value, known))
		return slurm_read_text(reading, row, value, err);
	text_excerpt(value, strlen(value), excerpt);
	return strata_fail(err, -EBADMSG, "Bad rlimit name: %s; --propagate=%s is not valid.",
			   excerpt, excerpt);
}

/* Without a value it keeps its name. */
int sbatch_read_bcast(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		      struct strata_error *err)
{
	return slurm_read_text(reading, row, value ? value : "", err);
}

/* Seconds; without a value one, which is at once. */
int sbatch_read_immediate(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	int64_t *seconds = slurm_row_field(reading, row);

	*seconds = 1;
	if (value && strata_int_parse(value, STRATA_TEXT_NUL, 0, INT32_MAX, seconds, NULL))
		return strata_fail_at(err, -EINVAL, row->option.name,
				      "Invalid --immediate specification");
	return 0;
}

int sbatch_read_from_zero(struct slurm_reading *reading, const struct slurm_row *row,
			  const char *value, struct strata_error *err)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	if (strata_int_parse(value, STRATA_TEXT_NUL, 0, INT32_MAX, slurm_row_field(reading, row),
			     NULL) == 0)
		return 0;
	text_excerpt(value, strlen(value), excerpt);
	return strata_fail_at(err, -EBADMSG, row->option.name,
			      "Invalid numeric value \"%s\" for --%s.", excerpt, row->option.name);
}
