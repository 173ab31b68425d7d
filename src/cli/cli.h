/*
 * The command line. A command is a const row: name, summary, option table, one function. The table
 * (commands.c) feeds the dispatcher, help, man pages and completion. Data goes to stdout, talk to
 * stderr.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <strata/trace.h>
#include <strata/class.h>
#include <strata/error.h>
#include <strata/memory.h>
#include <strata/option.h>

#include "core/buf.h"
#include "core/option.h"
#include "server/settings.h"

#include <jansson.h>
#include <stdio.h>

struct client;

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* Options that every command takes, before or after its name. */
struct cli_globals {
	bool help;
	bool version;
	bool json;
	bool no_color;
	const char *config; /* path; NULL: the usual places */
	const char *socket;
	const char *server;
	const char *context;
};

/* What the configuration file and STRATA_* variables may say. */
struct cli_config {
	int color;                  /* enum cli_color */
	const char *socket;         /* path of the server's Unix socket; NULL: the default one */
	const char *server;         /* URL of a server; NULL: the socket */
	struct strata_list plugins; /* of const char *: shared objects to load */
	struct strata_list nodes;   /* of struct inventory_declared: [node NAME] */
	struct server_conf serve;   /* of the service: [serve] */
};

/* One run of the program; passed to every command. */
struct cli {
	char **argv; /* as the program was called */
	struct strata_memory memory;
	struct strata_arena arena; /* lives as long as the run */
	struct strata_error err;   /* of the command that failed */
	struct cli_globals globals;
	struct cli_config config;
	struct origins origins; /* of the values in config */
	struct strata_error
		config_error;  /* why the configuration could not be read; code 0: it was */
	struct origins given;  /* the command's flags that were there */
	void *shared;          /* the struct of the command's shared table, filled; or NULL */
	struct client *client; /* of the service; NULL until it is asked (service.c) */
	const struct cli_command *command;
	char **words;    /* that the program was started with; NULL behind the last */
	struct buf out;  /* what goes to stdout, flushed at the end and when it grows */
	bool color;      /* stdout is a terminal that wants colours */
	bool talk_color; /* the same of stderr */
	int columns;     /* width of the terminal on stdout; 0 when it is none */
	int rows;        /* its height */
};

struct cli_command {
	const char *name;     /* "version", or "trace merge" for a command of a group */
	const char *operands; /* as in the usage line: "NAME…"; NULL: takes none */
	const char *summary;  /* one line, lower case, no full stop */
	const char *about;    /* paragraphs for help and man page; may be NULL */
	const char *examples; /* lines "command  # what it does"; may be NULL */
	const struct strata_schema *options; /* of its own; may be NULL */
	const struct strata_schema *shared;  /* a table of others as well; may be NULL */
	int operands_min;
	int operands_max; /* −1: any number */
	bool hidden;      /* works, but is not listed */
	bool raw;         /* its words are not looked at: it parses them itself */
	bool tolerant;    /* runs although the configuration cannot be read: see config_error */
	bool stops;       /* the first operand ends the flags: what follows is another command's */

	/* Returns 0, or a negative code with cli->err set; a positive value is an exit code of
	 * its own, nothing is said then. conf is the filled struct of `options`. */
	int (*run)(struct cli *cli, const void *conf, char **operands, size_t operand_count);

	/* Offers the words that may stand at an operand's place; optional. */
	bool serves; /* it goes by the service's settings, too */
	void (*complete)(struct cli *cli, size_t operand_index, struct buf *ret_lines);
};

/*
 * There are two programs of the same commands. `strata` is the one that people call: it asks a
 * service over its socket, and starts in three milliseconds instead of thirteen because it has no
 * library for databases, servers and the web behind it. For what needs those it becomes
 * `strata-full` (hand_over.c), which has them.
 */
struct client_web;
const struct client_web *cli_web(void); /* small.c: NULL */
int serve_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);
int backup_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);
int login_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);
int doctor_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);
/* What this machine computes with, and measuring it (strata/machine.h). */
struct strata_machine;
struct strata_measure_conf;
struct strata_measured;
int cli_devices(struct cli *cli, struct strata_machine *ret_machine, struct strata_error *ret_note,
		size_t *ret_guessed);
int cli_calibrate(struct cli *cli, const struct strata_measure_conf *conf,
		  struct strata_measured *ret_result);
/* Does not return, unless there is no such program. */
int cli_hand_over(struct cli *cli);

/* What commands are for; `strata help` goes by it. */
enum cli_chapter {
	CLI_WORK,
	CLI_LOOK,
	CLI_ADMINISTER,
	CLI_MODELS,
	CLI_SIMULATE,
	CLI_PROGRAM,
	CLI_CHAPTER_COUNT,
};

