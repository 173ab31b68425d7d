/*
 * The mark: a small file that says what the store was when somebody looked last. The store has a
 * random number of its own (its id) and one that grows (its generation); the mark has both as they
 * were. So another store and an older copy are noticed. The generation grows when a leader begins,
 * when it ends, and whenever SQLite has taken its log into its file: so the newest one is in the
 * log alone, and a file that has lost its log is an older copy, too; one whose log was taken in by
 * another program is not. Nothing of this is done with every commit.
 *
 * A crash at any moment makes no false alarm: the numbers are durable in the store before they are
 * in the mark.
 */
#include "store/store.h"

#include "core/env.h"
#include "store/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "strata-store id=%" PRId64 " generation=%" PRId64 " epoch=%" PRId64 " %s\n"
#define SCAN "strata-store id=%" SCNd64 " generation=%" SCNd64 " epoch=%" SCNd64 " %15s"
#define ASK_ID "SELECT number FROM meta WHERE name = 'id'"
#define ASK_GENERATION "SELECT number FROM meta WHERE name = 'generation'"
#define ADVICE \
	"put the right one back, or take this one as it is with `strata serve --accept-store`"
enum { MARK_BYTES = 160 };

struct mark {
	int64_t id, generation, epoch;
	bool accepted; /* whatever the store is, it is taken; its numbers go on from these */
};

/* ---- the file ---- */

static bool parse(const char *text, struct mark *ret_mark)
{
	struct mark mark = { 0 };
	char word[16] = "";

	if (sscanf(text, SCAN, &mark.id, &mark.generation, &mark.epoch, word) != 4)
		return false;
	mark.accepted = strcmp(word, "accepted") == 0;
	if (!mark.accepted && strcmp(word, "served") != 0)
		return false;
	*ret_mark = mark;
	return true;
}

/* -ENOENT: there is none. */
static int read_mark(const char *path, struct mark *ret_mark, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	size_t length;
	char *text;

	strata_arena_init(&arena, &memory, 0);
	int rc = env_read_file(env_system(), AT_FDCWD, path, MARK_BYTES, &arena, &text, &length,
			       err);

	if (rc == 0 && !parse(text, ret_mark))
		rc = strata_fail(
			err, -EBADMSG,
			"%.200s is no mark of a store; remove it, and the store is taken as "
			"it is",
			path);
	strata_arena_fini(&arena);
	return rc;
}

static int write_mark(const char *path, const struct mark *mark, struct strata_error *err)
{
	char text[MARK_BYTES];

	snprintf(text, sizeof(text), FORMAT, mark->id, mark->generation, mark->epoch,
		 mark->accepted ? "accepted" : "served");
	return env_write_file(env_system(), AT_FDCWD, path, text, strlen(text), 0600, err);
}

