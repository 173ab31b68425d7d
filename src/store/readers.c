/*
 * The pool of readers: places with a store each, guarded by one lock, and a condition that the next
 * one given back signals. The last one given back is taken first, so few stay warm and the others
 * stay closed.
 */
#include "store/readers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct place {
	struct strata_memory memory; /* of its store */
	struct store *store;         /* NULL: not opened */
	bool taken;
	uint64_t given; /* when, by the count of givings */
};

struct store_readers {
	struct strata_memory *memory; /* borrowed */
	size_t size_bytes;            /* of this block */
	char *address;                /* behind the places */
	pthread_mutex_t lock;
	pthread_cond_t given;
	uint64_t givings;
	size_t count;
	struct place places[];
};

int store_readers_new(const char *address, size_t count_max, struct strata_memory *memory,
		      struct store_readers **ret_readers, struct strata_error *err)
{
	if (count_max < 1 || count_max > STRATA_STORE_READERS_MAX)
		return strata_fail_at(err, -ERANGE, "readers", "%zu readers; expected 1 to %d",
				      count_max, STRATA_STORE_READERS_MAX);
	size_t places_bytes = sizeof(struct store_readers) + count_max * sizeof(struct place);
	size_t size_bytes = places_bytes + strlen(address) + 1;
	struct store_readers *readers = strata_memory_get(memory, size_bytes);
	pthread_condattr_t monotonic;

	if (!readers)
		return strata_fail_memory(err);
	readers->memory = memory;
	readers->size_bytes = size_bytes;
	readers->count = count_max;
	readers->address = (char *)readers + places_bytes;
	strcpy(readers->address, address);
	pthread_mutex_init(&readers->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&readers->given, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*ret_readers = readers;
	return 0;
}

void store_readers_free(struct store_readers *readers)
{
	if (!readers)
		return;
	for (size_t i = 0; i < readers->count; i++) {
		assert(!readers->places[i].taken);
		store_close(readers->places[i].store);
	}
	pthread_cond_destroy(&readers->given);
	pthread_mutex_destroy(&readers->lock);
	strata_memory_put(readers->memory, readers, readers->size_bytes);
}

/* The free place that was given back last, or NULL. */
static struct place *warmest(struct store_readers *readers)
{
	struct place *best = NULL;

	for (size_t i = 0; i < readers->count; i++) {
		struct place *place = &readers->places[i];

		if (!place->taken && (!best || place->given > best->given))
			best = place;
	}
	return best;
}

static struct place *wait_for_place(struct store_readers *readers, int64_t wait_ns)
{
	struct timespec until;
	struct place *place;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	int64_t ns = until.tv_nsec + wait_ns % 1000000000;

	until.tv_sec += wait_ns / 1000000000 + ns / 1000000000;
	until.tv_nsec = ns % 1000000000;
	pthread_mutex_lock(&readers->lock);
	while (!(place = warmest(readers)) && rc == 0)
		rc = pthread_cond_timedwait(&readers->given, &readers->lock, &until);
	if (place)
		place->taken = true;
	pthread_mutex_unlock(&readers->lock);
	return place;
}

/* The place is free again, with this store in it. */
static void give_place(struct store_readers *readers, struct place *place, struct store *store)
{
	pthread_mutex_lock(&readers->lock);
	assert(place->taken);
	place->taken = false;
	place->store = store;
	place->given = store ? ++readers->givings : 0;
	pthread_cond_signal(&readers->given);
	pthread_mutex_unlock(&readers->lock);
}

int store_readers_take(struct store_readers *readers, int64_t wait_ns, struct store **ret_store,
		       struct strata_error *err)
{
	struct place *place = wait_for_place(readers, wait_ns);
	struct store *store;

	if (!place)
		return strata_fail(err, -EAGAIN, "all %zu readers of the store are busy",
				   readers->count);
	if (!place->store) { /* the place is ours: opening holds up nobody else */
		int rc = store_open(readers->address, true, &place->memory, &store, err);

		if (rc < 0) {
			give_place(readers, place, NULL);
			return rc;
		}
		pthread_mutex_lock(&readers->lock); /* store_readers_give looks at all places */
		place->store = store;
		pthread_mutex_unlock(&readers->lock);
	}
	*ret_store = place->store;
	return 0;
}

void store_readers_give(struct store_readers *readers, struct store *store)
{
	size_t i = 0;

	pthread_mutex_lock(&readers->lock);
	while (i < readers->count && readers->places[i].store != store)
		i++;
	pthread_mutex_unlock(&readers->lock);
	assert(i < readers->count);
	give_place(readers, &readers->places[i], store);
}
