/* The ring of event_ring.h. It has all events behind the number `from`; what falls out of it moves
 * that number on. Who finds that there are newer ones reads them for everybody. */
#include "server/event_ring.h"

#include "core/text.h"
#include "server/view.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, BYTES_MAX = 4 << 20 };

struct slot {
	int64_t sequence;
	char *text;
	size_t length;
	char *owner; /* who alone sees it, beside operators; NULL: all do */
};

struct event_ring {
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
	size_t first, count;
	size_t bytes;
	int64_t from, last; /* it has those in (from, last] */
	bool begun;
};

int event_ring_new(struct event_ring **ret_ring, struct strata_error *err)
{
	struct event_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return strata_fail_memory(err);
	pthread_mutex_init(&ring->lock, NULL);
	*ret_ring = ring;
	return 0;
}

static void drop_first(struct event_ring *ring)
{
	struct slot *slot = &ring->slots[ring->first];

	ring->from = slot->sequence;
	ring->bytes -= slot->length;
	free(slot->text);
	free(slot->owner);
	ring->first = (ring->first + 1) % SLOTS;
	ring->count--;
}

void event_ring_free(struct event_ring *ring)
{
	if (!ring)
		return;
	while (ring->count)
		drop_first(ring);
	pthread_mutex_destroy(&ring->lock);
	free(ring);
}

/* ---- events as text ---- */

int event_text_add(struct buf *buf, const struct store_event *row, struct strata_error *err)
{
	json_t *about = row->about ? json_loads(row->about, 0, NULL) : NULL;
	json_t *json = json_pack("{s:I,s:o,s:I,s:s,s:o}", "sequence", (json_int_t)row->sequence,
				 "at", view_exact_time(row->at_ns), "job", (json_int_t)row->job,
				 "kind", row->kind, "about", about ? about : json_object());
	char *data = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!data)
		return strata_fail_memory(err);
	buf_printf(buf, "id: %lld\nevent: %s\ndata: ", (long long)row->sequence, row->kind);
	text_show_json(buf, data, strlen(data));
	buf_add(buf, "\n\n");
	free(data);
	return buf->failed ? strata_fail_memory(err) : 0;
}

int event_owner(const struct store_event *row, char **ret_owner)
{
	*ret_owner = NULL;
	if (strcmp(row->kind, "task") != 0)
		return 0;
	json_t *about = row->about ? json_loads(row->about, 0, NULL) : NULL;
	const char *owner = json_string_value(json_object_get(about, "user"));

	*ret_owner = strdup(owner ? owner : ""); /* of nobody: for operators */
	json_decref(about);
	return *ret_owner ? 0 : -ENOMEM;
}

bool event_is_for(const char *owner, const char *user, enum role role)
{
	return !owner || role >= ROLE_OPERATOR || (*owner && strcmp(owner, user) == 0);
}

/* ---- the ring ---- */

int event_ring_put(struct event_ring *ring, const struct store_event *row, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct slot slot = { .sequence = row->sequence };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	int rc = event_text_add(&buf, row, err);

	if (rc == 0 && event_owner(row, &slot.owner))
		rc = strata_fail_memory(err);
	slot.length = buf.length;
	slot.text = rc == 0 ? strdup(buf.text) : NULL;
	buf_fini(&buf);
	if (!slot.text) {
		free(slot.owner);
		return rc ? rc : strata_fail_memory(err);
	}
	while (ring->count == SLOTS || (ring->count && ring->bytes + slot.length > BYTES_MAX))
		drop_first(ring);
	ring->slots[(ring->first + ring->count++) % SLOTS] = slot;
	ring->bytes += slot.length;
	ring->last = slot.sequence;
	return 0;
}

/* The first slot behind a number; they are in its order. */
static size_t find(const struct event_ring *ring, int64_t after)
{
	size_t low = 0, high = ring->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ring->slots[(ring->first + middle) % SLOTS].sequence > after)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int copy(struct event_ring *ring, const char *user, enum role role, size_t limit,
		int64_t *after, struct buf *buf, struct strata_error *err)
{
	for (size_t i = find(ring, *after); i < ring->count && limit--; i++) {
		const struct slot *slot = &ring->slots[(ring->first + i) % SLOTS];

		if (event_is_for(slot->owner, user, role))
			buf_add_bytes(buf, slot->text, slot->length);
		*after = slot->sequence;
	}
	return buf->failed ? strata_fail_memory(err) : 0;
}

int event_ring_take(struct event_ring *ring, const char *user, enum role role, int64_t newest,
		    size_t limit, event_ring_read *read, void *context, int64_t *after,
		    struct buf *buf, struct strata_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&ring->lock);
	if (!ring->begun) { /* with the first that is asked for, or a little before the newest */
		ring->from = ring->last = newest - *after > SLOTS / 2 ? newest - SLOTS / 2 : *after;
		ring->begun = true;
	}
	if (*after < ring->from)
		rc = -ERANGE;
	else if (newest > ring->last)
		rc = read(context, ring->last, err);
	if (rc == 0 && *after < ring->from) /* what was read has pushed it out */
		rc = -ERANGE;
	if (rc == 0)
		rc = copy(ring, user, role, limit, after, buf, err);
	pthread_mutex_unlock(&ring->lock);
	return rc;
}
