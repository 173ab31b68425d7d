/* The small program: what is here is the full one's to do. */
#include "cli/cli.h"
#include "cli/engine_options.h"
#include "cli/kubernetes_options.h"
#include "cli/task.h"
#include "cli/worker_options.h"
#include "exec/exec_kubernetes.h"

#include <errno.h>

const struct client_web *cli_web(void)
{
	return NULL;
}

bool cli_has_engine(void)
{
	return false;
}

const struct strata_kind *cli_engine_kind_at(size_t index)
{
	(void)index;
	return NULL;
}

#define HANDS_OVER(name)                                                                   \
	int name(struct cli *cli, const void *conf, char **operands, size_t operand_count) \
	{                                                                                  \
		(void)conf, (void)operands, (void)operand_count;                           \
		return cli_hand_over(cli);                                                 \
	}
HANDS_OVER(backup_run)
HANDS_OVER(doctor_run)
HANDS_OVER(engine_bench_run)
HANDS_OVER(engine_conformance_run_cli)
HANDS_OVER(engine_image_run)
HANDS_OVER(engine_replay_run)
HANDS_OVER(engine_run_run)
HANDS_OVER(engine_text_run)
HANDS_OVER(kubernetes_jobs_run)
HANDS_OVER(kubernetes_scheduler_run)
HANDS_OVER(login_run)
HANDS_OVER(place_experience_run)
HANDS_OVER(serve_run)
HANDS_OVER(worker_run_cli)

int task_preview_open(struct cli *cli, int mode, struct task_preview **ret_preview)
{
	(void)mode, (void)ret_preview;
	return cli_hand_over(cli);
}

void task_preview_show(struct task_preview *preview, const char *id, const char *rest)
{
	(void)preview, (void)id, (void)rest;
}

void task_preview_close(struct task_preview *preview)
{
	(void)preview;
}

int cli_devices(struct cli *cli, struct strata_machine *ret_machine, struct strata_error *ret_note,
		size_t *ret_guessed)
{
	(void)ret_machine, (void)ret_note, (void)ret_guessed;
	return cli_hand_over(cli);
}

int cli_calibrate(struct cli *cli, const struct strata_measure_conf *conf,
		  struct strata_measured *ret_result)
{
	(void)conf, (void)ret_result;
	return cli_hand_over(cli);
}

/* The executors are known here by their options; one that asks others needs their client. */
int kubernetes_watch_start(struct kubernetes *kubernetes, struct strata_error *err)
{
	(void)kubernetes;
	return strata_fail(err, -ENOTSUP, "only the full program runs jobs");
}

void kubernetes_watch_stop(struct kubernetes *kubernetes)
{
	(void)kubernetes;
}

int kubernetes_config(const struct kubernetes_conf *conf, const struct env *env,
		      struct strata_arena *arena, struct kube_config *ret_config,
		      struct strata_error *err)
{
	(void)conf, (void)env, (void)arena, (void)ret_config;
	return strata_fail(err, -ENOTSUP, "only the full program runs jobs");
}

int kubernetes_nodes(const void *conf, const struct env *env, struct strata_memory *memory,
		     struct strata_arena *arena, const char **ret_text, struct strata_error *err)
{
	(void)conf, (void)env, (void)memory, (void)arena, (void)ret_text;
	return strata_fail(err, -ENOTSUP, "only the full program runs jobs");
}
