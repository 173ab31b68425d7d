#include "test.h"

#include <strata/language.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;
static struct strata_language *language;

/* The small model of the shared data; the test is skipped where it is absent. */
static void open_shared(void)
{
	char folder[512];

	snprintf(folder, sizeof(folder), "%s",
		 test_shared_file("golden/pipelines/tiny-lm/llama/decoder_model.onnx"));
	*strrchr(folder, '/') = '\0';
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_language_open(engine, folder, NULL, &memory, &language, &err));
}

static void close_shared(void)
{
	strata_language_close(language);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

static void answer(const struct strata_sampling *sampling, const int64_t *prompt, size_t count,
		   int64_t *ids, size_t id_count)
{
	struct strata_session *session;

	CHECK_OK(strata_session_new(language, sampling, &session, &err));
	CHECK_OK(strata_session_read(session, prompt, count, &err));
	for (size_t i = 0; i < id_count; i++)
		CHECK_OK(strata_session_next(session, &ids[i], &err));
	strata_session_free(session);
}

TEST(the_same_seed_gives_the_same_answer)
{
	const int64_t prompt[] = { 5, 6, 7 };
	struct strata_sampling how = { .temperature = 1.5, .top_k = 50, .seed = 1 };
	int64_t one[12], two[12], other[12];

	open_shared();
	answer(&how, prompt, 3, one, 12);
	answer(&how, prompt, 3, two, 12);
	CHECK_BYTES(one, two, sizeof(one));
	how.seed = 2;
	answer(&how, prompt, 3, other, 12);
	CHECK(memcmp(one, other, sizeof(one)) != 0);
	close_shared();
}

TEST(a_prompt_may_come_in_parts)
{
	const int64_t prompt[] = { 5, 6, 7, 8 };
	int64_t whole[6], parts[6];
	struct strata_session *session;

	open_shared();
	answer(NULL, prompt, 4, whole, 6);
	CHECK_OK(strata_session_new(language, NULL, &session, &err));
	CHECK_ERROR(strata_session_next(session, parts, &err), -EINVAL, "read nothing");
	CHECK_ERROR(strata_session_read(session, prompt, 0, &err), -EINVAL, "no tokens");
	CHECK_ERROR(
		strata_session_read(session, prompt, (size_t)STRATA_LANGUAGE_TOKENS_MAX + 1, &err),
		-E2BIG, "1048576");
	CHECK_OK(strata_session_read(session, prompt, 2, &err));
	CHECK_OK(strata_session_read(session, prompt + 2, 2, &err));
	for (size_t i = 0; i < 6; i++)
		CHECK_OK(strata_session_next(session, &parts[i], &err));
	CHECK_BYTES(parts, whole, sizeof(parts));
	strata_session_free(session);
	close_shared();
}

TEST(caches_have_a_limit_and_a_session_stands_where_it_stood)
{
	struct strata_language_conf conf = { 0 };
	const int64_t prompt[] = { 5, 6, 7, 8 };
	struct strata_session *session;
	int64_t id, each;
	char folder[512];

	open_shared();
	CHECK_OK(strata_session_new(language, NULL, &session, &err));
	CHECK_INT(strata_session_cache_bytes(session), 0);
	CHECK_OK(strata_session_read(session, prompt, 4, &err));
	each = strata_session_cache_bytes(session) / 4;
	CHECK(each > 0);
	strata_session_free(session);
	strata_language_close(language);
	snprintf(folder, sizeof(folder), "%s",
		 test_shared_file("golden/pipelines/tiny-lm/llama/decoder_model.onnx"));
	*strrchr(folder, '/') = '\0';
	conf.cache_bytes_max = 5 * each;
	CHECK_OK(strata_language_open(engine, folder, &conf, &memory, &language, &err));
	CHECK_OK(strata_session_new(language, NULL, &session, &err));
	CHECK_OK(strata_session_read(session, prompt, 4, &err));
	CHECK_OK(strata_session_next(session, &id, &err));
	CHECK_OK(strata_session_next(session, &id, &err)); /* the fifth is read */
	CHECK_INT(strata_session_cache_bytes(session), 5 * each);
	CHECK_ERROR(strata_session_next(session, &id, &err), -E2BIG, "the caches would take");
	CHECK_INT(strata_session_cache_bytes(session), 5 * each);
	strata_session_free(session);
	CHECK_OK(strata_session_new(language, NULL, &session, &err));
	const int64_t longer[] = { 1, 2, 3, 4, 5, 6 };

	CHECK_ERROR(strata_session_read(session, longer, 6, &err), -E2BIG, "the caches would take");
	CHECK_INT(strata_session_cache_bytes(session), 0);
	strata_session_free(session);
	close_shared();
}

/* Prefill and decode may be on different devices; tokens are the same wherever they are. */
TEST(phases_on_devices_of_their_own_say_the_same)
{
	const int64_t prompt[] = { 5, 6, 7, 8 };
	int64_t alone[8], apart[8];
	char folder[512];

	open_shared();
	answer(NULL, prompt, 4, alone, 8);
	close_shared();
	snprintf(folder, sizeof(folder), "%s",
		 test_shared_file("golden/pipelines/tiny-lm/llama/decoder_model.onnx"));
	*strrchr(folder, '/') = '\0';
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ .devices = "cpu:0,cpu:0",
								 .mode = STRATA_MODE_SEMANTIC },
				   &memory, &engine, &err));
	CHECK_OK(strata_language_open(engine, folder, NULL, &memory, &language, &err));
	answer(NULL, prompt, 4, apart, 8);
	CHECK_BYTES(apart, alone, sizeof(alone));
	close_shared();
}

TEST(a_folder_without_models_is_refused)
{
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_ERROR(strata_language_open(engine, test_temp_dir(), NULL, &memory, &language, &err),
		    -ENOENT, "decoder_model.onnx");
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

static int answer_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	char folder[512];
	struct strata_language *it;
	struct strata_session *session = NULL;
	int64_t id = 0;

	(void)context;
	snprintf(folder, sizeof(folder), "%s",
		 test_shared_file("golden/pipelines/tiny-lm/gpt2/decoder_model.onnx"));
	*strrchr(folder, '/') = '\0';
	int rc = strata_language_open(engine, folder, NULL, own, &it, why);

	if (rc)
		return rc;
	rc = strata_session_new(it, NULL, &session, why);
	if (rc == 0)
		rc = strata_session_read(session, (int64_t[]){ 1, 2 }, 2, why);
	if (rc == 0)
		rc = strata_session_next(session, &id, why);
	if (rc == 0)
		rc = strata_session_next(session, &id, why);
	if (rc == 0)
		test_result_int(id);
	strata_session_free(session);
	strata_language_close(it);
	return rc;
}

TEST(memory_may_run_out_anywhere)
{
	(void)test_shared_file("golden/pipelines/tiny-lm/gpt2/decoder_model.onnx");
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	test_every_own_allocation(answer_once, NULL);
	strata_engine_free(engine);
}
