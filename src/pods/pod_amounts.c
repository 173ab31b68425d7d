/* What pods ask for and nodes have: maps of quantities. CPU, memory and GPUs are what the cluster
 * level decides by; everything else is counted by name. */
#include "pods/pod.h"

#include "core/text.h"
#include "kubernetes/kube_quantity.h"

#include <errno.h>
#include <string.h>

int64_t pod_amounts_other(const struct pod_amounts *amounts, const char *name)
{
	for (size_t i = 0; i < amounts->other_count; i++)
		if (strcmp(amounts->others[i].name, name) == 0)
			return amounts->others[i].amount;
	return 0;
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t both;

	return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

/* The place of a name, made where it is missing; NULL: out of memory. */
static struct pod_other *other(struct pod_amounts *amounts, const char *name,
			       struct strata_arena *arena)
{
	size_t at = 0;

	while (at < amounts->other_count && strcmp(amounts->others[at].name, name) < 0)
		at++;
	if (at < amounts->other_count && strcmp(amounts->others[at].name, name) == 0)
		return &amounts->others[at];
	struct pod_other *more = strata_arena_array(arena, amounts->other_count + 1, sizeof(*more));
	const char *copy = strata_arena_text(arena, name, strlen(name));

	if (!more || !copy)
		return NULL;
	if (amounts->other_count)
		memcpy(more, amounts->others, at * sizeof(*more));
	more[at] = (struct pod_other){ copy, 0 };
	if (amounts->other_count)
		memcpy(more + at + 1, amounts->others + at,
		       (amounts->other_count - at) * sizeof(*more));
	amounts->others = more;
	amounts->other_count++;
	return &more[at];
}

static int add_one(struct pod_amounts *amounts, const char *name, int64_t amount,
		   const struct pod_rules *rules, struct strata_arena *arena,
		   struct strata_error *err)
{
	int64_t *to = strcmp(name, "cpu") == 0                 ? &amounts->cpu_milli
		      : strcmp(name, "memory") == 0            ? &amounts->memory_bytes
		      : strcmp(name, rules->gpu_resource) == 0 ? &amounts->gpus
							       : NULL;

	if (!to) {
		struct pod_other *place = other(amounts, name, arena);

		if (!place)
			return strata_fail_memory(err);
		to = &place->amount;
	}
	*to = sum(*to, amount);
	return 0;
}

static int read_one(const char *name, const json_t *value, int64_t *ret_amount,
		    struct strata_error *err)
{
	int64_t scale = strcmp(name, "cpu") == 0 ? 1000 : 1;
	const char *text = json_string_value(value);
	char excerpt[TEXT_EXCERPT_BYTES];

	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) < INT64_MAX / 1000)
		*ret_amount = json_integer_value(value) * scale;
	else if (!text || !kube_quantity_read(text, scale, ret_amount))
		return strata_fail_at(err, -EINVAL, "resources",
				      "%.60s is \"%s\"; expected a quantity such as 500m or 64Gi",
				      name, text ? text_excerpt(text, strlen(text), excerpt) : "?");
	return 0;
}

int pod_amounts_add(struct pod_amounts *amounts, const json_t *map, const struct pod_rules *rules,
		    struct strata_arena *arena, struct strata_error *err)
{
	const char *name;
	json_t *value;
	int rc = 0;

	if (json_object_size(map) > STRATA_POD_RESOURCES_MAX)
		return strata_fail(err, -E2BIG, "%zu kinds of resources; at most %d",
				   json_object_size(map), STRATA_POD_RESOURCES_MAX);
	json_object_foreach((json_t *)map, name, value)
	{
		int64_t amount = 0;

		rc = read_one(name, value, &amount, err);
		if (rc == 0)
			rc = add_one(amounts, name, amount, rules, arena, err);
		if (rc)
			break;
	}
	return rc;
}

int pod_amounts_sum(struct pod_amounts *amounts, const struct pod_amounts *more,
		    struct strata_arena *arena, struct strata_error *err)
{
	amounts->cpu_milli = sum(amounts->cpu_milli, more->cpu_milli);
	amounts->memory_bytes = sum(amounts->memory_bytes, more->memory_bytes);
	amounts->gpus = sum(amounts->gpus, more->gpus);
	for (size_t i = 0; i < more->other_count; i++) {
		struct pod_other *place = other(amounts, more->others[i].name, arena);

		if (!place)
			return strata_fail_memory(err);
		place->amount = sum(place->amount, more->others[i].amount);
	}
	return 0;
}

