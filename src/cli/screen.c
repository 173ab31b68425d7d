/* A screen that is drawn again and again, as top does. Where stdout is no terminal, each drawing is
 * printed below the last. */
#include "cli/service.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

/* ---- keys ---- */

/* The keyboard while it is read key by key. Signals of it are keys, too, so that the terminal is
 * always put right again. */
struct keyboard {
	struct termios before;
	bool taken;
};

static void take_keyboard(struct keyboard *keyboard)
{
	struct termios raw;

	keyboard->taken = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &keyboard->before) == 0;
	if (!keyboard->taken)
		return;
	raw = keyboard->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	keyboard->taken = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void give_keyboard(struct keyboard *keyboard)
{
	if (keyboard->taken)
		tcsetattr(STDIN_FILENO, TCSANOW, &keyboard->before);
	keyboard->taken = false;
}

/* Waits for the time or a key; whether it is one that ends the screen. */
static bool wait_key(const struct keyboard *keyboard, const struct screen *screen)
{
	enum { CTRL_C = 3, CTRL_D = 4 };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char bytes[32];

	if (!keyboard->taken) {
		follow_sleep(screen->interval_ns);
		return false;
	}
	if (poll(&input, 1, (int)(screen->interval_ns / STRATA_MS_NS)) <= 0)
		return false;
	/* an arrow is several bytes, which come together */
	ssize_t count = read(STDIN_FILENO, bytes, screen->key ? sizeof(bytes) : 1);

	if (count < 1)
		return true;
	if (screen->key)
		return screen->key(screen->context, bytes, (size_t)count);
	return bytes[0] == 'q' || bytes[0] == 'Q' || bytes[0] == CTRL_C || bytes[0] == CTRL_D;
}

/* ---- drawing ---- */

/* Draws with memory of its own, so that a screen may stand for weeks. */
static int draw(struct cli *cli, const struct screen *screen)
{
	struct strata_arena kept = cli->arena;

	strata_arena_init(&cli->arena, &cli->memory, 0);
	int rc = screen->draw(cli, screen->context);

	strata_arena_fini(&cli->arena);
	cli->arena = kept;
	return rc;
}

static int draw_all(struct cli *cli, const struct screen *screen, const struct keyboard *keyboard)
{
	bool terminal = isatty(STDOUT_FILENO) && cli->color;
	bool seen = false, away = false;

	for (int64_t drawn = 0; screen->times == 0 || drawn < screen->times; drawn++) {
		if (drawn && wait_key(keyboard, screen))
			return 0;
		cli_output_init(cli); /* it may have another size by now */
		if (terminal)
			cli_print(cli, "\033[H\033[J");
		int rc = draw(cli, screen);

		if (rc && !(seen && service_away(rc)))
			return rc;
		if (rc && !away)
			cli_note(cli, "%s; waiting for it", cli->err.text);
		away = rc != 0;
		if (rc)
			buf_reset(&cli->out); /* what was drawn before stays */
		else
			seen = true;
		cli_flush(cli);
	}
	return 0;
}

int screen_run(struct cli *cli, const struct screen *screen)
{
	struct keyboard keyboard = { 0 };

	if (screen->keys && isatty(STDOUT_FILENO))
		take_keyboard(&keyboard);
	int rc = draw_all(cli, screen, &keyboard);

	give_keyboard(&keyboard);
	return rc;
}
