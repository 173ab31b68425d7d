/*
 * A wall clock that a test can set: CLOCK_REALTIME plus the seconds that are in the file STRATA_TEST_CLOCK, as if somebody had set the machine's
 * clock. Other clocks are as they are.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long shift_s(void)
{
	const char *path = getenv("STRATA_TEST_CLOCK");
	char text[32] = "";
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	ssize_t length = read(fd, text, sizeof(text) - 1);

	close(fd);
	return length > 0 ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	int rc = real(clock, now);

	if (rc == 0 && clock == CLOCK_REALTIME)
		now->tv_sec += shift_s();
	return rc;
}
