/*
 * The mark: a small file that says what the store was when a leader began, and when it ended well. The store has a random number of its own (its
 * id) and one that grows with each of these moments (its generation); the mark has both as they were. So another store and
 * an older copy are noticed; and as long as no leader has ended well since, the log that SQLite keeps beside its file
 * must be there, since what was acknowledged may be in it alone. Nothing of this is done with every commit.
 *
 * A crash at any moment makes no false alarm: the numbers are durable in the store before they are in the mark, and the log is removed,
 * by whoever closes the store last, only after a mark that does not ask for it.
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

enum state {
	OPEN,     /* a leader began … */
	CLEAN,    /* … and ended well */
	ACCEPTED, /* whatever the store is, it is taken; its numbers go on from these */
	STATE_COUNT,
};
static const char *const states[STATE_COUNT] = { "open", "clean", "accepted" };

struct mark {
	int64_t id, generation, epoch;
	enum state state;
};

/* ---- the file ---- */

static bool parse(const char *text, struct mark *ret_mark)
{
	struct mark mark = { 0 };
	char word[16] = "";

	if (sscanf(text, SCAN, &mark.id, &mark.generation, &mark.epoch, word) != 4)
		return false;
	while (mark.state < STATE_COUNT && strcmp(states[mark.state], word) != 0)
		mark.state++;
	if (mark.state == STATE_COUNT)
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
		 states[mark->state]);
	return env_write_file(env_system(), AT_FDCWD, path, text, strlen(text), 0600, err);
}

int store_mark_accept(const char *path, struct strata_error *err)
{
	struct mark mark;
	int rc = read_mark(path, &mark, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	mark.state = ACCEPTED;
	return write_mark(path, &mark, err);
}

/* ---- does it fit? ---- */

static int refuse_files(const char *rest, const struct store_files *files, struct strata_error *err)
{
	if (!files->there)
		return strata_fail(
			err, -EBADMSG,
			"there is no %.200s, and there was one: the store is not what it "
			"was; " ADVICE,
			rest);
	if (files->sound)
		return strata_fail(err, -EBADMSG,
				   "%.200s-wal is missing, with what was acknowledged before the "
				   "service was killed: the store is not what it was; " ADVICE,
				   rest);
	return strata_fail(err, -EBADMSG, "%.200s is %s: the store is not what it was; " ADVICE,
			   rest, files->empty ? "empty" : "no database any more");
}

int store_mark_look(struct store *store, const char *rest, struct strata_error *err)
{
	struct mark mark = { 0 }, again = { 0 };
	struct store_files files;

	for (;;) {
		int rc = store->mark ? read_mark(store->mark, &mark, err) : -ENOENT;

		store->marked = rc == 0 && mark.state != ACCEPTED;
		if (rc || !store->cls->look || mark.state == ACCEPTED)
			return rc == -ENOENT ? 0 : rc;
		store->cls->look(rest, &files);
		if (files.sound && (files.logged || mark.state == CLEAN))
			return 0;
		/* unless its leader was just ending: that changes the mark first */
		if (read_mark(store->mark, &again, NULL) == 0 &&
		    memcmp(&mark, &again, sizeof(mark)) == 0)
			return refuse_files(rest, &files, err);
	}
}

static int ask_numbers(struct store *store, struct mark *ret_mark, struct strata_error *err)
{
	int rc = store_ask_number(store, ASK_ID, &ret_mark->id, err);

	if (rc == 0)
		rc = store_ask_number(store, ASK_GENERATION, &ret_mark->generation, err);
	return rc ? rc : store_ask_number(store, STORE_ASK_EPOCH, &ret_mark->epoch, err);
}

/* Will it be otherwise in a while? Then it says nothing about what is stored. */
static bool passes(int rc)
{
	return rc == -EAGAIN || rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -ENOMEM ||
	       rc == -EIO;
}

int store_mark_compare(struct store *store, struct strata_error *err)
{
	struct mark mark = { 0 }, own = { 0 };

	if (store->mark && store->cls->keep_log)
		store->cls->keep_log(store, true);
	if (!store->marked)
		return 0;
	int rc = read_mark(store->mark, &mark, err);

	if (rc == -ENOENT || (rc == 0 && mark.state == ACCEPTED))
		return 0;
	if (rc == 0)
		rc = ask_numbers(store, &own, err);
	if (passes(rc) || rc == -EBADMSG)
		return rc;
	if (rc || own.id != mark.id) /* without tables, it is a new one */
		return strata_fail(err, -EBADMSG,
				   "the store is another store than the one that was served from "
				   "here; " ADVICE);
	if (own.generation < mark.generation)
		return strata_fail(err, -EBADMSG,
				   "the store is older than it was: it is of generation %" PRId64
				   ", and %" PRId64 " was served from here; " ADVICE,
				   own.generation, mark.generation);
	return 0;
}

/* ---- keeping it ---- */

/* What was accepted goes on from where the mark was: an executor knows the epoch, and obeys no older one. */
static int catch_up(struct store *store, struct strata_error *err)
{
	struct mark mark = { 0 };
	int rc = read_mark(store->mark, &mark, err);
	const struct store_value epoch[] = { STORE_INT_OF(mark.epoch + 1) };
	const struct store_value generation[] = { STORE_INT_OF(mark.generation) };

	if (rc || mark.state != ACCEPTED)
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
static int mark_as(struct store *store, enum state state, struct strata_error *err)
{
	struct mark mark = { .state = state };
	int rc = ask_numbers(store, &mark, err);

	return rc ? rc : write_mark(store->mark, &mark, err);
}

int store_mark_opened(struct store *store, struct strata_error *err)
{
	return store->mark ? mark_as(store, OPEN, err) : 0;
}

static int raise_alone(struct store *store, void *context, struct strata_error *err)
{
	(void)context;
	return store_mark_raise(store, err);
}

/* If it cannot be said that all is well, the log stays, and the mark asks for it. A database without files of ours needs none of this. */
void store_mark_closed(struct store *store)
{
	if (!store->mark || !store->leading || !store->cls->look)
		return;
	if (store_transact(store, &store->epoch, raise_alone, NULL, NULL) == 0 &&
	    mark_as(store, CLEAN, NULL) == 0)
		store->cls->keep_log(store, false);
}
