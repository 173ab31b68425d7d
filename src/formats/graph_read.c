/*
 * Reading a file of graphs: which form it is, one reader for each case, and what the readers share. The form is told by content: JSON by its keys,
 * "digraph" for Graphviz, and of files of numbers one with three in its first line is RGPOS, one with a single one STG.
 */
#include "formats/graph_reader.h"

#include "core/option.h"
#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <math.h>
#include <string.h>

const char *graph_form_name(enum graph_form form)
{
	static const char *const names[GRAPH_FORM_COUNT] = {
		[GRAPH_JSON] = "json",         [GRAPH_WFCOMMONS] = "wfcommons",
		[GRAPH_STG] = "stg",           [GRAPH_RGPOS] = "rgpos",
		[GRAPH_DOT] = "dag_opt",       [GRAPH_DNN] = "dnn_partitioning",
		[GRAPH_OPT] = "placement_opt",
	};

	return names[form];
}

/* ---- values ---- */

int graph_take_number(struct graph_reader *reader, const json_t *object, const char *key,
		      double missing, double most, double *ret_value)
{
	const json_t *value = json_object_get(object, key);
	double number = json_is_number(value) ? json_number_value(value)
			: json_is_true(value) ? 1
					      : missing;

	if ((value && !json_is_number(value) && !json_is_null(value) && !json_is_boolean(value)) ||
	    !(number >= 0) || number > most)
		return strata_fail_at(reader->err, -EINVAL, key, "%s is not a number from 0 to %g",
				      key, most);
	*ret_value = number;
	return 0;
}

int graph_take_array(struct graph_reader *reader, const json_t *object, const char *key,
		     const json_t **ret_array)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_array(value))
		return strata_fail_at(reader->err, -EINVAL, key, "%s is not a list", key);
	*ret_array = value;
	return 0;
}

int graph_take_text(struct graph_reader *reader, const json_t *object, const char *key,
		    const char **ret_text)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	if (json_is_integer(value)) {
		text = strata_arena_printf(reader->arena, "%lld",
					   (long long)json_integer_value(value));
		if (!text)
			return strata_fail_memory(reader->err);
	}
	if (!text)
		return strata_fail_at(reader->err, -EINVAL, key, "%s is not a text", key);
	*ret_text = text;
	return 0;
}

int graph_add_task(struct graph_reader *reader, const char *name, double flops, uint32_t *ret_op)
{
	struct strata_op op = { .name = name, .flops = flops, .kv_device = STRATA_NONE };

	return strata_graph_add_op(reader->into->graph, &op, ret_op, reader->err);
}

/* ---- words ---- */

bool graph_next_word(struct graph_words *words, const char **ret_word, size_t *ret_length)
{
	for (;;) {
		while (words->at < words->end && strchr(" \t\r\n", *words->at)) {
			words->line += *words->at == '\n';
			words->at++;
		}
		if (words->at == words->end)
			return false;
		if (*words->at != '#')
			break;
		while (words->at < words->end && *words->at != '\n')
			words->at++;
	}
	*ret_word = words->at;
	while (words->at < words->end && *words->at && !strchr(" \t\r\n#", *words->at))
		words->at++;
	if (words->at == *ret_word)
		words->at++; /* a NUL: no number, and refused as such */
	*ret_length = (size_t)(words->at - *ret_word);
	return true;
}

int graph_next_number(struct graph_reader *reader, struct graph_words *words, double most,
		      double *ret_value)
{
	const char *word;
	size_t length;
	double value;
	char excerpt[TEXT_EXCERPT_BYTES];

	if (!graph_next_word(words, &word, &length))
		return strata_fail(reader->err, -EINVAL, "the file ends where a number should be");
	if (strata_real_parse(word, length, &value, NULL) || !(value >= 0 && value <= most))
		return strata_fail(reader->err, -EINVAL,
				   "line %zu: \"%s\" is not a number from 0 to %g", words->line,
				   text_excerpt(word, length, excerpt), most);
	*ret_value = value;
	return 0;
}

int graph_next_count(struct graph_reader *reader, struct graph_words *words, size_t most,
		     size_t *ret_value)
{
	double value = 0;
	int rc = graph_next_number(reader, words, (double)most, &value);

	if (rc == 0 && value != floor(value))
		return strata_fail(reader->err, -EINVAL, "line %zu: %g is not a whole number",
				   words->line, value);
	if (rc == 0)
		*ret_value = (size_t)value;
	return rc;
}

/* ---- machines of processors ---- */

int graph_processors(size_t count, const double *speeds, double bytes_per_s,
		     struct strata_arena *arena, struct strata_machine *ret_machine,
		     struct strata_error *err)
{
	if (count < 1 || count > STRATA_PLACE_DEVICES_MAX)
		return strata_fail_at(err, -EINVAL, "processors",
				      "there are %zu processors; expected 1 to %d", count,
				      STRATA_PLACE_DEVICES_MAX);
	struct strata_device *devices = strata_arena_array(arena, count, sizeof(*devices));
	double *links = strata_arena_array(arena, count * count, sizeof(*links));

