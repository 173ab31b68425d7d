/*
 * Language models: see strata/language.h. Inputs are found by name; a cache is an output "present.N.key" that comes in again as "past_key_values.N.key". The
 * first call has no cache and goes to the prompt's graph; later ones go to the other graph, or to the same where there is only one.
 */
#include "engine/language_sample.h"
#include "engine/pipeline.h"

#include "core/env.h"
#include "core/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PORTS_MAX = 2 * STRATA_LANGUAGE_LAYERS_MAX + 8 };

struct strata_language {
	struct strata_engine *engine;
	struct strata_memory *memory;
	struct strata_engine_model *first, *next; /* next NULL: the first does both */
	struct strata_tokenizer *tokenizer;
	int64_t cache_bytes_max;
	int64_t end;
};

struct strata_session {
	struct strata_language *language;
	struct strata_memory *memory;
	struct strata_sampling sampling;
	struct strata_torch chance;
	size_t cache_count, room; /* caches, and ports that there is room for */
	struct strata_array
		*caches; /* in the order of the next graph's outputs, logits among them */
	const struct strata_engine_model *made_by;
	size_t read_count; /* tokens in the caches */
	bool has_pending;
	int64_t pending; /* was chosen, is not read yet */
	struct strata_array logits;
};

/* ---- opening ---- */

static int read_part(const char *folder, const char *name, struct strata_arena *arena,
		     char **ret_bytes, size_t *ret_count, struct strata_error *err)
{
	const char *path = strata_arena_printf(arena, "%s/%s", folder, name);
	int rc = path ? env_read_file(env_system(), AT_FDCWD, path, STRATA_JSON_BYTES_MAX, arena,
				      ret_bytes, ret_count, err)
		      : strata_fail_memory(err);

	if (rc)
		*ret_bytes = NULL;
	return rc == -ENOENT ? 0 : rc;
}

static int open_tokenizer(struct strata_language *it, const char *folder, struct strata_error *err)
{
	struct strata_tokenizer_files files = { 0 };
	struct strata_arena arena;
	char *vocab, *merges, *config, *specials;

	strata_arena_init(&arena, it->memory, 0);
	int rc = read_part(folder, "vocab.json", &arena, &vocab, &files.vocab_length, err);

	if (rc == 0)
		rc = read_part(folder, "merges.txt", &arena, &merges, &files.merges_length, err);
	if (rc == 0)
		rc = read_part(folder, "tokenizer_config.json", &arena, &config,
			       &files.config_length, err);
	if (rc == 0)
		rc = read_part(folder, "special_tokens_map.json", &arena, &specials,
			       &files.specials_length, err);
	if (rc == 0 && vocab && merges) {
		files.vocab = vocab;
		files.merges = merges;
		files.config = config;
		files.specials = specials;
		rc = strata_tokenizer_new(&files, it->memory, &it->tokenizer, err);
	}
	strata_arena_fini(&arena);
	return rc;
}

/* config.json names the token that ends an answer. */
static int read_config(struct strata_language *it, const char *folder, struct strata_error *err)
{
	struct strata_arena arena;
	size_t count;
	char *bytes;
	json_t *json;

	it->end = it->tokenizer ? strata_tokenizer_end(it->tokenizer) : -1;
	strata_arena_init(&arena, it->memory, 0);
	int rc = read_part(folder, "config.json", &arena, &bytes, &count, err);

	if (rc == 0 && bytes) {
		rc = option_load_json(bytes, count, &json, err);
		if (rc == 0) {
			const json_t *end = json_object_get(json, "eos_token_id");

			if (json_is_integer(end))
				it->end = json_integer_value(end);
			json_decref(json);
		}
	}
	strata_arena_fini(&arena);
	return rc;
}

static int open_model(struct strata_language *it, const char *path, double share,
		      struct strata_engine_model **model, struct strata_error *err)
{
	const struct strata_engine_model_conf how = { .caches_from = it->first };
	int rc = pipeline_open_share(it->engine, path, share, &how, model, err);

	if (rc == 0 && (strata_engine_input_find(*model, "input_ids") < 0 ||
			strata_engine_output_find(*model, "logits") < 0 ||
			strata_engine_input_count(*model) > PORTS_MAX ||
			strata_engine_output_count(*model) > PORTS_MAX))
		rc = strata_fail(err, -ENOTSUP, "%.300s does not make logits of input_ids", path);
	return rc;
}

