/* The tables as data: every column lies inside its struct and exists once, and the statements made of them. */
#include "store/store_int.h"

#include "test.h"

#include <string.h>

TEST(columns_are_sound)
{
	for (int kind = 0; kind < STORE_ROW_COUNT; kind++) {
		const struct store_table *table = store_table((enum store_row)kind);

		CHECK(table->key_count >= 1 && table->key_count <= 3);
		CHECK(table->column_count > table->key_count &&
		      table->column_count <= STORE_VALUES_MAX);
		for (size_t i = 0; i < table->column_count; i++) {
			CHECK(table->columns[i].offset + 8 <= table->row_bytes);
			for (size_t j = 0; j < i; j++) {
				CHECK(strcmp(table->columns[i].name, table->columns[j].name) != 0);
				CHECK(table->columns[i].offset != table->columns[j].offset);
			}
		}
	}
}

/* A field that no column has would be lost in silence. */
TEST(every_field_is_a_column)
{
	for (int kind = 0; kind < STORE_ROW_COUNT; kind++) {
		const struct store_table *table = store_table((enum store_row)kind);
		size_t bytes = 0;

		for (size_t i = 0; i < table->column_count; i++)
			bytes += table->columns[i].type == STORE_BYTES ? 16 : 8;
		CHECK_INT(bytes, table->row_bytes);
	}
}

TEST(statements_name_every_column)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct buf sql;

	buf_init(&sql, &memory, 0);
	CHECK_OK(store_put_sql(&sql, store_table(STORE_ENTITY), &err));
	CHECK_TEXT(sql.text,
		   "INSERT INTO parties (kind, name, parent, settings) VALUES ($1, $2, $3, $4) "
		   "ON CONFLICT (kind, name) DO UPDATE SET parent = excluded.parent, "
		   "settings = excluded.settings");
	buf_reset(&sql);
	CHECK_OK(store_put_sql(&sql, store_table(STORE_BLOB), &err));
	CHECK_TEXT(sql.text, "INSERT INTO blobs (hash, bytes) VALUES ($1, $2) "
			     "ON CONFLICT (hash) DO NOTHING");
	buf_reset(&sql);
	CHECK_OK(store_delete_sql(&sql, store_table(STORE_CHECKPOINT), &err));
	CHECK_TEXT(sql.text, "DELETE FROM checkpoints WHERE job = $1 AND rank = $2");
	buf_fini(&sql);
	CHECK_INT(memory.used_bytes, 0);
}

static int copy_row(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct store_entity entity = { "user", "ada", NULL, "{}" };
	struct strata_arena arena;

	(void)context;
	strata_arena_init(&arena, memory, 0);
	const struct store_entity *copy = store_row_copy(STORE_ENTITY, &entity, &arena);
	int rc = copy ? 0 : strata_fail_memory(err);

	if (copy) {
		CHECK(copy->name != entity.name);
		CHECK_TEXT(copy->name, "ada");
		CHECK_TEXT(copy->parent, NULL);
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(a_copy_has_its_own_texts)
{
	test_every_allocation(copy_row, NULL);
}
