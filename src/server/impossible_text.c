/*
 * The sentences of impossible_text.h: which part of a request is impossible, with the number or the
 * name that was asked for beside what there is.
 */
#include "server/impossible_text.h"

#include "server/nodes.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct telling {
	const struct decider *decider;
	const struct job_spec *spec;
	json_t *sentences;
};

static void say(const struct telling *telling, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(const struct telling *telling, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(telling->sentences, json_string(text));
}

/* ---- names ---- */

/* Is the word one of a list that is separated by ", "? */
static bool is_listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; *at;) {
		size_t span = strcspn(at, ",");

		if (span == length && memcmp(at, word, span) == 0)
			return true;
		at += span;
		at += strspn(at, ", ");
	}
	return false;
}

/* Words of the nodes' lists, each once: "a100, h100"; "none". */
static void list_words(const struct telling *telling,
		       const char *(*words_of)(const struct strata_node_conf *), char *text,
		       size_t room)
{
	size_t length = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < telling->decider->node_count; i++)
		for (const char *at = words_of(&telling->decider->nodes[i].conf); at && *at;) {
			size_t span = strcspn(at, ",");
			char word[STRATA_NAME_BYTES_MAX + 4];

			snprintf(word, sizeof(word), "%.*s", (int)span, at);
			at += span + (at[span] != '\0');
			if (*word && !is_listed(text, word) && length + strlen(word) + 3 < room)
				length += (size_t)snprintf(text + length, room - length, "%s%s",
							   length ? ", " : "", word);
		}
	if (!*text)
		snprintf(text, room, "none");
}

static const char *gpu_type_of(const struct strata_node_conf *conf)
{
	return conf->gpu_type;
}

static const char *features_of(const struct strata_node_conf *conf)
{
	return conf->features;
}

static const char *name_of(const struct strata_node_conf *conf)
{
	return conf->name;
}

/* The word as some node writes it, where only the case differs; NULL: none does. */
static const char *other_case(const struct telling *telling,
			      const char *(*words_of)(const struct strata_node_conf *),
			      const char *word)
{
	for (uint32_t i = 0; i < telling->decider->node_count; i++) {
		const char *there = words_of(&telling->decider->nodes[i].conf);

		if (there && strcasecmp(there, word) == 0 && strcmp(there, word) != 0)
			return there;
	}
	return NULL;
}

/* What stands before a name, where no node has it and where some have. */
struct wording {
	const char *none, *some;
};

static void say_name(const struct telling *telling, struct wording wording,
		     const char *(*words_of)(const struct strata_node_conf *), const char *word)
{
	const char *other = other_case(telling, words_of, word);
	char there[200];

	list_words(telling, words_of, there, sizeof(there));
	if (is_listed(there, word))
		say(telling, "%s %.100s cannot take the rest of it.", wording.some, word);
	else if (other)
		say(telling, "%s %.100s; did you mean %.60s?", wording.none, word, other);
	else
		say(telling, "%s %.100s; there are: %s.", wording.none, word, there);
}

/* ---- amounts ---- */

static const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

static void say_amount(const struct telling *telling, const char *asked, const char *most,
		       bool of_task)
{
	say(telling, "It asks for %s %s; at most %s would be possible.", asked,
	    of_task ? "for one task" : "on one node", most);
}

static void say_gpus(const struct telling *telling, const struct strata_blamed *blamed)
{
	char asked[48], most[32];

	if (blamed->most == 0) {
		say(telling, "It asks for GPUs; no node that could take the rest of it has any.");
		return;
	}
	snprintf(asked, sizeof(asked), "%" PRId64 " GPU%s", blamed->asked, plural(blamed->asked));
	snprintf(most, sizeof(most), "%" PRId64, blamed->most);
	say_amount(telling, asked, most, blamed->of_task);
}

static void say_cpus(const struct telling *telling, const struct strata_blamed *blamed)
{
	char asked[48], most[32];

	snprintf(asked, sizeof(asked), "%g core%s", (double)blamed->asked / 1000,
		 plural(blamed->asked / 1000));
	snprintf(most, sizeof(most), "%g", (double)blamed->most / 1000);
	say_amount(telling, asked, most, true);
}

static void say_memory(const struct telling *telling, const struct strata_blamed *blamed)
{
	char asked[STRATA_FORM_BYTES + 16], most[STRATA_FORM_BYTES], size[STRATA_FORM_BYTES];

	snprintf(asked, sizeof(asked), "%s of memory",
		 strata_size_print_short(blamed->asked, size));
	say_amount(telling, asked, strata_size_print_short(blamed->most, most), blamed->of_task);
}

static void say_count(const struct telling *telling, const struct strata_blamed *blamed)
{
	const struct job_spec *spec = telling->spec;
	const char *what = blamed->of_task ? "task" : "node";
	uint64_t gpus = 0;

	for (uint32_t i = 0; i < telling->decider->node_count; i++)
		gpus += telling->decider->nodes[i].conf.gpu_count;
	if (spec->gpus > 0 && (uint64_t)spec->gpus > gpus)
		say(telling, "It asks for %" PRId64 " GPU%s; all nodes together have %" PRIu64 ".",
		    spec->gpus, plural(spec->gpus), gpus);
	else if (spec->gpus > 0 && spec->nodes == 0 && !blamed->of_task)
		say(telling,
		    "Its %" PRId64 " GPUs can be spread evenly over %" PRId64
		    " nodes only; at most %" PRId64 " would be possible.",
		    spec->gpus, blamed->asked, blamed->most);
	else
		say(telling, "It asks for %" PRId64 " %s%s; at most %" PRId64 " would be possible.",
		    blamed->asked, what, plural(blamed->asked), blamed->most);
}

/* ---- all of it ---- */