/* The prompt's graph and the other one. */
static int open_models(struct strata_language *it, const char *folder,
		       const struct strata_language_conf *conf, struct strata_error *err)
{
	char first[STRATA_PATH_BYTES_MAX], next[STRATA_PATH_BYTES_MAX];
	double share = conf ? conf->budget_share : 0;
	int rc = 0;

	if (snprintf(first, sizeof(first), "%s/decoder_model.onnx", folder) >= (int)sizeof(first) ||
	    snprintf(next, sizeof(next), "%s/decoder_with_past_model.onnx", folder) >=
		    (int)sizeof(next))
		return strata_fail(err, -ENAMETOOLONG, "the folder's name is too long");
	if (conf && conf->budget_bytes && !share)
		rc = pipeline_share_budget(it->engine, (const char *const[]){ first, next }, 2,
					   conf->budget_bytes, &share, err);
	if (rc == 0)
		rc = open_model(it, first, share, &it->first, err);
	if (rc)
		return rc;
	rc = open_model(it, next, share, &it->next, err);
	return rc == -ENOENT ? strata_fail(err, -ENOTSUP,
					   "%.300s has no decoder_with_past_model.onnx beside "
					   "decoder_model.onnx",
					   folder)
			     : rc;
}

static int fill(struct strata_language *it, const char *folder,
		const struct strata_language_conf *conf, struct strata_error *err)
{
	int rc = open_models(it, folder, conf, err);

	if (rc == 0)
		rc = open_tokenizer(it, folder, err);
	return rc ? rc : read_config(it, folder, err);
}

int strata_language_open(struct strata_engine *engine, const char *folder,
			 const struct strata_language_conf *conf, struct strata_memory *memory,
			 struct strata_language **ret_language, struct strata_error *err)
{
	struct strata_language *it = strata_memory_get(memory, sizeof(*it));

	if (!it)
		return strata_fail_memory(err);
	it->engine = engine;
	it->memory = memory;
	it->cache_bytes_max = conf ? conf->cache_bytes_max : 0;
	int rc = fill(it, folder, conf, err);

	if (rc) {
		strata_language_close(it);
		return rc;
	}
	*ret_language = it;
	return 0;
}

void strata_language_close(struct strata_language *language)
{
	if (!language)
		return;
	strata_engine_close(language->next);
	strata_engine_close(language->first);
	strata_tokenizer_free(language->tokenizer);
	strata_memory_put(language->memory, language, sizeof(*language));
}

const struct strata_tokenizer *strata_language_tokenizer(const struct strata_language *language)
{
	return language->tokenizer;
}

int64_t strata_language_end(const struct strata_language *language)
{
	return language->end;
}

/* ---- sessions ---- */

int strata_session_new(struct strata_language *language, const struct strata_sampling *sampling,
		       struct strata_session **ret_session, struct strata_error *err)
{
	size_t first = strata_engine_output_count(language->first);
	size_t next = strata_engine_output_count(language->next);
	struct strata_session *session = strata_memory_get(language->memory, sizeof(*session));

	if (!session)
		return strata_fail_memory(err);
	session->language = language;
	session->memory = language->memory;
	session->room = first > next ? first : next;
	session->caches =
		strata_memory_get(session->memory, session->room * sizeof(*session->caches));
	if (!session->caches) {
		strata_session_free(session);
		return strata_fail_memory(err);
	}
	if (sampling)
		session->sampling = *sampling;
	strata_torch_init(&session->chance, session->sampling.seed);
	*ret_session = session;
	return 0;
}

static void drop_all(struct strata_array *arrays, size_t count)
{
	for (size_t i = 0; i < count; i++)
		strata_array_drop(&arrays[i]);
}

void strata_session_free(struct strata_session *session)
{
	if (!session)
		return;
	if (session->caches)
		drop_all(session->caches, session->room);
	strata_array_drop(&session->logits);
	strata_memory_put(session->memory, session->caches,
			  session->room * sizeof(*session->caches));
	strata_memory_put(session->memory, session, sizeof(*session));
}

/* ---- a call ---- */

struct input {
	struct strata_session *session;
	const int64_t *ids;
	size_t count;
};

