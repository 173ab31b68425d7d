/*
 * Gangs of pods. A gang is decided by the cluster level once as many of it are there as it says.
 * All of it is bound in one round; a scheduler that dies between two bindings leaves a gang that is
 * bound in part. The next one sees that from the API alone: a waiting member that is older than the
 * binding of another. The rest of such a gang goes before everybody else, and if it finds no place
 * within `gang_patience`, the members that were bound are deleted, so that nothing is held for ever
 * by those who wait for each other. A member that is younger than the binding takes the place of
 * one that failed, and goes by itself.
 */
#include "pods/pods_round.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

static struct pods_gang *gang_of(const struct pods_round *round, const struct pod *pod)
{
	return map_text_get(&round->gangs, pod->gang, strlen(pod->gang));
}

static struct pods_gang *make(struct pods_round *round, const struct pod *pod)
{
	struct pods_gang *gang = gang_of(round, pod);

	if (gang)
		return gang;
	gang = strata_arena_get(round->arena, sizeof(*gang));
	if (!gang || map_text_put(&round->gangs, pod->gang, strlen(pod->gang), gang, NULL))
		return NULL;
	gang->size = pod->gang_size;
	gang->number = round->gangs.count;
	gang->bound_ns = INT64_MAX;
	return gang;
}

static const char *owner_key(struct pods_round *round, const struct pod *pod)
{
	return strata_arena_printf(round->arena, "%s %s", pod->gang, pod->owner);
}

/* The controllers whose pods wait, gang by gang. */
static int list_owners(struct pods_round *round, struct map_text *owners)
{
	for (size_t i = 0; i < round->pod_count; i++) {
		struct pod *pod = round->pods[i];

		if (!pod->gang || !pod->owner || !pods_waits(pod, round->now_ns))
			continue;
		const char *key = owner_key(round, pod);

		if (!key || map_text_put(owners, key, strlen(key), pod, NULL))
			return strata_fail_memory(round->err);
	}
	return 0;
}

/* One that has ended counts only where its controller has others that wait: they go on with the
 * same work, while those of a later job of that name begin anew. */
static bool is_bound(struct pods_round *round, const struct map_text *owners, const struct pod *pod)
{
	if (!pod->node || pod->deleting)
		return false;
	const char *key = pod->ended && pod->owner ? owner_key(round, pod) : NULL;

	return !pod->ended || (key && map_text_get(owners, key, strlen(key)));
}

/* A waiting one from before the first of them was bound. */
static bool is_left_over(const struct pods_gang *gang, const struct pod *pod)
{
	return gang->bound && pod->created_ns <= gang->bound_ns;
}

static void count_left_over(struct pods_round *round)
{
	for (size_t i = 0; i < round->pod_count; i++) {
		struct pod *pod = round->pods[i];
		struct pods_gang *gang = pod->ours && pod->gang ? gang_of(round, pod) : NULL;

		if (gang && pods_waits(pod, round->now_ns))
			gang->waiting += !gang->bound || is_left_over(gang, pod);
	}
}

static int count_members(struct pods_round *round, const struct map_text *owners)
{
	for (size_t i = 0; i < round->pod_count; i++) {
		struct pod *pod = round->pods[i];

		if (!pod->ours || !pod->gang || !pod->gang_size)
			continue;
		struct pods_gang *gang = make(round, pod);

		if (!gang)
			return strata_fail_memory(round->err);
		if (!is_bound(round, owners, pod))
			continue;
		gang->bound++;
		if (pod->bound_ns != STRATA_TIME_NONE && pod->bound_ns < gang->bound_ns)
			gang->bound_ns = pod->bound_ns;
	}
	return 0;
}

int pods_gangs_make(struct pods_round *round)
{
	const struct map_text_entry *at = NULL;
	struct map_text owners;

	map_text_init(&owners, round->mirror->memory);
	int rc = list_owners(round, &owners);

	if (rc == 0)
		rc = count_members(round, &owners);
	map_text_fini(&owners);
	if (rc)
		return rc;
	count_left_over(round);
	while ((at = map_text_next(&round->gangs, at))) {
		struct pods_gang *gang = at->value;
		int64_t missing = gang->size - (int64_t)gang->bound;

		if (missing > 0 && (int64_t)gang->waiting >= missing) {
			gang->cluster_size = (uint32_t)missing;
			gang->left = missing;
			gang->first_in_line = gang->bound > 0;
		}
	}
	return 0;
}

bool pods_gang_admit(struct pods_round *round, const struct pod *pod, struct pods_gang **ret_gang,
		     const char **ret_sentence)
{
	struct pods_gang *gang = pod->gang ? gang_of(round, pod) : NULL;

	*ret_gang = NULL;
	if (!gang || (gang->bound && !is_left_over(gang, pod)) ||
	    (int64_t)gang->bound >= gang->size)
		return true; /* by itself */
	if (gang->left > 0) {
		gang->left--;
		*ret_gang = gang;
		return true;
	}
	if (gang->cluster_size)
		*ret_sentence = strata_arena_printf(
			round->arena, "the first %lld of its gang \"%s\" come before it",
			(long long)gang->size, strchr(pod->gang, '/') + 1);
	else
		*ret_sentence = strata_arena_printf(
			round->arena, "waits for its gang \"%s\": %zu of %lld are there",
			strchr(pod->gang, '/') + 1, gang->bound + gang->waiting,
			(long long)gang->size);
	return false;
}

/* Bound in part, with others that were there already and have found no place. */
static bool is_stuck(const struct pods_round *round, const struct pods_gang *gang)
{
	return gang->bound && gang->waiting && (int64_t)gang->bound < gang->size &&
	       gang->bound_ns <= round->now_ns - round->conf->gang_patience_ns;
}

int pods_gangs_take_down(struct pods_round *round)
{
	char patience[STRATA_FORM_BYTES];
	int rc = 0;

	strata_duration_print_short(round->conf->gang_patience_ns, patience);
	for (size_t i = 0; rc == 0 && i < round->pod_count; i++) {
		struct pod *pod = round->pods[i];
		struct pods_gang *gang = pod->ours && pod->gang && pod->node && !pod->deleting &&
							 !pod->ended && !pod->assumed
						 ? gang_of(round, pod)
						 : NULL;

		if (!gang || !is_stuck(round, gang))
			continue;
		struct pods_decision evict = {
			.kind = PODS_EVICT,
			.pod = pod,
			.reason = "GangIncomplete",
			.sentence = strata_arena_printf(
				round->arena,
				"only %zu of the %lld of its gang could be bound within %s",
				gang->bound, (long long)gang->size, patience),
		};

		rc = evict.sentence ? pods_round_add(round, &evict)
				    : strata_fail_memory(round->err);
	}
	return rc;
}
