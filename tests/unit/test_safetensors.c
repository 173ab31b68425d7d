#include "test.h"

#include <strata/limits.h>
#include <strata/safetensors.h>

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_safetensors file;

/* Reads a header whose file has so many bytes behind it. */
static int read_header(const char *header, int64_t data_bytes)
{
	size_t length = strlen(header);

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return strata_safetensors_read(header, length, 8 + (int64_t)length + data_bytes, &arena,
				       &file, &err);
}

#define TENSOR(name, type, shape, from, to)                                                 \
	"\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #from \
	"," #to "]}"

TEST(tensors_are_read_in_the_order_of_their_bytes)
{
	CHECK_OK(read_header(
		"{\"__metadata__\":{\"format\":\"pt\",\"a\":\"\\u00fc\"}, " TENSOR(
			"b", "BF16", "[2,3]", 4, 16) "," TENSOR("a", "F32", "[]", 0, 4) "}  ",
		12 + 4));
	CHECK_INT(file.tensor_count, 2);
	CHECK_TEXT(file.tensors[0].name, "a");
	CHECK_INT(file.tensors[0].rank, 0);
	CHECK_INT(file.tensors[0].bytes, 4);
	CHECK_INT(file.tensors[1].type, STRATA_WEIGHT_BF16);
	CHECK_INT(file.tensors[1].shape[1], 3);
	CHECK_INT(file.tensors[1].offset - file.tensors[0].offset, 4);
	CHECK_INT(file.metadata_count, 2);
	CHECK_TEXT(file.metadata[0], "format");
	CHECK_TEXT(file.metadata[3], "ü");
	CHECK_OK(read_header("{}", 0));
	CHECK_INT(file.tensor_count, 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(offsets_count_from_the_beginning_of_the_file)
{
	const char *header = "{" TENSOR("a", "U8", "[3]", 0, 3) "}";

	CHECK_OK(read_header(header, 3));
	CHECK_INT(file.tensors[0].offset, 8 + (int64_t)strlen(header));
	strata_arena_fini(&arena);
}

TEST(empty_tensors_lie_between_others)
{
	CHECK_OK(read_header("{" TENSOR("b", "U8", "[3]", 0,
					3) "," TENSOR("a", "U8", "[9,0]", 0,
						      0) "," TENSOR("c", "F64", "[0]", 3, 3) "}",
			     3));
	CHECK_TEXT(file.tensors[0].name, "a");
	CHECK_TEXT(file.tensors[2].name, "c");
	strata_arena_fini(&arena);
}

TEST(every_type_has_its_size)
{
	static const struct {
		const char *name;
		int bits;
	} all[] = { { "BOOL", 8 },    { "F4", 4 },          { "F6_E2M3", 6 },     { "F6_E3M2", 6 },
		    { "U8", 8 },      { "I8", 8 },          { "F8_E5M2", 8 },     { "F8_E4M3", 8 },
		    { "F8_E8M0", 8 }, { "F8_E4M3FNUZ", 8 }, { "F8_E5M2FNUZ", 8 }, { "I16", 16 },
		    { "U16", 16 },    { "F16", 16 },        { "BF16", 16 },       { "I32", 32 },
		    { "U32", 32 },    { "F32", 32 },        { "C64", 64 },        { "F64", 64 },
		    { "I64", 64 },    { "U64", 64 } };
	char header[256];

	CHECK_INT(sizeof(all) / sizeof(all[0]), STRATA_WEIGHT_TYPE_COUNT);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(header, sizeof(header),
			 "{\"x\":{\"dtype\":\"%s\",\"shape\":[4,2],\"data_offsets\":[0,%d]}}",
			 all[i].name, all[i].bits);
		CHECK_OK(read_header(header, all[i].bits));
		CHECK_TEXT(strata_weight_type_name(file.tensors[0].type), all[i].name);
		CHECK_INT(strata_weight_type_bits(file.tensors[0].type), all[i].bits);
	}
	/* half a byte is no size */
	CHECK_ERROR(read_header("{" TENSOR("x", "F4", "[3]", 0, 2) "}", 2), -EBADMSG, "'x'");
	strata_arena_fini(&arena);
}

TEST(what_breaks_the_format_is_refused)
{
	static const struct {
		const char *header;
		int data_bytes;
		const char *words;
	} bad[] = {
		{ " {}", 0, "does not begin with {" },
		{ "[]", 0, "does not begin with {" },
		{ "{", 0, "a name is missing" },
		{ "{\"a\"}", 0, "no colon" },
		{ "{\"a\":7}", 0, "no JSON object" },
		{ "{\"a\":{\"dtype\":\"U8\"", 0, "no JSON object" },
		{ "{\"a\":{\"dtype\":}}", 0, "'a'" },
		{ "{}x", 0, "something follows" },
		{ "{" TENSOR("a", "U8", "[1]", 0, 1) ",}", 1, "a name is missing" },
		{ "{" TENSOR("a", "U8", "[1]", 0, 1), 1, "has no end" },
		{ "{" TENSOR("a", "U8", "[1]", 0, 1) "," TENSOR("a", "U8", "[1]", 1, 2) "}", 2,
		  "twice" },
		{ "{\"a\":{\"shape\":[1],\"shape\":[2],\"dtype\":\"U8\",\"data_offsets\":[0,1]}}",
		  1, "duplicate" },
		{ "{" TENSOR("a", "u8", "[1]", 0, 1) "}", 1, "dtype is unknown" },
		{ "{" TENSOR("a", "F32", "[1]", 0, 5) "}", 5, "need 4" },
		{ "{" TENSOR("a", "F32", "[-1]", 0, 4) "}", 4, "shape" },
		{ "{" TENSOR("a", "F32", "[1.0]", 0, 4) "}", 4, "shape" },
		{ "{" TENSOR("a", "F32", "7", 0, 4) "}", 4, "no shape" },
		{ "{" TENSOR("a", "U8", "[1]", 1, 0) "}", 1, "data_offsets" },
		{ "{" TENSOR("a", "U8", "[1]", -1, 0) "}", 1, "data_offsets" },
		{ "{" TENSOR("a", "U8", "[1]", 1, 2) "}", 2, "begins at 1" },
		{ "{" TENSOR("a", "U8", "[2]", 0, 2) "," TENSOR("b", "U8", "[2]", 1, 3) "}", 3,
		  "begins at 1; the one before it ends at 2" },
		{ "{" TENSOR("a", "U8", "[2]", 0, 2) "}", 1, "cut short" },
		{ "{" TENSOR("a", "U8", "[2]", 0, 2) "}", 3, "1 bytes behind the last tensor" },
		{ "{}", 1, "1 bytes behind the last tensor" },
		{ "{" TENSOR("a", "U8", "[4294967296,4294967296,4294967296]", 0, 0) "}", 0, "'a'" },
		{ "{" TENSOR("a", "U8", "[9223372036854775807]", 0, 9223372036854775807) "}", 1,
		  "'a'" },
		{ "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__" },
		{ "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice" },
		{ "{\"\xff\":{}}", 0, "name" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(read_header(bad[i].header, bad[i].data_bytes), -EBADMSG, bad[i].words);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static void put_length(unsigned char first[8], uint64_t length)
{
	for (int i = 0; i < 8; i++)
		first[i] = (unsigned char)(length >> 8 * i);
}

TEST(the_length_of_the_header_is_bounded)
{
	unsigned char first[8];
	size_t length = 0;

	put_length(first, 100000000);
	CHECK_OK(strata_safetensors_begin(first, 100000008, &length, &err));
	CHECK_INT(length, 100000000);
	put_length(first, 100000001);
	CHECK_ERROR(strata_safetensors_begin(first, 1 << 30, &length, &err), -E2BIG, "100000001");
	put_length(first, 100);
	CHECK_OK(strata_safetensors_begin(first, 108, &length, &err));
	CHECK_ERROR(strata_safetensors_begin(first, 107, &length, &err), -EBADMSG, "cut short");
	CHECK_ERROR(strata_safetensors_begin(first, 3, &length, &err), -EBADMSG, "cut short");
	put_length(first, 1);
	CHECK_ERROR(strata_safetensors_begin(first, 9, &length, &err), -EBADMSG, "1 bytes");
	CHECK_INT(length, 100);
}

/* A header with so many dimensions, and a name this long. */
static int read_long(size_t rank, size_t name_bytes)
{
	char *header = malloc(name_bytes + 2 * rank + 100), *at = header;

	CHECK(at);
	at += sprintf(at, "{\"");
	memset(at, 'x', name_bytes);
	at += name_bytes;
	at += sprintf(at, "\":{\"dtype\":\"U8\",\"shape\":[1");
	for (size_t i = 1; i < rank; i++)
		at += sprintf(at, ",1");
	sprintf(at, "],\"data_offsets\":[0,1]}}");
	int rc = read_header(header, 1);

	free(header);
	return rc;
}

TEST(dimensions_and_names_are_bounded)
{
	CHECK_OK(read_long(STRATA_SAFETENSORS_RANK_MAX, 1));
	CHECK_ERROR(read_long(STRATA_SAFETENSORS_RANK_MAX + 1, 1), -E2BIG, "dimensions");
	CHECK_OK(read_long(1, STRATA_SAFETENSORS_NAME_BYTES_MAX - 2)); /* and its quotes */
	CHECK_ERROR(read_long(1, STRATA_SAFETENSORS_NAME_BYTES_MAX - 1), -E2BIG, "name");
	strata_arena_fini(&arena);
}

static int read_metadata(size_t bytes)
{
	char *header = malloc(bytes + 100), *at = header;

	CHECK(at);
	at += sprintf(at, "{\"__metadata__\":{\"a\":\"");
	memset(at, 'x', bytes - strlen("{\"a\":\"\"}"));
	at += bytes - strlen("{\"a\":\"\"}");
	sprintf(at, "\"}}");
	int rc = read_header(header, 0);

	free(header);
	return rc;
}

TEST(metadata_is_bounded)
{
	CHECK_OK(read_metadata(STRATA_SAFETENSORS_METADATA_BYTES_MAX));
	CHECK_ERROR(read_metadata(STRATA_SAFETENSORS_METADATA_BYTES_MAX + 1), -E2BIG,
		    "__metadata__");
	strata_arena_fini(&arena);
}

/* So many empty tensors. */
static int read_many(size_t count)
{
	char *header = malloc(count * 64 + 16), *at = header;

	CHECK(at);
	at += sprintf(at, "{");
	for (size_t i = 0; i < count; i++)
		at += sprintf(at,
			      "%s\"%zx\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
			      i ? "," : "", i);
	sprintf(at, "}");
	int rc = read_header(header, 0);

	free(header);
	return rc;
}

TEST(tensors_are_bounded)
{
	CHECK_OK(read_many(STRATA_SAFETENSORS_TENSORS_MAX));
	CHECK_INT(file.tensor_count, STRATA_SAFETENSORS_TENSORS_MAX);
	CHECK_ERROR(read_many(STRATA_SAFETENSORS_TENSORS_MAX + 1), -E2BIG, "tensors");
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const char header[] =
		"{\"__metadata__\":{\"k\":\"v\"}," TENSOR("a", "U8", "[1]", 0, 1) "}";
	struct strata_safetensors one;
	struct strata_arena scratch;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = strata_safetensors_read(header, sizeof(header) - 1, 8 + sizeof(header), &scratch,
					 &one, why);

	strata_arena_fini(&scratch);
	/* jansson takes lack of memory in a string for bad syntax */
	return rc == -EBADMSG ? strata_fail_memory(why) : rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(read_once, NULL) > 5);
}
