/*
 * What jobs are usually like: the most common needs among what has been asked for. Memory is left
 * out of the comparison, as jobs that are otherwise alike differ in it by accident.
 */
#include "cluster/cluster_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One request, later one need that some requests share. */
struct sample {
	struct strata_need need;
	const char *gpu_type; /* "": any */
	size_t first;         /* position of the first such request */
	size_t count;
};

static int compare_needs(const void *a_any, const void *b_any)
{
	const struct sample *a = a_any, *b = b_any;

	if (a->need.cpu_milli != b->need.cpu_milli)
		return a->need.cpu_milli < b->need.cpu_milli ? -1 : 1;
	if (a->need.gpus != b->need.gpus)
		return a->need.gpus < b->need.gpus ? -1 : 1;
	if (a->need.gpu_milli != b->need.gpu_milli)
		return a->need.gpu_milli < b->need.gpu_milli ? -1 : 1;
	return strcmp(a->gpu_type, b->gpu_type);
}

static int compare_samples(const void *a_any, const void *b_any)
{
	const struct sample *a = a_any, *b = b_any;
	int order = compare_needs(a, b);

	return order ? order : a->first < b->first ? -1 : a->first > b->first;
}

/* The most common first; equally common ones as they appeared. */
static int compare_counts(const void *a_any, const void *b_any)
{
	const struct sample *a = a_any, *b = b_any;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Puts samples that are alike together; returns how many different ones there are. */
static size_t join_samples(struct sample *samples, size_t count)
{
	size_t kept = 0;

	qsort(samples, count, sizeof(*samples), compare_samples);
	for (size_t i = 0; i < count; i++)
		if (kept && compare_needs(&samples[kept - 1], &samples[i]) == 0)
			samples[kept - 1].count++;
		else
			samples[kept++] = samples[i];
	qsort(samples, kept, sizeof(*samples), compare_counts);
	return kept;
}

static int fill_mix(const struct sample *samples, size_t count, size_t covered,
		    struct strata_arena *arena, struct strata_mix *ret_mix,
		    struct strata_error *err)
{
	struct strata_need *needs = strata_arena_array(arena, count, sizeof(*needs));
	const char **types = strata_arena_array(arena, count, sizeof(*types));
	double *parts = strata_arena_array(arena, count, sizeof(*parts));

	if (!needs || !types || !parts)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		needs[i] = samples[i].need;
		types[i] = *samples[i].gpu_type ? samples[i].gpu_type : NULL;
		parts[i] = (double)samples[i].count / (double)covered;
	}
	*ret_mix = (struct strata_mix){ needs, types, parts, count };
	return 0;
}

int strata_mix_make(const struct strata_need *needs, const char *const *gpu_types, size_t count,
		    double cover, struct strata_arena *arena, struct strata_mix *ret_mix,
		    struct strata_error *err)
{
	struct sample *samples = strata_arena_array(arena, count, sizeof(*samples));
	size_t kept, used = 0, covered = 0;

	if (!(cover > 0 && cover <= 1))
		return strata_fail_at(err, -EINVAL, "cover",
				      "cover is %g; expected above 0, up to 1", cover);
	if (!samples)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		samples[i] = (struct sample){ .need = needs[i], .gpu_type = "", .first = i };
		samples[i].need.memory_bytes = 0;
		samples[i].count = 1;
		if (gpu_types && gpu_types[i])
			samples[i].gpu_type = gpu_types[i];
	}
	kept = join_samples(samples, count);
	while (used < kept && used < STRATA_MIX_COUNT_MAX &&
	       (double)covered < cover * (double)count)
		covered += samples[used++].count;
	return fill_mix(samples, used, covered, arena, ret_mix, err);
}

/* ---- GPU types ---- */

const char *mix_gpu_types(const struct strata_mix *mix, size_t index)
{
	return mix->gpu_types && mix->gpu_types[index] ? mix->gpu_types[index] : "";
}

bool mix_wants_gpu(const struct strata_need *need)
{
	return need->gpu_milli ? need->gpu_milli < 1000 : need->gpus > 0;
}

static size_t find_name(const struct mix_types *types, const char *name, size_t length)
{
	for (size_t i = 0; i + 1 < types->count; i++)
		if (types->lengths[i] == length && memcmp(types->names[i], name, length) == 0)
			return i;
	return types->count - 1;
}

/* All words of all lists: no fewer than there are names. */
static size_t count_words(const struct strata_mix *mix)
{
	size_t count = 0;

	for (size_t i = 0; i < mix->count; i++)
		for (const char *at = mix_gpu_types(mix, i); *at; at++)
			count += at[0] == '|' || at == mix_gpu_types(mix, i);
	return count;
}

int mix_types_init(struct mix_types *types, const struct strata_mix *mix,
		   struct strata_arena *arena)
{
	size_t room = count_words(mix);

	types->names = strata_arena_array(arena, room, sizeof(*types->names));
	types->lengths = strata_arena_array(arena, room, sizeof(*types->lengths));
	types->count = 1;
	if (!types->names || !types->lengths)
		return -ENOMEM;
	for (size_t i = 0; i < mix->count; i++) {
		const char *word = mix_gpu_types(mix, i);

		while (*word) {
			size_t length = strcspn(word, "|");

			if (length && find_name(types, word, length) == types->count - 1) {
				types->names[types->count - 1] = word;
				types->lengths[types->count - 1] = length;
				types->count++;
			}
			word += length + (word[length] == '|');
		}
	}
	return 0;
}

size_t mix_types_find(const struct mix_types *types, const char *gpu_type)
{
	if (!gpu_type || types->count == 1)
		return types->count - 1;
	return find_name(types, gpu_type, strlen(gpu_type));
}

bool mix_types_take(const struct mix_types *types, size_t type, const char *gpu_types)
{
	if (!*gpu_types)
		return true;
	return type + 1 < types->count &&
	       cluster_word_in(gpu_types, types->names[type], types->lengths[type], '|');
}
