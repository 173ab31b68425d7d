/*
 * Which nodes a pod may go to: its node selector, its required node affinity and the taints that it
 * tolerates. What it would merely prefer is not looked at: where it goes among the nodes that will
 * do is the placement's to say.
 */
#include "pods/pod.h"

#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value ? value : "";
}

static bool whole_number(const char *text, long long *ret_number)
{
	char *end;

	*ret_number = strtoll(text, &end, 10);
	return *text && !*end;
}

static bool is_listed(const json_t *values, const char *value)
{
	size_t at;
	json_t *one;

	json_array_foreach((json_t *)values, at,
			   one) if (json_is_string(one) &&
				    strcmp(json_string_value(one), value) == 0) return true;
	return false;
}

/* A label's value against an expression; value NULL: the node has no such label. */
static bool holds(const json_t *expression, const char *value)
{
	const char *operator= text(expression, "operator");
	const json_t *values = json_object_get(expression, "values");

	if (strcmp(operator, "In") == 0)
		return value && is_listed(values, value);
	if (strcmp(operator, "NotIn") == 0)
		return !value || !is_listed(values, value);
	if (strcmp(operator, "Exists") == 0)
		return value;
	if (strcmp(operator, "DoesNotExist") == 0)
		return !value;
	const char *bound = json_string_value(json_array_get(values, 0));
	long long left, right;

	if (!value || !bound || !whole_number(value, &left) || !whole_number(bound, &right))
		return false;
	if (strcmp(operator, "Gt") == 0)
		return left > right;
	return strcmp(operator, "Lt") == 0 && left < right;
}

/* All expressions of a term; one without any selects nothing. */
static bool term_holds(const json_t *term, const struct node *node)
{
	const json_t *labels = json_object_get(term, "matchExpressions");
	const json_t *fields = json_object_get(term, "matchFields");
	size_t at;
	json_t *one;

	json_array_foreach((json_t *)labels, at,
			   one) if (!holds(one,
					   json_string_value(json_object_get(
						   node->labels, text(one, "key"))))) return false;
	json_array_foreach((json_t *)fields, at,
			   one) if (strcmp(text(one, "key"), "metadata.name") != 0 ||
				    !holds(one, node->name)) return false;
	return json_array_size(labels) + json_array_size(fields) > 0;
}

static bool selected(const json_t *rules, const struct node *node)
{
	const json_t *terms = json_object_get(rules, "terms");
	const char *name;
	json_t *value, *term;
	size_t at;

	json_object_foreach(json_object_get(rules, "selector"), name, value)
	{
		const char *label = json_string_value(json_object_get(node->labels, name));

		if (!label || !json_is_string(value) ||
		    strcmp(label, json_string_value(value)) != 0)
			return false;
	}
	if (!terms)
		return true;
	json_array_foreach((json_t *)terms, at, term) if (term_holds(term, node)) return true;
	return false;
}

static bool tolerates(const json_t *toleration, const json_t *taint)
{
	const char *key = text(toleration, "key"), *effect = text(toleration, "effect");
	bool exists = strcmp(text(toleration, "operator"), "Exists") == 0;

	if (*effect && strcmp(effect, text(taint, "effect")) != 0)
		return false;
	if (!*key)
		return exists;
	if (strcmp(key, text(taint, "key")) != 0)
		return false;
	return exists || strcmp(text(toleration, "value"), text(taint, "value")) == 0;
}

static bool is_tolerated(const json_t *tolerations, const json_t *taint)
{
	size_t at;
	json_t *one;

	if (strcmp(text(taint, "effect"), "PreferNoSchedule") == 0)
		return true;
	json_array_foreach((json_t *)tolerations, at, one) if (tolerates(one, taint)) return true;
	return false;
}

enum pod_match pod_match(const json_t *rules, const struct node *node)
{
	size_t at;
	json_t *taint;

	if (!selected(rules, node))
		return POD_MATCH_SELECTOR;
	json_array_foreach(node->taints, at,
			   taint) if (!is_tolerated(json_object_get(rules, "tolerations"),
						    taint)) return POD_MATCH_TAINT;
	return POD_MATCHES;
}
