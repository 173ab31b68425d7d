/* Removing a copy, or what is left of older versions of it; and the names that its objects have. */
#include "s3/copy.h"

#include "s3/manifest.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

const char *copy_key(const struct copy_order *order, struct strata_arena *arena,
		     const char *version, size_t index)
{
	return version ? strata_arena_printf(arena, "%s/%s/%zu", order->key, version, index)
		       : strata_arena_printf(arena, "%s/manifest", order->key);
}

int copy_manifest(struct s3 *s3, const struct copy_order *order, struct strata_arena *arena,
		  struct manifest *ret_manifest, struct strata_error *err)
{
	struct s3_request request = { .method = "GET", .key = copy_key(order, arena, NULL, 0) };
	struct s3_answer answer;

	if (!request.key)
		return strata_fail_memory(err);
	s3_answer_init(s3, &answer);
	int rc = s3_call(s3, &request, &answer, err);

	if (rc == 0)
		rc = manifest_read(answer.body.text ? answer.body.text : "", answer.body.length,
				   arena, ret_manifest, err);
	s3_answer_fini(&answer);
	return rc;
}

struct sweep {
	struct s3 *s3;
	const char *manifest, *kept; /* kept: what keys that stay begin with; NULL: none does */
};

static int drop_key(void *context, const char *key, struct strata_error *err)
{
	const struct sweep *sweep = context;

	if (sweep->kept && (strcmp(key, sweep->manifest) == 0 ||
			    strncmp(key, sweep->kept, strlen(sweep->kept)) == 0))
		return 0;
	return s3_delete(sweep->s3, key, err);
}

int copy_sweep(struct s3 *s3, const struct copy_order *order, const char *version,
	       struct strata_error *err)
{
	struct strata_arena arena;
	struct sweep sweep = { .s3 = s3 };

	strata_arena_init(&arena, s3_memory(s3), 0);
	const char *prefix = strata_arena_printf(&arena, "%s/", order->key);

	sweep.manifest = copy_key(order, &arena, NULL, 0);
	if (version)
		sweep.kept = strata_arena_printf(&arena, "%s/%s/", order->key, version);
	int rc = prefix && sweep.manifest && (!version || sweep.kept) ? 0 : strata_fail_memory(err);

	if (rc == 0)
		rc = s3_list(s3, prefix, drop_key, &sweep, err);
	if (rc == 0)
		rc = s3_abort_parts(s3, prefix, err);
	strata_arena_fini(&arena);
	return rc;
}

int copy_drop(struct s3 *s3, const struct copy_order *order, struct copy_result *ret_result,
	      struct strata_error *err)
{
	struct strata_arena arena;

	strata_arena_init(&arena, s3_memory(s3), 0);
	const char *key = copy_key(order, &arena, NULL, 0);
	int rc = key ? s3_delete(s3, key, err) : strata_fail_memory(err); /* it is whole no more */

	if (rc == 0)
		rc = copy_sweep(s3, order, NULL, err);
	strata_arena_fini(&arena);
	*ret_result = (struct copy_result){ 0 };
	return rc;
}