/* commands.c: sorted by name; NULL past the end. */
const struct cli_command *cli_command_at(size_t index);
enum cli_chapter cli_chapter_at(size_t index); /* of one that is there */
/* The command that the first words name; *ret_words is how many words its name has. NULL: none. */
const struct cli_command *cli_command_find(char *const words[], size_t count, size_t *ret_words);
/* Is there a command "word …"? */
bool cli_is_group(const char *word);
extern const struct strata_schema cli_globals_schema;

/* cmd_config.c */
extern const struct strata_schema cli_config_schema;
int cli_config_load(struct cli *cli);
/* One file, in place of all others, over the defaults. */
int cli_config_load_file(struct cli *cli, const char *path);
/* A registry of the kind with the configured plug-ins in it; freed by the caller. */
int cli_registry_open(struct cli *cli, const struct strata_kind *kind,
		      struct strata_registry **ret_registry);
/* Specs of the kind, of those plug-ins too; in the run's arena. */
int cli_spec_read(struct cli *cli, const struct strata_kind *kind, const char *text,
		  struct strata_spec *ret_spec);
int cli_spec_read_list(struct cli *cli, const struct strata_kind *kind, const char *text,
		       struct strata_spec **ret_specs, size_t *ret_count);

/* serve_conf.c: the settings of the service as they count: the configuration's, under them the
 * usual places, over them the flags of strata serve that `given` names (NULL: none). */
int serve_conf_make(struct cli *cli, const struct server_conf *flags, const struct origins *given,
		    struct server_conf *ret_conf);
/* What the running server has, in the place of what is there. False: none is reached, or it does
 * not tell; nothing is said of that. */
bool serve_conf_ask(struct cli *cli, struct server_conf *ret_conf);

/* all_kinds.c: the library's kinds and then the program's own; NULL past the end, or where there
 * is none of the name. Only the full program has the engine's: where one is asked for and
 * cli_has_engine() is false, hand over. */
bool cli_has_engine(void);
const struct strata_kind *cli_engine_kind_at(size_t index);
const struct strata_kind *cli_kind_at(size_t index);
const struct strata_kind *cli_kind_find(const char *name);

/* output.c */
void cli_output_init(struct cli *cli); /* looks at the terminal */
void cli_printf(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_print(struct cli *cli, const char *text);
/* Prints a JSON document and gives back the reference; NULL is out of memory. */
int cli_print_json(struct cli *cli, json_t *json);
/* Of a file that a command writes: what the umask leaves. A draft asks for its mode as it is. */
mode_t cli_file_mode(void);
/* Writes what is waiting. A reader that went away ends the program with 0, a full disk with 1. */
void cli_flush(struct cli *cli);
/* A trace straight into a file that is being written, and its end: the file is kept when rc is 0,
 * else dropped; rc, or what went wrong then. */
struct env_draft;
struct strata_trace_sink cli_draft_sink(struct env_draft *draft);
int cli_draft_end(struct cli *cli, struct env_draft *draft, int rc);
/* One line on stderr that is not about a failure. */
void cli_note(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "" for one, else "s": "%zu job%s". */
const char *cli_plural(size_t count);
/* One line on stderr: "strata: …". */
void cli_say(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same without a name in front; what cannot be shown of it is escaped. */
void cli_talk(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_GREEN, CLI_YELLOW, CLI_RED, CLI_BLUE };
/* The escape sequence that starts the style, or "" without colours. CLI_PLAIN ends it. */
const char *cli_style(const struct cli *cli, enum cli_style style);

/* text_table.c: rows of cells, aligned. */
struct cli_column {
	const char *title;
	bool right;           /* numbers */
	bool flexible;        /* is cut first when the terminal is narrow */
	bool optional;        /* left out when all of its cells are "-"; not the last one */
	enum cli_style style; /* of the cells */
};
struct cli_table;
int cli_table_new(struct cli *cli, const struct cli_column *columns, size_t count,
		  struct cli_table **ret_table);
/* One cell after the other, row by row; the text is copied. */
void cli_table_add(struct cli_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, in a style of its own. */
void cli_table_add_styled(struct cli_table *table, enum cli_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What a buf has gathered, or `empty` where it has nothing, and gives the buf back; one that failed
 * fails the table. */
void cli_table_add_buf(struct cli_table *table, struct buf *buf, const char *empty);
/* Prints it (a row of titles, then the rows) and frees it. */
int cli_table_print(struct cli_table *table);

/* progress.c: a bar on stderr while something takes long; nothing where stderr is no terminal. */
struct cli_progress {
	struct cli *cli;
	const char *what;
	double total;
	int64_t shown_ns; /* when it was last drawn */
	bool drawn;
};
void cli_progress_start(struct cli_progress *progress, struct cli *cli, const char *what,
			double total);
void cli_progress_show(struct cli_progress *progress, double done);
void cli_progress_end(struct cli_progress *progress);

/* cmd_help.c */
void cli_overview(struct cli *cli);
void cli_usage(const struct cli_command *command,
	       struct buf *buf); /* "strata noise NAME [options]" */
int cli_help_command(struct cli *cli, const struct cli_command *command);

#endif