static void raise(int64_t *amount, int64_t to)
{
	if (*amount < to)
		*amount = to;
}

static int raise_all(struct pod_amounts *amounts, const struct pod_amounts *to,
		     struct strata_arena *arena, struct strata_error *err)
{
	raise(&amounts->cpu_milli, to->cpu_milli);
	raise(&amounts->memory_bytes, to->memory_bytes);
	raise(&amounts->gpus, to->gpus);
	for (size_t i = 0; i < to->other_count; i++) {
		struct pod_other *place = other(amounts, to->others[i].name, arena);

		if (!place)
			return strata_fail_memory(err);
		raise(&place->amount, to->others[i].amount);
	}
	return 0;
}

/* Host ports, as something of which a node has one each. */
static int add_ports(struct pod_amounts *amounts, const json_t *container,
		     const struct pod_rules *rules, struct strata_arena *arena,
		     struct strata_error *err)
{
	const json_t *ports = json_object_get(container, "ports");
	size_t at;
	json_t *port;

	json_array_foreach((json_t *)ports, at, port)
	{
		json_int_t number = json_integer_value(json_object_get(port, "hostPort"));
		const char *protocol = json_string_value(json_object_get(port, "protocol"));

		if (number == 0 || at >= STRATA_POD_RESOURCES_MAX)
			continue;
		const char *name = strata_arena_printf(arena, "hostPort/%.8s/%lld",
						       protocol ? protocol : "TCP",
						       (long long)number);
		int rc = name ? add_one(amounts, name, 1, rules, arena, err)
			      : strata_fail_memory(err);

		if (rc)
			return rc;
	}
	return 0;
}

static int of_container(const json_t *container, const struct pod_rules *rules,
			struct strata_arena *arena, struct pod_amounts *amounts,
			struct strata_error *err)
{
	const json_t *resources = json_object_get(container, "resources");
	const json_t *requests = json_object_get(resources, "requests");
	int rc;

	/* what is only limited is asked for, too: the API server fills that in, but not always for
	 * those that it does not know */
	rc = pod_amounts_add(amounts, requests ? requests : json_object_get(resources, "limits"),
			     rules, arena, err);
	return rc ? rc : add_ports(amounts, container, rules, arena, err);
}

/* Init containers run one after the other, before the others; but those that are restarted always
 * (sidecars) stay. */
static int of_init(const json_t *list, const struct pod_rules *rules, struct strata_arena *arena,
		   struct pod_amounts *amounts, struct strata_error *err)
{
	struct pod_amounts sidecars = { 0 }, most = { 0 };
	size_t at;
	json_t *container;
	int rc = 0;

	json_array_foreach((json_t *)list, at, container)
	{
		const char *restart =
			json_string_value(json_object_get(container, "restartPolicy"));
		bool stays = restart && strcmp(restart, "Always") == 0;
		struct pod_amounts one = { 0 };

		rc = of_container(container, rules, arena, stays ? &sidecars : &one, err);
		if (rc == 0)
			rc = pod_amounts_sum(&one, &sidecars, arena, err);
		if (rc == 0)
			rc = raise_all(&most, &one, arena, err);
		if (rc)
			return rc;
	}
	rc = pod_amounts_sum(amounts, &sidecars, arena, err);
	return rc ? rc : raise_all(amounts, &most, arena, err);
}

int pod_amounts_of(const json_t *spec, const struct pod_rules *rules, struct strata_arena *arena,
		   struct pod_amounts *ret_amounts, struct strata_error *err)
{
	const json_t *containers = json_object_get(spec, "containers");
	const json_t *init = json_object_get(spec, "initContainers");
	struct pod_amounts amounts = { 0 };
	size_t at;
	json_t *container;
	int rc = 0;

	if (json_array_size(containers) + json_array_size(init) > STRATA_POD_CONTAINERS_MAX)
		return strata_fail(err, -E2BIG, "%zu containers; at most %d",
				   json_array_size(containers) + json_array_size(init),
				   STRATA_POD_CONTAINERS_MAX);
	json_array_foreach((json_t *)containers, at, container)
	{
		rc = of_container(container, rules, arena, &amounts, err);
		if (rc)
			return rc;
	}
	rc = of_init(init, rules, arena, &amounts, err);
	if (rc == 0)
		rc = pod_amounts_add(&amounts, json_object_get(spec, "overhead"), rules, arena,
				     err);
	if (rc == 0)
		rc = add_one(&amounts, "pods", 1, rules, arena, err);
	if (rc == 0)
		*ret_amounts = amounts;
	return rc;
}
