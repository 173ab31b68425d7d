/*
 * The console of an interactive job: what stands between the program of a job and the terminals of
 * people. A host runs within the job, so that all it starts has the job's user, limits and GPUs; it
 * starts the program, with a terminal or with pipes, and listens on a socket in a directory that
 * only the job's user can enter. A view runs where somebody sits; it connects and passes bytes,
 * signals and sizes. Views come and go; the host and the program stay, and no service is between
 * them: it may be restarted at any time.
 *
 * The view that had the job made is its owner: when it goes away without saying so (killed, hung
 * up), the host ends the program. Others are guests.
 */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include "core/env.h"

#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct console_size {
	uint16_t rows, columns; /* 0: not known */
};

/* How the program ended. */
struct console_end {
	uint8_t code;   /* its exit code, where signal is 0 */
	uint8_t signal; /* that ended it */
};

/* ---- console_frame.c: what goes over the socket. Pure. ---- */

enum console_type {
	/* from a view */
	CONSOLE_HELLO = 'h',     /* first: struct console_hello */
	CONSOLE_INPUT = 'i',     /* bytes; not more than CONSOLE_WINDOW without CONSOLE_TAKEN */
	CONSOLE_INPUT_END = 'e', /* there will be no more */
	CONSOLE_RESIZE = 'w',    /* struct console_size */
	CONSOLE_SIGNAL = 's',    /* its number, one byte */
	CONSOLE_DETACH = 'd',    /* the view goes, the program stays */
	/* from the host */
	CONSOLE_WELCOME = 'c', /* answers hello: one byte, is it a terminal? */
	CONSOLE_OUTPUT = 'o',  /* bytes of stdout, or of the terminal */
	CONSOLE_ERROR = 'x',   /* bytes of stderr */
	CONSOLE_TAKEN = 'a',   /* so many bytes of input have reached the program: four bytes */
	CONSOLE_NOTE = 'n',    /* a sentence for the person */
	CONSOLE_ENDED = 'q',   /* struct console_end; the last frame */
};

enum {
	CONSOLE_HEAD_BYTES = 4,
	CONSOLE_WINDOW = 32 << 10, /* of input that a view may have on its way */
	CONSOLE_RECALL = 32 << 10, /* of output that a guest is shown when it comes */
	CONSOLE_VERSION = 1,
	CONSOLE_HELLO_BYTES = 7,
};

struct console_frame {
	enum console_type type;
	const char *bytes; /* borrowed */
	size_t count;
};

struct console_hello {
	uint8_t version;
	bool owner, terminal; /* of an owner: the program gets a terminal */
	struct console_size size;
};

/* Looks at the front of some bytes: 1 and the frame that is there, with how long it is; 0: it is
 * not whole yet; -EBADMSG. */
int console_frame_read(const char *bytes, size_t count, struct console_frame *ret_frame,
		       size_t *ret_used, struct strata_error *err);
void console_frame_head(enum console_type type, size_t count, char ret_head[CONSOLE_HEAD_BYTES]);
void console_hello_write(const struct console_hello *hello, char ret_bytes[CONSOLE_HELLO_BYTES]);
bool console_hello_read(const struct console_frame *frame, struct console_hello *ret_hello);
void console_size_write(struct console_size size, char ret_bytes[4]);
bool console_size_read(const struct console_frame *frame, struct console_size *ret_size);
void console_count_write(uint32_t count, char ret_bytes[4]);
bool console_count_read(const struct console_frame *frame, uint32_t *ret_count);

/* ---- console_wire.c: one connection, which never blocks ---- */

struct console_wire {
	struct strata_memory *memory; /* borrowed until _close */
	int fd;                       /* −1: closed; owned */
	char *in, *out;               /* owned */
	size_t in_at, in_used;
	size_t out_at, out_used;
};

/* Takes over the descriptor, also when it fails. */
int console_wire_open(struct console_wire *wire, int fd, struct strata_memory *memory,
		      struct strata_error *err);
void console_wire_close(struct console_wire *wire); /* twice is nothing */
/* How long a frame may be that is sent now; 0: none. */
size_t console_wire_room(const struct console_wire *wire);
/* Puts a frame behind those that wait; false: there is no room. */
bool console_wire_send(struct console_wire *wire, enum console_type type, const void *bytes,
		       size_t count);
