/* The program of a console: started with a terminal or with pipes, in a session of its own. */
#ifndef CONSOLE_CONSOLE_PROGRAM_H
#define CONSOLE_CONSOLE_PROGRAM_H

#include "console/console.h"

struct console_program {
	const struct env *env;
	struct env_process process; /* pid 0: not started */
	bool terminal;
	int in;       /* that we write to; −1: closed. None of the three blocks */
	int out, err; /* that we read from; −1: closed, or the program has a descriptor of ours */
};

/* -ENOENT and others: the program cannot be run; nothing is left then. */
int console_program_start(struct console_program *program, const struct env *env,
			  const struct console_order *order, const struct console_hello *hello,
			  struct strata_error *err);
/* To what is in the foreground of its terminal, or to its process group. */
void console_program_signal(const struct console_program *program, int number);
/* The same size again makes a program draw its screen again. */
void console_program_resize(const struct console_program *program, struct console_size size);
/* Its descriptors. */
void console_program_close(struct console_program *program);

#endif
