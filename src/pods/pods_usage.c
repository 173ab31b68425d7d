/* Usage by service account: GPU-hours that halve in a half-life. */
#include "pods/pods_usage.h"

#include <strata/text.h>

#include <jansson.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* less than that is nothing: it keeps nobody behind anybody */
#define HOURS_MIN 1e-6

void pods_usage_init(struct pods_usage *usage, struct strata_memory *memory, int64_t half_life_ns)
{
	*usage = (struct pods_usage){ .memory = memory, .half_life_ns = half_life_ns };
	map_text_init(&usage->users, memory);
}

static void forget_all(struct pods_usage *usage)
{
	const struct map_text_entry *at = NULL;

	while ((at = map_text_next(&usage->users, at)))
		strata_memory_put(usage->memory, at->value, sizeof(struct pods_used));
	map_text_fini(&usage->users);
	map_text_init(&usage->users, usage->memory);
}

void pods_usage_fini(struct pods_usage *usage)
{
	forget_all(usage);
	map_text_fini(&usage->users);
}

void pods_usage_fade(struct pods_usage *usage, int64_t now_ns)
{
	double part = exp2(-(double)(now_ns - usage->at_ns) / (double)usage->half_life_ns);
	const struct map_text_entry *at, *next;

	if (now_ns <= usage->at_ns)
		return;
	for (at = map_text_next(&usage->users, NULL); at; at = next) {
		struct pods_used *used = at->value;

		next = map_text_next(&usage->users, at);
		used->gpu_hours *= part;
		if (used->gpu_hours >= HOURS_MIN)
			continue;
		map_text_remove(&usage->users, at->key, at->key_bytes);
		strata_memory_put(usage->memory, used, sizeof(*used));
	}
	usage->at_ns = now_ns;
}

int pods_usage_charge(struct pods_usage *usage, const char *user, double gpu_hours,
		      struct strata_error *err)
{
	struct pods_used *used = map_text_get(&usage->users, user, strlen(user));

	if (!(gpu_hours > 0))
		return 0;
	if (!used) {
		used = strata_memory_get(usage->memory, sizeof(*used));
		if (!used || map_text_put(&usage->users, user, strlen(user), used, NULL)) {
			strata_memory_put(usage->memory, used, sizeof(*used));
			return strata_fail_memory(err);
		}
	}
	used->gpu_hours += gpu_hours;
	return 0;
}

/* ---- as text ---- */

static int refuse(struct strata_error *err)
{
	return strata_fail(err, -EINVAL,
			   "the usage is not {\"at\":\"TIME\",\"gpu_hours\":{\"NAME\":NUMBER,…}}");
}

static int read_users(struct pods_usage *usage, const json_t *hours, struct strata_error *err)
{
	const char *name;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)hours, name, value)
	{
		rc = pods_usage_charge(usage, name, json_number_value(value), err);
		if (rc)
			break;
	}
	return rc;
}

static bool are_numbers(const json_t *hours)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)hours, name,
			    value) if (!json_is_number(value) || !(json_number_value(value) >= 0) ||
				       json_number_value(value) >
					       STRATA_SHARE_AMOUNT_MAX) return false;
	return json_is_object(hours) && json_object_size(hours) <= STRATA_PODS_USERS_MAX;
}

int pods_usage_read(struct pods_usage *usage, const char *text, struct strata_error *err)
{
	size_t length = strlen(text);
	json_t *json = length <= STRATA_PODS_USAGE_BYTES_MAX
			       ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL)
			       : NULL;
	const char *at = json_string_value(json_object_get(json, "at"));
	const json_t *hours = json_object_get(json, "gpu_hours");
	int64_t at_ns;
	int rc = 0;

	if (!at || !are_numbers(hours) ||
	    strata_time_parse(at, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &at_ns, NULL))
		rc = refuse(err);
	if (rc == 0) {
		forget_all(usage);
		rc = read_users(usage, hours, err);
		usage->at_ns = at_ns;
	}
	json_decref(json);
	return rc;
}

static int compare_used(const void *a_any, const void *b_any)
{
	const struct map_text_entry *const *a = a_any, *const *b = b_any;
	double left = ((const struct pods_used *)(*a)->value)->gpu_hours;
	double right = ((const struct pods_used *)(*b)->value)->gpu_hours;

	return left > right ? -1 : left < right;
}

/* Of all, or the STRATA_PODS_USERS_MAX that used most. */
static json_t *write_users(const struct pods_usage *usage)
{
	size_t count = 0, bytes = 0;
	const struct map_text_entry *at = NULL,
				    **entries = malloc((usage->users.count + 1) *
						       sizeof(const struct map_text_entry *));
	json_t *hours = json_object();
	bool ok = hours && entries;

	while (ok && (at = map_text_next(&usage->users, at)))
		entries[count++] = at;
	if (ok)
		qsort(entries, count, sizeof(const struct map_text_entry *), compare_used);
	for (size_t i = 0; ok && i < count && i < STRATA_PODS_USERS_MAX; i++) {
		bytes += entries[i]->key_bytes * 6 + 40;
		if (bytes > STRATA_PODS_USAGE_BYTES_MAX - 100)
			break;
		ok = json_object_set_new(
			     hours, entries[i]->key,
			     json_real(((struct pods_used *)entries[i]->value)->gpu_hours)) == 0;
	}
	free(entries);
	if (ok)
		return hours;
	json_decref(hours);
	return NULL;
}

char *pods_usage_write(const struct pods_usage *usage)
{
	char at[STRATA_FORM_BYTES];
	json_t *hours = write_users(usage);
	json_t *json = hours ? json_pack("{s:s,s:o}", "at", strata_time_print(usage->at_ns, at),
					 "gpu_hours", hours)
			     : NULL;
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(json);
	return text;
}