bool console_wire_waits(const struct console_wire *wire); /* for the other end to read */
/* Writes what waits, as far as it goes. false: the other end is gone. */
bool console_wire_flush(struct console_wire *wire);
/* Reads once; frames that were taken before are gone. false: the other end is gone. */
bool console_wire_fill(struct console_wire *wire);
/* The next frame of what was read: 1, 0 or -EBADMSG, as console_frame_read. */
int console_wire_next(struct console_wire *wire, struct console_frame *ret_frame,
		      struct strata_error *err);

/* ---- console_place.c: the directory ---- */

/* A new one under `base`, for nobody but us; in the arena. */
int console_place_make(const char *base, struct strata_arena *arena, char **ret_dir,
		       struct strata_error *err);
/* The owner holds it as long as it lives: a lock, which the kernel lets go of. */
int console_place_hold(const char *dir, int *ret_fd, struct strata_error *err);
bool console_place_held(const char *dir);
/* A socket that does not block. -EACCES: the directory is not ours alone. */
int console_place_listen(const char *dir, int *ret_fd, struct strata_error *err);
/* The next that came, if it is of our user; a negative code when it is not, or none came. */
int console_place_accept(int listening);
/* -ENOENT, -ECONNREFUSED: there is no host (yet). -EACCES: it is another user's. */
int console_place_connect(const char *dir, int *ret_fd, struct strata_error *err);
/* With all that this file put there, and the log. */
void console_place_remove(const char *dir);
/* Where the host's own complaints go; "log" in that directory. */
#define CONSOLE_LOG "log"

/* ---- console_host.c ---- */

struct console_order {
	const char *dir;
	const char *const *argv; /* of the program, looked for on PATH; NULL behind the last */
	const char *path;        /* where to look for it */
	bool kept[3];            /* descriptors of ours that the program gets as they are */
};

/* Runs the program until it has ended and the views have all of its output. An error: it could not
 * be started, or nobody wanted it any more; ret_end has an exit code for that, too. */
int console_host_run(const struct env *env, const struct console_order *order,
		     struct strata_memory *memory, struct console_end *ret_end,
		     struct strata_error *err);

/* ---- console_end.c ---- */

/* The end of the program, gently first: what is sent to it, and when. */
struct console_stop {
	int64_t since_ns; /* 0: not asked to end */
	int sent;         /* how many of the signals were */
};
/* The signal that is due now (0: none), and how long until the next (−1: there is none). */
int console_stop_due(struct console_stop *stop, int64_t now_ns, int64_t *ret_wait_ns);

/* ---- console_keys.c: the keys that leave a terminal. Pure. ---- */

struct console_keys {
	char prefix;   /* a control character; 0: there is none */
	bool held;     /* it was pressed, and is kept back until the next key */
	bool detached; /* and that was d */
};
enum { CONSOLE_KEYS_DEFAULT = 0x1d }; /* Ctrl-] */
/* What of the keys goes on to the program, into a list with room for one more. Returns how many;
 * keys behind the last one of a detachment are dropped. */
size_t console_keys_pass(struct console_keys *keys, const char *typed, size_t count,
			 char *ret_passed);
/* Nothing came for a while: what was kept back goes on. */
size_t console_keys_release(struct console_keys *keys, char *ret_passed);
/* "ctrl-]", "ctrl-a" or "none"; "^]" is another way to write it. */
int console_keys_parse(const char *text, char *ret_prefix, struct strata_error *err);

/* ---- console_view.c ---- */

/* Blocks the signals that a view passes on or ends by, and gives them as a descriptor. */
int console_signals_open(int *ret_fd, struct strata_error *err);
/* The next of them; 0: none. */
int console_signals_take(int fd);

struct console_view {
	int fd;      /* connected; taken over */
	int signals; /* of console_signals_open */
	bool owner;
	bool terminal;    /* of an owner: the program is to have one */
	char keys_prefix; /* 0: there is no way to detach */
	/* May do something about a signal instead of it being passed on (true). NULL: nothing. */
	bool (*take_signal)(void *context, int number);
	void *context;
};

enum console_outcome {
	CONSOLE_SAW_END, /* of the program: `end` */
	CONSOLE_LOST,    /* the host is gone without a word */
	CONSOLE_DETACHED,
	CONSOLE_HUNG_UP, /* this side is gone: by a signal, or nobody reads on */
};

struct console_result {
	enum console_outcome outcome;
	struct console_end end;
	int signal;      /* HUNG_UP */
	bool unfinished; /* the last line on the terminal has no end */
	char note[256];  /* what the host said last; "" */
};

/* Until one of these. The terminal is as before, then. */
int console_view_run(const struct console_view *view, struct strata_memory *memory,
		     struct console_result *ret_result, struct strata_error *err);

#endif
