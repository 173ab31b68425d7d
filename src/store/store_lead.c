/*
 * Who leads: the lock, the epoch, and the row that names the leader. The lock says who may try, the
 * epoch who may write; the row is for people and for servers that stand by. It has a counter which
 * the leader moves on, so that one that has stopped without letting go of its lock (suspended, cut
 * off) can be told from one that has nothing to write.
 */
#include "store/store_int.h"

#include <errno.h>

int store_epoch(struct store *store, uint64_t *ret_epoch, struct strata_error *err)
{
	int64_t epoch = 0;
	int rc = store_ask_number(store, STORE_ASK_EPOCH, &epoch, err);

	if (rc == 0)
		*ret_epoch = (uint64_t)epoch;
	return rc;
}

/* ---- leading ---- */

struct lead {
	const struct store_leader *self;
	int64_t epoch;
};

static int raise_epoch(struct store *store, void *context, struct strata_error *err)
{
	struct lead *lead = context;
	int rc = store->cls->lock(store, err);

	if (rc == 0)
		rc = store_run(store, "UPDATE meta SET number = number + 1 WHERE name = 'epoch'",
			       NULL, 0, err);
	if (rc == 0)
		rc = store_mark_raise(store, err);
	if (rc == 0)
		rc = store_ask_number(store, STORE_ASK_EPOCH, &lead->epoch, err);
	if (rc < 0)
		return rc;
	const struct store_value values[] = { STORE_INT_OF(lead->epoch),
					      store_text_of(lead->self->address),
					      store_text_of(lead->self->host),
					      STORE_INT_OF(lead->self->since_ns) };

	return store_run(store,
			 "UPDATE leader SET epoch = $1, address = $2, host = $3, since_at = $4, "
			 "beats = beats + 1",
			 values, 4, err);
}

int store_lead(struct store *store, const struct store_leader *self, uint64_t *ret_epoch,
	       struct strata_error *err)
{
	static const struct store_leader nobody = { .address = "", .host = "" };
	struct lead lead = { .self = self ? self : &nobody };

	if (store->read_only)
		return store_fail_read_only(err);
	/* First alone, so that who cannot lead does not wait for the one who does. */
	int rc = store->cls->lock(store, err);

	if (rc == 0)
		rc = store_transact(store, NULL, raise_epoch, &lead, err);
	if (rc < 0)
		return rc;
	store->epoch = (uint64_t)lead.epoch;
	rc = store_mark_write(store, err);
	if (rc < 0)
		return rc;
	store->leading = true;
	*ret_epoch = store->epoch;
	return 0;
}

static int beat(struct store *store, void *context, struct strata_error *err)
{
	int rc = store->cls->light ? store_run(store, store->cls->light, NULL, 0, err) : 0;

	(void)context;
	return rc < 0 ? rc : store_run(store, "UPDATE leader SET beats = beats + 1", NULL, 0, err);
}

int store_beat(struct store *store, uint64_t epoch, struct strata_error *err)
{
	return store_transact(store, &epoch, beat, NULL, err);
}

/* ---- standing by ---- */

bool store_shared(const struct store *store)
{
	return store->cls->depose != NULL;
}

int store_depose(struct store *store, struct strata_error *err)
{
	if (!store->cls->depose)
		return strata_fail(err, -ENOTSUP, "a %s store has one server",
				   store->cls->base.name);
	return store->cls->depose(store, err);
}

struct found {
	struct strata_arena *arena;
	struct store_leader leader;
};

static int take_leader(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	struct found *found = context;

	(void)count;
	found->leader = (struct store_leader){
		.epoch = (uint64_t)cells[0].number,
		.address = strata_arena_text(found->arena, cells[1].bytes, cells[1].size_bytes),
		.host = strata_arena_text(found->arena, cells[2].bytes, cells[2].size_bytes),
		.since_ns = cells[3].number,
		.beats = cells[4].number,
	};
	return found->leader.address && found->leader.host ? 0 : strata_fail_memory(err);
}

int store_leader(struct store *store, struct strata_arena *arena, struct store_leader *ret_leader,
		 struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT, STORE_TEXT, STORE_TEXT, STORE_INT,
						 STORE_INT };
	struct found found = { .arena = arena, .leader = { .address = "", .host = "" } };
	int rc = store_ask(store, "SELECT epoch, address, host, since_at, beats FROM leader", NULL,
			   0, types, 5, take_leader, &found, err);

	if (rc == 0)
		*ret_leader = found.leader;
	return rc;
}
