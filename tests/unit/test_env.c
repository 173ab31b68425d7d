#include "fault_env.h"
#include "test.h"

#include <errno.h>
#include <string.h>
#include <time.h>

TEST(the_clocks_are_the_systems)
{
	const struct env *env = env_system();
	int64_t monotonic = env_now_ns(env, ENV_MONOTONIC);
	int64_t realtime_s = env_now_ns(env, ENV_REALTIME) / 1000000000;

	CHECK(env_now_ns(env, ENV_MONOTONIC) >= monotonic);
	CHECK(realtime_s >= time(NULL) - 5 && realtime_s <= time(NULL) + 5);
	CHECK(monotonic > 0);
}

TEST(a_test_may_own_the_clock)
{
	struct fault_env fault;

	fault_env_init(&fault);
	fault.now_ns[ENV_REALTIME] = 17;
	fault.now_ns[ENV_MONOTONIC] = 18;
	CHECK_INT(env_now_ns(&fault.env, ENV_REALTIME), 17);
	CHECK_INT(env_now_ns(&fault.env, ENV_MONOTONIC), 18);
	CHECK_INT(env_realtime_offset_ns(&fault.env), -1);
	fault_env_fini(&fault);
}

TEST(random_bytes_fill_everything)
{
	static unsigned char bytes[100000], again[sizeof(bytes)];
	struct strata_error err;
	int seen[256] = { 0 };

	CHECK_OK(env_random(env_system(), bytes, sizeof(bytes), &err));
	CHECK_OK(env_random(env_system(), again, sizeof(again), &err));
	CHECK(memcmp(bytes, again, sizeof(bytes)) != 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		seen[bytes[i]]++;
	for (int i = 0; i < 256; i++)
		CHECK(seen[i] > 200 && seen[i] < 600); /* 391 expected, σ 20 */
	CHECK_OK(env_random(env_system(), NULL, 0, &err));
}

TEST(random_bytes_come_in_pieces_and_between_interruptions)
{
	unsigned char whole[64] = { 0 }, pieces[64] = { 0 };
	struct fault_env fault;
	struct strata_error err;

	fault_env_init(&fault);
	CHECK_OK(env_random(&fault.env, whole, sizeof(whole), &err));
	fault_env_init(&fault); /* the same seed */
	fault.bytes_max = 5;
	fault.interrupt = true;
	CHECK_OK(env_random(&fault.env, pieces, sizeof(pieces), &err));
	CHECK_BYTES(pieces, whole, sizeof(whole));
	fault_env_fini(&fault);
}

static ssize_t no_random(void *context, void *bytes, size_t count)
{
	(void)bytes, (void)count;
	return *(int *)context;
}

TEST(a_missing_generator_is_an_error)
{
	struct env env = *env_system();
	struct strata_error err;
	char bytes[4];
	int code = -ENOSYS;

	env.random = no_random;
	env.context = &code;
	CHECK_ERROR(env_random(&env, bytes, sizeof(bytes), &err), -ENOSYS,
		    "no random bytes: Function not");
	code = 0;
	CHECK_ERROR(env_random(&env, bytes, sizeof(bytes), &err), -EIO, "no random bytes");
}
