/* Places of job_place.h. */
#include "server/job_place.h"

#include "server/json_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct job_place_piece *pieces, uint32_t count)
{
	size_t bytes = sizeof(struct job_place) + count * sizeof(*pieces);

	for (uint32_t i = 0; i < count; i++)
		bytes += strlen(pieces[i].node) + 1;
	return bytes;
}

static struct job_place *fill(void *block, const struct job_place_piece *pieces, uint32_t count,
			      int64_t score)
{
	struct job_place *place = block;

	if (!place)
		return NULL;
	char *text = (char *)&place->pieces[count];

	place->count = count;
	place->score = score;
	for (uint32_t i = 0; i < count; i++) {
		place->pieces[i] = pieces[i];
		place->pieces[i].node = text;
		text = stpcpy(text, pieces[i].node) + 1;
	}
	return place;
}

struct job_place *job_place_new(const struct job_place_piece *pieces, uint32_t count)
{
	return fill(malloc(bytes_of(pieces, count)), pieces, count, 0);
}

struct job_place *job_place_copy(const struct job_place *place, struct strata_arena *arena)
{
	return fill(strata_arena_get(arena, bytes_of(place->pieces, place->count)), place->pieces,
		    place->count, place->score);
}

void job_place_print(const struct job_place *place, struct buf *buf)
{
	buf_add_char(buf, '[');
	for (uint32_t i = 0; i < place->count; i++) {
		const struct job_place_piece *piece = &place->pieces[i];

		buf_add(buf, i ? ",{\"node\":" : "{\"node\":");
		json_text_add(buf, piece->node);
		buf_printf(buf,
			   ",\"tasks\":%lld,\"cpu_milli\":%lld,\"memory_bytes\":%lld,"
			   "\"gpu_mask\":%u,\"gpu_milli\":%u",
			   (long long)piece->tasks, (long long)piece->cpu_milli,
			   (long long)piece->memory_bytes, piece->gpu_mask, piece->gpu_milli);
		if (piece->gpu_domains)
			buf_printf(buf, ",\"gpu_domains\":%u", piece->gpu_domains);
		if (i == 0 && place->score)
			buf_printf(buf, ",\"score\":%lld", (long long)place->score);
		buf_add_char(buf, '}');
	}
	buf_add_char(buf, ']');
}

static bool read_piece(const json_t *json, struct job_place_piece *ret_piece)
{
	json_int_t tasks, cpu, memory;
	int mask, milli, domains = 0;

	if (json_unpack((json_t *)json, "{s:s,s:I,s:I,s:I,s:i,s:i,s?i}", "node", &ret_piece->node,
			"tasks", &tasks, "cpu_milli", &cpu, "memory_bytes", &memory, "gpu_mask",
			&mask, "gpu_milli", &milli, "gpu_domains", &domains))
		return false;
	ret_piece->gpu_domains = (uint32_t)domains;
	ret_piece->tasks = tasks;
	ret_piece->cpu_milli = cpu;
	ret_piece->memory_bytes = memory;
	ret_piece->gpu_mask = (uint32_t)mask;
	ret_piece->gpu_milli = (uint32_t)milli;
	return true;
}

struct job_place *job_place_parse(const char *text, struct strata_arena *arena)
{
	json_t *list = json_loads(text, 0, NULL);
	size_t count = json_array_size(list), read = 0;
	struct job_place_piece *pieces = strata_arena_array(arena, count, sizeof(*pieces));

	while (pieces && read < count && read_piece(json_array_get(list, read), &pieces[read]))
		read++;
	if (read < count)
		count = 0;
	struct job_place *place =
		pieces ? fill(strata_arena_get(arena, bytes_of(pieces, (uint32_t)count)), pieces,
			      (uint32_t)count,
			      json_integer_value(json_object_get(json_array_get(list, 0), "score")))
		       : NULL;

	json_decref(list);
	return place;
}
