/*
 * The header of a safetensors file. It is cut into its entries here, and each entry goes to the JSON parser alone: a header of a hundred
 * megabytes then costs the memory of its tensors and not that of a document. What the entries say is checked one by one (type, shape,
 * size) and then together: sorted by offset they must cover the file from the first byte behind the header to the last.
 */
#include "core/int128.h"
#include "core/map.h"
#include "core/option.h"
#include "core/text.h"

#include <strata/limits.h>
#include <strata/safetensors.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, ENTRY_BYTES_MAX = 1 << 16 };

static const struct {
	const char *name;
	unsigned bits;
} types[STRATA_WEIGHT_TYPE_COUNT] = {
	[STRATA_WEIGHT_BOOL] = { "BOOL", 8 },
	[STRATA_WEIGHT_F4] = { "F4", 4 },
	[STRATA_WEIGHT_F6_E2M3] = { "F6_E2M3", 6 },
	[STRATA_WEIGHT_F6_E3M2] = { "F6_E3M2", 6 },
	[STRATA_WEIGHT_U8] = { "U8", 8 },
	[STRATA_WEIGHT_I8] = { "I8", 8 },
	[STRATA_WEIGHT_F8_E5M2] = { "F8_E5M2", 8 },
	[STRATA_WEIGHT_F8_E4M3] = { "F8_E4M3", 8 },
	[STRATA_WEIGHT_F8_E8M0] = { "F8_E8M0", 8 },
	[STRATA_WEIGHT_F8_E4M3FNUZ] = { "F8_E4M3FNUZ", 8 },
	[STRATA_WEIGHT_F8_E5M2FNUZ] = { "F8_E5M2FNUZ", 8 },
	[STRATA_WEIGHT_I16] = { "I16", 16 },
	[STRATA_WEIGHT_U16] = { "U16", 16 },
	[STRATA_WEIGHT_F16] = { "F16", 16 },
	[STRATA_WEIGHT_BF16] = { "BF16", 16 },
	[STRATA_WEIGHT_I32] = { "I32", 32 },
	[STRATA_WEIGHT_U32] = { "U32", 32 },
	[STRATA_WEIGHT_F32] = { "F32", 32 },
	[STRATA_WEIGHT_C64] = { "C64", 64 },
	[STRATA_WEIGHT_F64] = { "F64", 64 },
	[STRATA_WEIGHT_I64] = { "I64", 64 },
	[STRATA_WEIGHT_U64] = { "U64", 64 },
};

const char *strata_weight_type_name(enum strata_weight_type type)
{
	return types[type].name;
}

unsigned strata_weight_type_bits(enum strata_weight_type type)
{
	return types[type].bits;
}

int strata_safetensors_begin(const unsigned char first[8], int64_t file_bytes,
			     size_t *ret_header_bytes, struct strata_error *err)
{
	uint64_t length = 0;

	for (int i = LENGTH_BYTES; i-- > 0;)
		length = length << 8 | first[i];
	if (length > STRATA_SAFETENSORS_HEADER_BYTES_MAX)
		return strata_fail(
			err, -E2BIG,
			"not a safetensors file, or one whose header is too long: %" PRIu64
			" bytes; expected at most %d",
			length, STRATA_SAFETENSORS_HEADER_BYTES_MAX);
	if (file_bytes < LENGTH_BYTES || length > (uint64_t)file_bytes - LENGTH_BYTES)
		return strata_fail(err, -EBADMSG,
				   "the file is cut short: its header has %" PRIu64
				   " bytes, the file %" PRId64,
				   length, file_bytes);
	if (length < 2)
		return strata_fail(err, -EBADMSG,
				   "the header has %" PRIu64 " bytes; expected at least {}",
				   length);
	*ret_header_bytes = (size_t)length;
	return 0;
}

/* ---- cutting ---- */

struct reader {
	const char *at, *end;
	struct strata_arena *arena;
	struct map_text names; /* seen; the values are of no matter */
	struct strata_weight *tensors;
	size_t tensor_count, room;
	const char **metadata;
	size_t metadata_count;
	bool has_metadata;
};

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
		reader->at++;
}