	if (!devices || !links)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		devices[i].name = strata_arena_printf(arena, "p%zu", i);
		devices[i].kind = "processor";
		devices[i].flops_per_s = 1e9 * (speeds ? speeds[i] : 1);
		if (!devices[i].name)
			return strata_fail_memory(err);
	}
	for (size_t i = 0; i < count * count; i++)
		links[i] = bytes_per_s;
	*ret_machine = (struct strata_machine){ .devices = devices,
						.device_count = count,
						.bytes_per_s = links,
						.activations_apart = true };
	return 0;
}

/* ---- cases ---- */

static int begin_case(struct graph_reader *reader, const char *name)
{
	*reader->into = (struct graph_case){ .name = "", .unit_ns = 1 };
	return strata_graph_new(name, reader->arena->memory, &reader->into->graph, reader->err);
}

static int end_case(struct graph_reader *reader, int rc)
{
	if (rc == 0)
		rc = strata_graph_finish(reader->into->graph, reader->err);
	if (rc) {
		strata_graph_free(reader->into->graph);
		reader->into->graph = NULL;
	}
	return rc;
}

static int read_json(struct graph_reader *reader, const json_t *root)
{
	if (json_object_get(root, "maxFPGAs"))
		return graph_read_dnn(reader, root);
	if (json_object_get(root, "workflow"))
		return graph_read_wfcommons(reader, root);
	if (json_object_get(root, "ops"))
		return graph_read_json_form(reader, root);
	if (json_object_get(root, "link_bytes_per_s"))
		return graph_read_opt(reader, root);
	return strata_fail(reader->err, -EINVAL,
			   "the JSON object is no graph; expected a member ops, workflow, maxFPGAs "
			   "or link_bytes_per_s");
}

static int read_one_json(struct graph_reader *reader, const char *text, size_t length,
			 const char *name)
{
	json_t *root = NULL;
	int rc = option_load_json(text, length, &root, reader->err);

	if (rc)
		return rc;
	rc = begin_case(reader, name);
	if (rc == 0)
		rc = end_case(reader, read_json(reader, root));
	json_decref(root);
	return rc;
}

/* Numbers in the first line that has any. */
static size_t count_first(const char *text, size_t length)
{
	struct graph_words words = { text, text + length, 1 };
	const char *word;
	size_t size, count = 0, line = 0;

	while (count < 4 && graph_next_word(&words, &word, &size)) {
		if (count && words.line != line)
			break;
		line = words.line;
		count++;
	}
	return count;
}

static int read_one_text(struct graph_reader *reader, const char *text, size_t length,
			 const char *name)
{
	size_t at = 0;
	int rc = begin_case(reader, name);

	if (rc)
		return rc;
	while (at < length && strchr(" \t\r\n", text[at]))
		at++;
	if (length - at > 7 &&
	    (memcmp(text + at, "digraph", 7) == 0 || memcmp(text + at, "strict ", 7) == 0))
		rc = graph_read_dot(reader, text, length);
	else if (count_first(text, length) == 3)
		rc = graph_read_rgpos(reader, text, length);
	else if (count_first(text, length) == 1)
		rc = graph_read_stg(reader, text, length);
	else
		rc = strata_fail(reader->err, -EINVAL,
				 "the file is no graph; expected JSON, Graphviz, STG or RGPOS");
	return end_case(reader, rc);
}

/* Lines of JSON: a line that is an object by itself, and another behind it. */
static size_t count_lines(const char *text, size_t length)
{
	size_t count = 0;

	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *last = stop ? stop : end;

		while (at < last && strchr(" \t\r", *at))
			at++;
		while (last > at && strchr(" \t\r", last[-1]))
			last--;
		if (at < last) {
			if (*at != '{' || last[-1] != '}')
				return 1;
			count++;
		}
		at = stop ? stop + 1 : end;
	}
	return count ? count : 1;
}

static int read_lines(struct graph_reader *reader, const char *text, size_t length,
		      const char *name, struct graph_file *file)
{
	int rc = 0;

	for (const char *at = text, *end = text + length; at < end && rc == 0;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *last = stop ? stop : end;

		while (at < last && strchr(" \t\r", *at))
			at++;
		if (at < last) {
			reader->into = &file->cases[file->count];
			rc = read_one_json(reader, at, (size_t)(last - at), name);
			file->count += rc == 0;
		}
		at = stop ? stop + 1 : end;
	}
	return rc;
}

int graph_file_read(const char *text, size_t length, const char *name, struct strata_arena *arena,
		    struct graph_file *ret_file, struct strata_error *err)
{
	struct graph_file file = { 0 };
	size_t at = 0, lines;
	int rc;

	if (length > STRATA_JSON_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the graph is %zu bytes long; expected at most %d",
				   length, STRATA_JSON_BYTES_MAX);
	while (at < length && strchr(" \t\r\n", text[at]))
		at++;
	bool json = at < length && text[at] == '{';

	lines = json ? count_lines(text, length) : 1;
	file.cases = strata_arena_array(arena, lines, sizeof(*file.cases));
	if (!file.cases)
		return strata_fail_memory(err);
	struct graph_reader reader = { arena, file.cases, err };

	if (lines > 1) {
		rc = read_lines(&reader, text, length, name, &file);
	} else {
		rc = json ? read_one_json(&reader, text, length, name)
			  : read_one_text(&reader, text, length, name);
		file.count = rc == 0;
	}
	if (rc)
		graph_file_fini(&file);
	else
		*ret_file = file;
	return rc;
}

void graph_file_fini(struct graph_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		strata_graph_free(file->cases[i].graph);
	file->count = 0;
}