/* [1, count] of int64, or as the port has it: tokens, positions or ones. */
static int make_numbers(const struct input *input, const struct strata_engine_port *port,
			struct strata_array *ret_array, struct strata_error *err)
{
	const struct strata_session *session = input->session;
	bool mask = strcmp(port->name, "attention_mask") == 0;
	bool positions = strcmp(port->name, "position_ids") == 0;
	const int64_t dims[] = { 1, (int64_t)(input->count + (mask ? session->read_count : 0)) };
	struct strata_array array;
	int rc = strata_array_make(session->language->engine, STRATA_DTYPE_I64, 2, dims, &array,
				   err);

	if (rc)
		return rc;
	for (int64_t i = 0; i < dims[1]; i++)
		((int64_t *)array.data)[i] = mask        ? 1
					     : positions ? (int64_t)session->read_count + i
							 : input->ids[i];
	if (port->dtype == STRATA_DTYPE_I64) {
		*ret_array = array;
		return 0;
	}
	rc = strata_array_cast(session->language->engine, &array, port->dtype, ret_array, err);
	strata_array_drop(&array);
	return rc;
}

/* "past_key_values.N.key" is what came out as "present.N.key". */
static int find_cache(const struct strata_session *session, const char *name)
{
	static const char past[] = "past_key_values.", present[] = "present.";
	char out[STRATA_NAME_BYTES_MAX];

	if (strncmp(name, past, sizeof(past) - 1) != 0 || !session->made_by)
		return -1;
	snprintf(out, sizeof(out), "%s%.100s", present, name + sizeof(past) - 1);
	return strata_engine_output_find(session->made_by, out);
}

static int make_input(const struct input *input, const struct strata_engine_port *port,
		      struct strata_array *ret_array, struct strata_error *err)
{
	int cache = find_cache(input->session, port->name);

	if (cache >= 0) {
		*ret_array = strata_array_share(&input->session->caches[cache]);
		return 0;
	}
	if (strcmp(port->name, "input_ids") == 0 || strcmp(port->name, "attention_mask") == 0 ||
	    strcmp(port->name, "position_ids") == 0)
		return make_numbers(input, port, ret_array, err);
	return strata_fail(err, -ENOTSUP, "the model wants '%.64s', which a session does not have",
			   port->name);
}

static int64_t bytes_of(const struct strata_array *arrays, size_t count)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += (int64_t)strata_array_bytes(&arrays[i]);
	return bytes;
}

int64_t strata_session_cache_bytes(const struct strata_session *session)
{
	return bytes_of(session->caches, session->room);
}

static int check_caches(const struct strata_session *session, int64_t bytes,
			struct strata_error *err)
{
	int64_t most = session->language->cache_bytes_max;

	if (most && bytes > most)
		return strata_fail(err, -E2BIG,
				   "the caches would take %lld bytes; at most %lld are allowed",
				   (long long)bytes, (long long)most);
	return 0;
}

/* The outputs become the caches; the logits of the call are kept as float32. */
static int take_outputs(struct strata_session *session, const struct strata_engine_model *model,
			struct strata_array *outputs, struct strata_error *err)
{
	size_t count = strata_engine_output_count(model);
	int at = strata_engine_output_find(model, "logits");
	struct strata_array logits;

	if (outputs[at].rank != 3 || outputs[at].dims[0] != 1 || outputs[at].dims[1] < 1 ||
	    outputs[at].dims[2] < 1)
		return strata_fail(err, -EBADMSG,
				   "the model's logits are not [1, tokens, vocabulary]");
	int rc = check_caches(session,
			      bytes_of(outputs, count) - (int64_t)strata_array_bytes(&outputs[at]),
			      err);

	if (rc == 0)
		rc = strata_array_cast(session->language->engine, &outputs[at], STRATA_DTYPE_F32,
				       &logits, err);
	if (rc)
		return rc;
	drop_all(session->caches, session->room);
	memcpy(session->caches, outputs, count * sizeof(*outputs));
	strata_array_drop(&session->caches[at]);
	strata_array_drop(&session->logits);
	session->logits = logits;
	session->made_by = model;
	return 0;
}

