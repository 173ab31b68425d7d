/* A reference run of a language model: greedy tokens equal, logits and caches near. */
#include "engine/replay.h"

#include <errno.h>
#include <string.h>

#define LOGITS_LIMIT 5e-5

static int read_ids(struct replay_case *it, const char *key, int64_t **ret_ids, size_t *ret_count,
		    struct strata_error *err)
{
	const json_t *list = json_object_get(it->json, key);
	size_t count = json_array_size(list);
	int64_t *ids = strata_arena_array(&it->arena, count, sizeof(*ids));

	if (!ids)
		return strata_fail_memory(err);
	if (count == 0)
		return strata_fail(err, -EBADMSG, "the case has no %s", key);
	for (size_t i = 0; i < count; i++)
		ids[i] = json_integer_value(json_array_get(list, i));
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}

/* All logits of the prompt. */
static int check_prefill(struct replay_case *it, struct strata_session *session,
			 struct strata_error *err)
{
	size_t rows, count;
	const float *logits = strata_session_all_logits(session, &rows, &count);
	struct npy want;
	bool there;
	int rc = replay_read(it, "prefill_logits", &want, &there, err);

	if (rc || !there)
		return rc;
	rc = replay_expect(&want, "prefill_logits", STRATA_DTYPE_F32, rows * count, err);
	if (rc == 0)
		replay_compare(it, "prefill_logits", logits, want.data, rows * count, LOGITS_LIMIT);
	return rc;
}

static int check_cache(struct replay_case *it, struct strata_session *session, const char *file,
		       const char *name, struct strata_error *err)
{
	struct strata_array cache;
	struct npy want;
	bool there;
	int rc = replay_read(it, file, &want, &there, err);

	if (rc || !there)
		return rc;
	cache = strata_session_cache(session, name);
	rc = replay_expect(&want, file, cache.dtype, (size_t)strata_array_elements(&cache), err);
	if (rc == 0 && cache.dtype == STRATA_DTYPE_F32)
		replay_compare(it, file, cache.data, want.data,
			       (size_t)strata_array_elements(&cache), LOGITS_LIMIT);
	strata_array_drop(&cache);
	return rc;
}

/* value_last: of the last layer there is. */
static void last_value(const struct strata_session *session, char ret_name[32])
{
	for (int layer = 0; layer < STRATA_LANGUAGE_LAYERS_MAX; layer++) {
		char name[32];
		struct strata_array cache;

		snprintf(name, sizeof(name), "present.%d.value", layer);
		cache = strata_session_cache(session, name);
		if (cache.dtype == STRATA_DTYPE_NONE)
			return;
		strata_array_drop(&cache);
		memcpy(ret_name, name, sizeof(name));
	}
}

static int answer(struct replay_case *it, struct strata_session *session, struct strata_error *err)
{
	char name[32] = "";
	struct npy want;
	bool there;
	int64_t *greedy;
	size_t count, vocabulary;
	int rc = read_ids(it, "greedy_ids", &greedy, &count, err);

	if (rc == 0)
		rc = replay_read(it, "logits", &want, &there, err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		int64_t id;

		rc = strata_session_next(session, &id, err);
		const float *logits = strata_session_logits(session, &vocabulary);

		if (rc == 0 && there && i == 0)
			rc = replay_expect(&want, "logits", STRATA_DTYPE_F32, count * vocabulary,
					   err);
		if (rc)
			break;
		if (there)
			replay_compare(it, "logits", logits,
				       (const float *)((const char *)want.data +
						       i * vocabulary * sizeof(float)),
				       vocabulary, LOGITS_LIMIT);
		replay_equal(it, "greedy_ids", id == greedy[i]);
	}
	if (rc == 0)
		last_value(session, name);
	if (rc == 0)
		rc = check_cache(it, session, "key0", "present.0.key", err);
	return rc ? rc : check_cache(it, session, "value_last", name, err);
}

int replay_language(struct replay_case *it, struct strata_language *language,
		    struct strata_error *err)
{
	struct strata_session *session;
	int64_t *prompt;
	size_t count;
	int rc = read_ids(it, "prompt_ids", &prompt, &count, err);

	if (rc == 0)
		rc = strata_session_new(language, NULL, &session, err);
	if (rc)
		return rc;
	rc = strata_session_read(session, prompt, count, err);
	if (rc == 0)
		rc = check_prefill(it, session, err);
	if (rc == 0)
		rc = answer(it, session, err);
	strata_session_free(session);
	return rc;
}