/* Goes past the next byte that is no blank, if it is this one. */
static bool take(struct reader *reader, char c)
{
	skip_blanks(reader);
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->at++;
	return true;
}

/* Goes past a string, without looking at what is in it; false when it has no end. */
static bool cut_string(struct reader *reader)
{
	if (!take(reader, '"'))
		return false;
	for (; reader->at < reader->end; reader->at++)
		if (*reader->at == '"') {
			reader->at++;
			return true;
		} else if (*reader->at == '\\' && ++reader->at == reader->end) {
			return false;
		}
	return false;
}

/* Goes past an object; false when it has no end. Whether it is valid is the parser's business. */
static bool cut_object(struct reader *reader)
{
	size_t depth = 0;

	skip_blanks(reader);
	if (reader->at == reader->end || *reader->at != '{')
		return false;
	while (reader->at < reader->end) {
		char c = *reader->at;

		if (c == '"') {
			if (!cut_string(reader))
				return false;
			continue;
		}
		reader->at++;
		depth += c == '{' || c == '[';
		if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return false;
}

/* ---- tensors ---- */

static int fail_tensor(struct strata_error *err, const char *name, const char *what)
{
	char shown[TEXT_EXCERPT_BYTES];

	return strata_fail(err, -EBADMSG, "tensor '%s': %s",
			   text_excerpt(name, strlen(name), shown), what);
}

/* Not an option's choice: names of types are exact, in capitals. */
static int read_type(const json_t *json, const char *name, enum strata_weight_type *ret_type,
		     struct strata_error *err)
{
	const char *text = json_string_value(json_object_get(json, "dtype"));

	for (int i = 0; text && i < STRATA_WEIGHT_TYPE_COUNT; i++)
		if (strcmp(types[i].name, text) == 0) {
			*ret_type = (enum strata_weight_type)i;
			return 0;
		}
	return fail_tensor(err, name, text ? "its dtype is unknown" : "it has no dtype");
}

static int read_shape(const json_t *json, struct reader *reader, struct strata_weight *tensor,
		      struct strata_error *err)
{
	const json_t *shape = json_object_get(json, "shape");

	if (!json_is_array(shape))
		return fail_tensor(err, tensor->name, "it has no shape");
	size_t rank = json_array_size(shape);
	int64_t *numbers = strata_arena_array(reader->arena, rank, sizeof(*numbers));

	if (rank > STRATA_SAFETENSORS_RANK_MAX)
		return strata_fail(err, -E2BIG,
				   "tensor '%.64s': it has %zu dimensions; expected at most %d",
				   tensor->name, rank, STRATA_SAFETENSORS_RANK_MAX);
	if (!numbers)
		return strata_fail_memory(err);
	for (size_t i = 0; i < rank; i++) {
		const json_t *number = json_array_get(shape, i);

		if (!json_is_integer(number) || json_integer_value(number) < 0)
			return fail_tensor(err, tensor->name,
					   "its shape has something else than whole numbers");
		numbers[i] = json_integer_value(number);
	}
	tensor->shape = numbers;
	tensor->rank = rank;
	return 0;
}

/* Bytes of so many elements of the type; -1 when that is more than 63 bits, or not whole. */
static int64_t sized(const struct strata_weight *tensor)
{
	int128 bits = types[tensor->type].bits;

	for (size_t i = 0; i < tensor->rank; i++) {
		bits *= tensor->shape[i];
		if (bits > INT64_MAX)
			return -1;
	}
	return bits % 8 ? -1 : (int64_t)(bits / 8);
}

static int read_offsets(const json_t *json, struct strata_weight *tensor, struct strata_error *err)
{
	const json_t *offsets = json_object_get(json, "data_offsets");
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);

	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
	    json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
		return fail_tensor(err, tensor->name,
				   "its data_offsets are not [begin, end] with 0 <= begin <= end");
	tensor->offset = json_integer_value(begin);
	tensor->bytes = json_integer_value(end) - tensor->offset;
	int64_t want = sized(tensor);

	if (want != tensor->bytes)
		return strata_fail(err, -EBADMSG,
				   "tensor '%.64s': its data_offsets span %" PRId64
				   " bytes; its type and shape need %s%" PRId64,
				   tensor->name, tensor->bytes,
				   want < 0 ? "a size that is none: " : "", want);
	return 0;
}

