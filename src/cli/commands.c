/*
 * Every command, one line each, sorted. A new one is a file with a const struct cli_command at its end and a line here.
 */
#include "cli/cli.h"

#include <string.h>

extern const struct cli_command cli_accounting;
extern const struct cli_command cli_accounts;
extern const struct cli_command cli_accounts_delete;
extern const struct cli_command cli_accounts_set;
extern const struct cli_command cli_backup;
extern const struct cli_command cli_cancel;
extern const struct cli_command cli_checkpoints;
extern const struct cli_command cli_classes;
extern const struct cli_command cli_complete_words;
extern const struct cli_command cli_completion;
extern const struct cli_command cli_config_show;
extern const struct cli_command cli_doctor;
extern const struct cli_command cli_events;
extern const struct cli_command cli_gpus;
extern const struct cli_command cli_help;
extern const struct cli_command cli_hold;
extern const struct cli_command cli_logs;
extern const struct cli_command cli_manual;
extern const struct cli_command cli_nodes;
extern const struct cli_command cli_nodes_drain;
extern const struct cli_command cli_nodes_resume;
extern const struct cli_command cli_noise;
extern const struct cli_command cli_partitions;
extern const struct cli_command cli_partitions_delete;
extern const struct cli_command cli_partitions_set;
extern const struct cli_command cli_place;
extern const struct cli_command cli_place_bench;
extern const struct cli_command cli_place_calibrate;
extern const struct cli_command cli_place_detect;
extern const struct cli_command cli_place_ops;
extern const struct cli_command cli_place_wizard;
extern const struct cli_command cli_qos;
extern const struct cli_command cli_qos_delete;
extern const struct cli_command cli_qos_set;
extern const struct cli_command cli_queue;
extern const struct cli_command cli_release;
extern const struct cli_command cli_requeue;
extern const struct cli_command cli_serve;
extern const struct cli_command cli_show;
extern const struct cli_command cli_sim_cluster;
extern const struct cli_command cli_sim_place;
extern const struct cli_command cli_sim_pool;
extern const struct cli_command cli_sim_rerun;
extern const struct cli_command cli_sim_workload;
extern const struct cli_command cli_slurm_ls;
extern const struct cli_command cli_slurm_parse;
extern const struct cli_command cli_solver_bench;
extern const struct cli_command cli_solver_list;
extern const struct cli_command cli_solver_plot;
extern const struct cli_command cli_solver_replay;
extern const struct cli_command cli_solver_show;
extern const struct cli_command cli_solver_table;
extern const struct cli_command cli_stage_plan;
extern const struct cli_command cli_stage_run;
extern const struct cli_command cli_stage_simulate;
extern const struct cli_command cli_stage_verify;
extern const struct cli_command cli_submit;
extern const struct cli_command cli_supervise;
extern const struct cli_command cli_token_create;
extern const struct cli_command cli_token_list;
extern const struct cli_command cli_token_revoke;
extern const struct cli_command cli_top;
extern const struct cli_command cli_trace;
extern const struct cli_command cli_trace_merge;
extern const struct cli_command cli_users;
extern const struct cli_command cli_users_delete;
extern const struct cli_command cli_users_set;
extern const struct cli_command cli_version;
extern const struct cli_command cli_watch;
extern const struct cli_command cli_why;

/* clang-format off */
static const struct cli_command *const commands[] = {
	&cli_accounting,
	&cli_accounts,
	&cli_accounts_delete,
	&cli_accounts_set,
	&cli_backup,
	&cli_cancel,
	&cli_checkpoints,
	&cli_classes,
	&cli_complete_words,
	&cli_completion,
	&cli_config_show,
	&cli_doctor,
	&cli_events,
	&cli_gpus,
	&cli_help,
	&cli_hold,
	&cli_logs,
	&cli_manual,
	&cli_nodes,
	&cli_nodes_drain,
	&cli_nodes_resume,
	&cli_noise,
	&cli_partitions,
	&cli_partitions_delete,
	&cli_partitions_set,
	&cli_place,
	&cli_place_bench,
	&cli_place_calibrate,
	&cli_place_detect,
	&cli_place_ops,
	&cli_place_wizard,
	&cli_qos,
	&cli_qos_delete,
	&cli_qos_set,
	&cli_queue,
	&cli_release,
	&cli_requeue,
	&cli_serve,
	&cli_show,
	&cli_sim_cluster,
	&cli_sim_place,
	&cli_sim_pool,
	&cli_sim_rerun,
	&cli_sim_workload,
	&cli_slurm_ls,
	&cli_slurm_parse,
	&cli_solver_bench,
	&cli_solver_list,
	&cli_solver_plot,
	&cli_solver_replay,
	&cli_solver_show,
	&cli_solver_table,
	&cli_stage_plan,
	&cli_stage_run,
	&cli_stage_simulate,
	&cli_stage_verify,
	&cli_submit,
	&cli_supervise,
	&cli_token_create,
	&cli_token_list,
	&cli_token_revoke,
	&cli_top,
	&cli_trace,
	&cli_trace_merge,
	&cli_users,
	&cli_users_delete,
	&cli_users_set,
	&cli_version,
	&cli_watch,
	&cli_why,
};
/* clang-format on */

static const struct strata_option globals_options[] = {
	{ "help", STRATA_BOOL, offsetof(struct cli_globals, help), .letter = 'h',
	  .help = "show help for the command" },
	{ "version", STRATA_BOOL, offsetof(struct cli_globals, version),
	  .help = "show the version" },
	{ "json", STRATA_BOOL, offsetof(struct cli_globals, json), .help = "print data as JSON" },
	{ "no_color", STRATA_BOOL, offsetof(struct cli_globals, no_color), .aliases = "no_colour",
	  .help = "no colours, no progress bars" },
	{ "config", STRATA_TEXT, offsetof(struct cli_globals, config), .value = "FILE",
	  .help = "configuration file" },
	{ "socket", STRATA_TEXT, offsetof(struct cli_globals, socket), .value = "PATH",
	  .help = "the server's Unix socket" },
	{ "server", STRATA_TEXT, offsetof(struct cli_globals, server), .value = "URL",
	  .help = "the server's address" },
	{ 0 }
};

const struct strata_schema cli_globals_schema = {
	.name = "strata",
	.summary = "options of every command",
	.conf_size = sizeof(struct cli_globals),
	.options = globals_options,
};

const struct cli_command *cli_command_at(size_t index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}

bool cli_is_group(const char *word)
{
	const struct cli_command *command;
	size_t length = strlen(word);

	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (strncmp(command->name, word, length) == 0 && command->name[length] == ' ')
			return true;
	return false;
}

const struct cli_command *cli_command_find(char *const words[], size_t count, size_t *ret_words)
{
	const struct cli_command *command, *alone = NULL;

	for (size_t i = 0; count && (command = cli_command_at(i)); i++) {
		size_t first = strcspn(command->name, " ");
		const char *second = command->name[first] ? command->name + first + 1 : NULL;

		if (strlen(words[0]) != first || strncmp(command->name, words[0], first) != 0)
			continue;
		if (second && count > 1 && strcmp(second, words[1]) == 0) {
			*ret_words = 2;
			return command;
		}
		if (!second)
			alone = command; /* "nodes", but perhaps "nodes drain" is meant */
	}
	if (alone)
		*ret_words = 1;
	return alone;
}