int store_mark_accept(const char *path, struct strata_error *err)
{
	struct mark mark;
	int rc = read_mark(path, &mark, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	mark.accepted = true;
	return write_mark(path, &mark, err);
}

/* ---- does it fit? ---- */

int store_mark_look(struct store *store, const char *rest, struct strata_error *err)
{
	struct mark mark = { 0 };
	struct store_files files;
	int rc = store->mark ? read_mark(store->mark, &mark, err) : -ENOENT;

	store->marked = rc == 0 && !mark.accepted;
	if (!store->marked || !store->cls->look)
		return rc == -ENOENT ? 0 : rc;
	store->cls->look(rest, &files);
	store->logged = files.logged;
	if (!files.there)
		return strata_fail(
			err, -EBADMSG,
			"there is no %.200s, and there was one: the store is not what it "
			"was; " ADVICE,
			rest);
	if (!files.sound)
		return strata_fail(
			err, -EBADMSG,
			"%.200s is %s: the store is not what it was; put a backup in its "
			"place, or move it away, and start once with `strata serve "
			"--accept-store`",
			rest, files.empty ? "empty" : "no database any more");
	return 0;
}

static int ask_numbers(struct store *store, struct mark *ret_mark, struct strata_error *err)
{
	int rc = store_ask_number(store, ASK_ID, &ret_mark->id, err);

	if (rc == 0)
		rc = store_ask_number(store, ASK_GENERATION, &ret_mark->generation, err);
	return rc ? rc : store_ask_number(store, STORE_ASK_EPOCH, &ret_mark->epoch, err);
}

/* The answer to a question about a database without tables, in the words of either. */
static bool has_no_tables(const struct strata_error *why)
{
	return strstr(why->text, "no such table") || strstr(why->text, "does not exist");
}

/* The numbers do not fit: why that may be. */
static int refuse(const struct store *store, const struct mark *mark, const struct mark *own,
		  struct strata_error *err)
{
	if (store->cls->look && !store->logged && (own->id == mark->id || !own->id))
		return strata_fail(
			err, -EBADMSG,
			"the store is older than it was, and its log (the file that ends in "
			"-wal) is missing: what was acknowledged last is not there; " ADVICE);
	if (own->id != mark->id)
		return strata_fail(err, -EBADMSG,
				   "the store is another store than the one that was served from "
				   "here; " ADVICE);
	return strata_fail(err, -EBADMSG,
			   "the store is older than it was: it is of generation %" PRId64
			   ", and %" PRId64 " was served from here; " ADVICE,
			   own->generation, mark->generation);
}

int store_mark_compare(struct store *store, struct strata_error *err)
{
	struct mark mark = { 0 }, own = { 0 };
	struct strata_error why = { 0 };

	if (!store->marked)
		return 0;
	int rc = read_mark(store->mark, &mark, err);

	if (rc == -ENOENT || (rc == 0 && mark.accepted))
		return 0;
	if (rc)
		return rc;
	rc = ask_numbers(store, &own, &why);
	if (rc && !has_no_tables(&why))
		return strata_fail(err, rc, "%s", why.text);
	return rc || own.id != mark.id || own.generation < mark.generation
		       ? refuse(store, &mark, &own, err)
		       : 0;
}

/* ---- keeping it ---- */

/* What was accepted goes on from where the mark was: an executor knows the epoch, and obeys no
 * older one. */
static int catch_up(struct store *store, struct strata_error *err)
{
	struct mark mark = { 0 };
	int rc = read_mark(store->mark, &mark, err);
	const struct store_value epoch[] = { STORE_INT_OF(mark.epoch + 1) };
	const struct store_value generation[] = { STORE_INT_OF(mark.generation) };

	if (rc || !mark.accepted)
		return rc == -ENOENT ? 0 : rc;
	rc = store_run(store, "UPDATE meta SET number = $1 WHERE name = 'epoch' AND number < $1",
		       epoch, 1, err);
	return rc ? rc
		  : store_run(store,
			      "INSERT INTO meta (name, number) VALUES ('generation', $1) "
			      "ON CONFLICT (name) DO UPDATE SET number = $1 WHERE meta.number < $1",
			      generation, 1, err);
}

int store_mark_raise(struct store *store, struct strata_error *err)
{
	int64_t id;

	if (!store->mark)
		return 0;
	int rc = env_random(env_system(), &id, sizeof(id), err);
	const struct store_value values[] = { STORE_INT_OF(id & INT64_MAX) };

	if (rc == 0)
		rc = catch_up(store, err);
	if (rc == 0)
		rc = store_run(store,
			       "INSERT INTO meta (name, number) VALUES ('id', $1) "
			       "ON CONFLICT (name) DO NOTHING",
			       values, 1, err);
	return rc ? rc
		  : store_run(store,
			      "INSERT INTO meta (name, number) VALUES ('generation', 1) "
			      "ON CONFLICT (name) DO UPDATE SET number = meta.number + 1",
			      NULL, 0, err);
}

/* The numbers as they are in the store now. */
int store_mark_write(struct store *store, struct strata_error *err)
{
	struct mark mark = { 0 };
	int rc = store->mark ? ask_numbers(store, &mark, err) : 0;

	return rc || !store->mark ? rc : write_mark(store->mark, &mark, err);
}

static int raise_alone(struct store *store, void *context, struct strata_error *err)
{
	(void)context;
	return store_mark_raise(store, err);
}

/* If it cannot be done the mark stays as it was, and notices less. A database without files of ours
 * has others who look after it. */
void store_mark_renew(struct store *store)
{
	if (store->mark && store->leading && store->cls->look &&
	    store_transact(store, &store->epoch, raise_alone, NULL, NULL) == 0)
		store_mark_write(store, NULL);
}