static struct strata_weight *new_tensor(struct reader *reader)
{
	if (reader->tensor_count == reader->room) {
		size_t room = reader->room ? reader->room * 2 : 64;
		struct strata_weight *tensors =
			strata_arena_array(reader->arena, room, sizeof(*tensors));

		if (!tensors)
			return NULL;
		if (reader->tensor_count)
			memcpy(tensors, reader->tensors, reader->tensor_count * sizeof(*tensors));
		reader->tensors = tensors;
		reader->room = room;
	}
	return &reader->tensors[reader->tensor_count];
}

static int read_tensor(struct reader *reader, const char *name, const json_t *json,
		       struct strata_error *err)
{
	if (reader->tensor_count == STRATA_SAFETENSORS_TENSORS_MAX)
		return strata_fail(err, -E2BIG, "the file has more than %d tensors",
				   STRATA_SAFETENSORS_TENSORS_MAX);
	struct strata_weight *tensor = new_tensor(reader);

	if (!tensor)
		return strata_fail_memory(err);
	*tensor = (struct strata_weight){ .name = name };
	int rc = read_type(json, name, &tensor->type, err);

	if (rc == 0)
		rc = read_shape(json, reader, tensor, err);
	if (rc == 0)
		rc = read_offsets(json, tensor, err);
	reader->tensor_count += rc == 0;
	return rc;
}

/* ---- entries ---- */

static int read_metadata(struct reader *reader, const json_t *json, struct strata_error *err)
{
	size_t count = json_object_size(json);
	const char **pairs = strata_arena_array(reader->arena, count, 2 * sizeof(*pairs)), *key;
	json_t *value;

	if (!pairs)
		return strata_fail_memory(err);
	json_object_foreach((json_t *)json, key, value)
	{
		if (!json_is_string(value))
			return strata_fail(err, -EBADMSG,
					   "__metadata__ maps texts to texts; the value of '%.64s' "
					   "is not a text",
					   key);
		char *own = strata_arena_text(reader->arena, key, strlen(key));
		char *text = strata_arena_text(reader->arena, json_string_value(value),
					       json_string_length(value));

		if (!own || !text)
			return strata_fail_memory(err);
		pairs[2 * reader->metadata_count] = own;
		pairs[2 * reader->metadata_count++ + 1] = text;
	}
	reader->metadata = pairs;
	return 0;
}

/* The key of an entry as text in the arena, refused when it was there before. */
static int read_name(struct reader *reader, const char *cut, size_t length, const char **ret_name,
		     struct strata_error *err)
{
	json_t *json;
	void *old = NULL;

	if (length > STRATA_SAFETENSORS_NAME_BYTES_MAX)
		return strata_fail(err, -E2BIG,
				   "a tensor's name has %zu bytes; expected at most %d", length,
				   STRATA_SAFETENSORS_NAME_BYTES_MAX);
	int rc = option_load_json(cut, length, &json, err);

	if (rc)
		return rc == -EINVAL ? strata_fail(err, -EBADMSG, "a tensor's name is no text")
				     : rc;
	const char *name =
		strata_arena_text(reader->arena, json_string_value(json), json_string_length(json));

	json_decref(json);
	if (!name || map_text_put(&reader->names, name, strlen(name), (void *)name, &old))
		return strata_fail_memory(err);
	if (old)
		return fail_tensor(err, name, "it is there twice");
	*ret_name = name;
	return 0;
}

static int read_value(struct reader *reader, const char *name, const char *cut, size_t length,
		      struct strata_error *err)
{
	bool metadata = strcmp(name, "__metadata__") == 0;
	size_t limit = metadata ? STRATA_SAFETENSORS_METADATA_BYTES_MAX : ENTRY_BYTES_MAX;
	char shown[TEXT_EXCERPT_BYTES];
	struct strata_error why;
	json_t *json;