static void say_part(const struct telling *telling, const struct strata_blamed *blamed)
{
	const struct job_spec *spec = telling->spec;

	switch (blamed->part) {
	case STRATA_PART_PARTITION:
		say(telling, "The partition %.60s has no node that could take it.",
		    spec->partition);
		break;
	case STRATA_PART_NODE_LIST:
		say_name(telling, (struct wording){ "There is no such node:", "The node" }, name_of,
			 spec->node_list);
		break;
	case STRATA_PART_NODE_EXCLUDE:
		say(telling,
		    "Only nodes that are excluded for it (%.100s) could take it: by --exclude, or "
		    "because their partition is closed to its user.",
		    spec->node_exclude);
		break;
	case STRATA_PART_FEATURES:
		say_name(telling,
			 (struct wording){ "No node has the features",
					   "A node that has the feature" },
			 features_of, spec->features);
		break;
	case STRATA_PART_GPU_TYPE:
		say_name(telling,
			 (struct wording){ "No node has GPUs of the type",
					   "A node with GPUs of the type" },
			 gpu_type_of, spec->gpu_type);
		break;
	case STRATA_PART_GPUS:
		say_gpus(telling, blamed);
		break;
	case STRATA_PART_CPUS:
		say_cpus(telling, blamed);
		break;
	case STRATA_PART_MEMORY:
		say_memory(telling, blamed);
		break;
	case STRATA_PART_COUNT:
		say_count(telling, blamed);
		break;
	}
}

bool impossible_now(const struct decider *decider, int64_t id)
{
	struct strata_blamed list[STRATA_PART_KINDS];
	struct strata_job_view view;
	bool all;

	return decider->node_count > 0 &&
	       strata_cluster_job(decider->cluster, (uint64_t)id, &view, NULL) == 0 &&
	       (view.reason == STRATA_REASON_IMPOSSIBLE || /* of a gang, this alone */
		strata_cluster_blame(decider->cluster, (uint64_t)id, list, &all));
}

/* To ask for no core, no memory or no task is no advice. */
static bool is_advice(const struct strata_blamed *blamed)
{
	return blamed->most > 0 ||
	       (blamed->part != STRATA_PART_CPUS && blamed->part != STRATA_PART_MEMORY &&
		blamed->part != STRATA_PART_COUNT);
}

/* The parts of which to change one is enough, of those that can be changed. */
static size_t keep_advice(struct strata_blamed *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (is_advice(&list[i]))
			list[kept++] = list[i];
	return kept;
}

static void say_parts(const struct telling *telling, struct strata_blamed *list, size_t count,
		      bool all)
{
	const struct job_spec *spec = telling->spec;
	size_t kept = all || count < 2 ? count : keep_advice(list, count);

	if (kept == 0 && spec->nodes > 0 && spec->tasks > spec->nodes) {
		say(telling,
		    "It asks for %" PRId64 " tasks on %" PRId64 " node%s, where there is no room "
		    "for so many; ask for fewer tasks, or for more nodes.",
		    (int64_t)spec->tasks, (int64_t)spec->nodes, plural(spec->nodes));
		return;
	}
	count = kept ? kept : count;
	if (count > 1)
		say(telling, all ? "These must all change:" : "To change one of these is enough:");
	for (size_t i = 0; i < count; i++)
		say_part(telling, &list[i]);
}

static json_t *tell(const struct decider *decider, const struct job_spec *spec,
		    struct strata_blamed *list, size_t count, bool all)
{
	struct telling telling = { decider, spec, json_array() };

	if (decider->node_count == 0)
		say(&telling, "The service knows of no node.");
	else if (count == 0)
		say(&telling, "All jobs of its gang together ask for more than there is.");
	if (count)
		say_parts(&telling, list, count, all);
	return telling.sentences;
}

json_t *impossible_sentences(const struct decider *decider, int64_t id, const struct job_spec *spec)
{
	struct strata_blamed list[STRATA_PART_KINDS];
	bool all;
	size_t count = strata_cluster_blame(decider->cluster, (uint64_t)id, list, &all);

	return tell(decider, spec, list, count, all);
}

const char *impossible_joined(const json_t *sentences, struct strata_arena *arena)
{
	const char *text = "";
	const json_t *sentence;
	size_t i;

	json_array_foreach(sentences, i, sentence)
	{
		text = strata_arena_printf(arena, "%s%s%s", text, i ? " " : "",
					   json_string_value(sentence));
		if (!text)
			return NULL;
	}
	return text;
}

int impossible_refuse(const struct decider *decider, int64_t id, const struct job_spec *spec,
		      struct strata_arena *arena, struct strata_error *err)
{
	if (spec->queue_anyway || !impossible_now(decider, id))
		return 0;
	json_t *sentences = impossible_sentences(decider, id, spec);
	const char *why = sentences ? impossible_joined(sentences, arena) : NULL;

	json_decref(sentences);
	return why ? strata_fail(err, -EDOM,
				 "no node could take this job, however empty. %s "
				 "`--queue-anyway` lets it wait for such a node",
				 why)
		   : strata_fail_memory(err);
}

int impossible_request(const struct decider *decider, const struct strata_job_request *request,
		       const struct job_spec *spec, struct strata_arena *arena,
		       const char **ret_why)
{
	struct strata_blamed list[STRATA_PART_KINDS];
	bool all;
	size_t count = strata_cluster_blame_request(decider->cluster, request, list, &all);

	*ret_why = NULL;
	if (count == 0 || decider->node_count == 0)
		return 0;
	json_t *sentences = tell(decider, spec, list, count, all);

	*ret_why = sentences ? impossible_joined(sentences, arena) : NULL;
	json_decref(sentences);
	return *ret_why ? 0 : -ENOMEM;
}
