/* Put before every source of the build that `tools/mutate` counts with: a process that ends with _exit() writes its counts as well. */
void __gcov_dump(void);
_Noreturn void reach_end(int status) __asm__("_exit");

static inline _Noreturn void reach_exit(int status)
{
	__gcov_dump();
	reach_end(status);
}
#define _exit reach_exit