	if (length > limit)
		return strata_fail(err, -E2BIG, "'%s' has %zu bytes; expected at most %zu",
				   text_excerpt(name, strlen(name), shown), length, limit);
	int rc = option_load_json(cut, length, &json, &why);

	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc)
		return strata_fail(err, -EBADMSG, "'%s': %.200s",
				   text_excerpt(name, strlen(name), shown), why.text);
	rc = metadata ? read_metadata(reader, json, err) : read_tensor(reader, name, json, err);
	json_decref(json);
	return rc;
}

static int read_entry(struct reader *reader, struct strata_error *err)
{
	const char *name = NULL, *cut;

	skip_blanks(reader);
	cut = reader->at;
	if (!cut_string(reader))
		return strata_fail(err, -EBADMSG,
				   "the header is no JSON object: a name is missing");
	int rc = read_name(reader, cut, (size_t)(reader->at - cut), &name, err);

	if (rc)
		return rc;
	if (!take(reader, ':'))
		return fail_tensor(err, name, "no colon behind the name");
	skip_blanks(reader);
	cut = reader->at;
	if (!cut_object(reader))
		return fail_tensor(err, name, "its entry is no JSON object");
	return read_value(reader, name, cut, (size_t)(reader->at - cut), err);
}

static int read_entries(struct reader *reader, struct strata_error *err)
{
	if (reader->at == reader->end || *reader->at != '{')
		return strata_fail(err, -EBADMSG, "the header does not begin with {");
	reader->at++;
	if (!take(reader, '}')) {
		do {
			int rc = read_entry(reader, err);

			if (rc)
				return rc;
		} while (take(reader, ','));
		if (!take(reader, '}'))
			return strata_fail(err, -EBADMSG,
					   "the header is no JSON object: it has no end");
	}
	skip_blanks(reader);
	if (reader->at != reader->end)
		return strata_fail(err, -EBADMSG, "something follows the header's object");
	return 0;
}

/* ---- all together ---- */

static int by_offset(const void *one, const void *two)
{
	const struct strata_weight *a = one, *b = two;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->bytes != b->bytes) /* empty ones first */
		return a->bytes < b->bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* No holes, no overlaps, no trailer. From offsets behind the header to those of the file. */
static int settle(struct reader *reader, int64_t data, int64_t file_bytes, struct strata_error *err)
{
	int64_t end = 0;

	if (reader->tensor_count)
		qsort(reader->tensors, reader->tensor_count, sizeof(*reader->tensors), by_offset);
	for (size_t i = 0; i < reader->tensor_count; i++) {
		struct strata_weight *tensor = &reader->tensors[i];

		if (tensor->offset != end)
			return strata_fail(err, -EBADMSG,
					   "tensor '%.64s' begins at %" PRId64
					   "; the one before it ends at %" PRId64,
					   tensor->name, tensor->offset, end);
		if (tensor->bytes > file_bytes - data - end)
			return strata_fail(
				err, -EBADMSG,
				"the file is cut short: tensor '%.64s' goes on past its end",
				tensor->name);
		end += tensor->bytes;
		tensor->offset += data;
	}
	if (end != file_bytes - data)
		return strata_fail(err, -EBADMSG, "%" PRId64 " bytes behind the last tensor",
				   file_bytes - data - end);
	return 0;
}

int strata_safetensors_read(const char *header, size_t header_bytes, int64_t file_bytes,
			    struct strata_arena *arena, struct strata_safetensors *ret_file,
			    struct strata_error *err)
{
	struct reader reader = { .at = header, .end = header + header_bytes, .arena = arena };

	map_text_init(&reader.names, arena->memory);
	int rc = read_entries(&reader, err);

	if (rc == 0)
		rc = settle(&reader, LENGTH_BYTES + (int64_t)header_bytes, file_bytes, err);
	map_text_fini(&reader.names);
	if (rc == 0)
		*ret_file = (struct strata_safetensors){ reader.tensors, reader.tensor_count,
							 reader.metadata, reader.metadata_count };
	return rc;
}
