/*
 * The first line of every source in which `tools/mutate` has put mutants. All of a run are in one build, each in a
 * copy of its function's body; the page that STRATA_MUTANT_SWITCH names says which of them is live (0: none) and is told
 * which functions are entered. It is a file, shared, because supervisors and services start with an environment of
 * their own, and because what a process that is killed has written stays.
 *
 * System calls are made directly: tests wrap the functions of the C library.
 */
#include <sys/syscall.h>

enum { STRATA_MUTANT_PAGE = 16384, STRATA_MUTANT_MARKS = 16 };

extern long syscall(long number, ...);

/* One of each in a program, however many of its sources have mutants. */
__attribute__((weak, visibility("hidden"))) unsigned char strata_mutant_nothing[STRATA_MUTANT_PAGE];
__attribute__((weak, visibility("hidden"))) unsigned char *strata_mutant_page = strata_mutant_nothing;

__attribute__((constructor)) static void strata_mutant_open(void)
{
	enum { HERE = -100, READ_WRITE_CLOEXEC = 02000002, READ_WRITE = 3, SHARED = 1 };

	if (strata_mutant_page != strata_mutant_nothing)
		return;
	long fd = syscall(SYS_openat, HERE, STRATA_MUTANT_SWITCH, READ_WRITE_CLOEXEC, 0);
	if (fd < 0)
		return;
	long page = syscall(SYS_mmap, 0L, (long)STRATA_MUTANT_PAGE, (long)READ_WRITE, (long)SHARED, fd, 0L);
	if (page > 0)
		strata_mutant_page = (unsigned char *)page;
	syscall(SYS_close, fd);
}

/* The number of the live mutant; the function with this mark has been entered. */
static inline unsigned strata_mutant_live(unsigned mark)
{
	strata_mutant_page[STRATA_MUTANT_MARKS + mark] = 1;
	return *(volatile unsigned *)strata_mutant_page;
}