/* All or nothing: a call that fails leaves the session as it was. */
static int call(struct strata_session *session, const int64_t *ids, size_t count,
		struct strata_error *err)
{
	struct strata_engine_model *model = session->read_count ? session->language->next
								: session->language->first;
	const struct input input = { session, ids, count };
	size_t inputs = strata_engine_input_count(model),
	       outputs = strata_engine_output_count(model);
	struct strata_arena arena;

	strata_arena_init(&arena, session->memory, 0);
	struct strata_array *arrays = strata_arena_array(&arena, inputs + outputs, sizeof(*arrays));
	int rc = arrays ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < inputs; i++)
		rc = make_input(&input, strata_engine_input_at(model, i), &arrays[i], err);
	if (rc == 0)
		rc = strata_engine_run(model, arrays, arrays + inputs, err);
	if (rc == 0) {
		rc = take_outputs(session, model, arrays + inputs, err);
		if (rc)
			drop_all(arrays + inputs, outputs);
	}
	if (rc == 0)
		session->read_count += count;
	if (arrays)
		drop_all(arrays, inputs);
	strata_arena_fini(&arena);
	return rc;
}

/* Each token takes as much as those before it did. */
static int check_room(const struct strata_session *session, size_t count, struct strata_error *err)
{
	if (count > (size_t)STRATA_LANGUAGE_TOKENS_MAX - session->read_count)
		return strata_fail(err, -E2BIG, "prompt and answer have more than %d tokens",
				   STRATA_LANGUAGE_TOKENS_MAX);
	if (session->read_count == 0)
		return 0;
	int64_t bytes = strata_session_cache_bytes(session);

	return check_caches(session, bytes + bytes / (int64_t)session->read_count * (int64_t)count,
			    err);
}

/* What was chosen last is read before anything else. */
static int read_pending(struct strata_session *session, struct strata_error *err)
{
	int rc = 0;

	if (session->has_pending) {
		rc = check_room(session, 1, err);
		if (rc == 0)
			rc = call(session, &session->pending, 1, err);
		session->has_pending = rc != 0;
	}
	return rc;
}

int strata_session_read(struct strata_session *session, const int64_t *ids, size_t count,
			struct strata_error *err)
{
	int rc = read_pending(session, err);

	if (rc == 0 && count == 0)
		rc = strata_fail(err, -EINVAL, "there are no tokens to read");
	if (rc == 0)
		rc = check_room(session, count, err);
	if (rc == 0 && session->read_count == 0)
		return call(session, ids, count, err);
	for (size_t i = 0; rc == 0 && i < count; i++) /* the other graph takes them one by one */
		rc = call(session, &ids[i], 1, err);
	return rc;
}

const float *strata_session_all_logits(const struct strata_session *session, size_t *ret_rows,
				       size_t *ret_count)
{
	*ret_rows = session->logits.data ? (size_t)session->logits.dims[1] : 0;
	*ret_count = session->logits.data ? (size_t)session->logits.dims[2] : 0;
	return session->logits.data;
}

const float *strata_session_logits(const struct strata_session *session, size_t *ret_count)
{
	size_t rows;
	const float *all = strata_session_all_logits(session, &rows, ret_count);

	return all ? all + (rows - 1) * *ret_count : NULL;
}

struct strata_array strata_session_cache(const struct strata_session *session, const char *name)
{
	int at = session->made_by ? strata_engine_output_find(session->made_by, name) : -1;

	return at < 0 ? (struct strata_array){ 0 } : strata_array_share(&session->caches[at]);
}

int strata_session_next(struct strata_session *session, int64_t *ret_id, struct strata_error *err)
{
	struct strata_torch chance = session->chance;
	struct strata_arena arena;
	const float *logits;
	double drawn = 0;
	size_t count;
	int64_t id;
	int rc = read_pending(session, err);

	if (rc)
		return rc;
	logits = strata_session_logits(session, &count);
	if (!logits)
		return strata_fail(err, -EINVAL, "the session has read nothing yet");
	if (session->sampling.temperature > 0)
		strata_torch_uniform_f64(&chance, &drawn, 1);
	strata_arena_init(&arena, session->memory, 0);
	rc = language_sample(&session->sampling, logits, count, drawn, &arena, &id, err);
	strata_arena_fini(&arena);
	if (rc)
		return rc;
	session->chance = chance;
	session->has_pending = true;
	session->pending = id;
	*ret_id = id;
	return 0;
}
