/*
 * What can be configured of the service: [serve] of the file, STRATA_SERVE_* variables, flags of
 * strata serve; one table for all.
 */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include <strata/class.h>
#include <strata/option.h>

enum tls_mode { TLS_OFF, TLS_AUTO };
enum pool_scope { POOL_SCOPE_MODEL, POOL_SCOPE_SHARED };

struct server_conf {
	const char *state_dir, *store, *socket, *listen, *checkpoint_dir, *cluster_name;
	const char *checkpoint_path; /* s3://bucket/prefix; NULL: no copies */
	const char *s3_endpoint, *s3_region;
	const char *s3_credentials; /* a file; NULL: the environment has them */
	int64_t s3_part_bytes;
	int tls;                        /* enum tls_mode */
	const char *tls_cert, *tls_key; /* files; NULL: none */
	/* of const char *: "NAME:cpus=8:memory=64G:gpus=4:gpu_type=a100" */
	struct strata_list nodes;
	const char *order, *placement, *backfill, *predict, *preempt;
	const char *executor;
	const char *pool_policy;
	int pool_scope; /* enum pool_scope */
	bool pool_preempt;
	const char *webhook_allow;
	const char *mail_program;
	int64_t webhook_retry_ns;
	int64_t task_queue_max;
	const char *worker_user;    /* NULL: chosen */
	const char *worker_program; /* NULL: the one beside this */
	const char *worker_python;  /* NULL: python3 */
	int64_t worker_idle_ns, worker_lease_ns, worker_save_ns, worker_wait_target_ns;
	int64_t result_keep_ns, result_bytes_max, result_user_bytes_max; /* 0: no bound */
	const char *record;                                              /* NULL: none */
	int64_t half_life_ns, time_limit_ns, time_limit_ns_max, checkpoint_bytes_max, grace_ns;
	int64_t record_bytes_max;
	int64_t keep_ns; /* 0: for ever */
	/* when a key figure has changed: figures.h */
	int64_t regression_warm_up, regression_window, regression_days, regression_of;
	int64_t regression_samples;
	double regression_deviation, regression_ratio;
	const char *inventory_url; /* NULL: none */
	const char *inventory_token_file;
	int64_t request_timeout_ns;
	int64_t http_threads;
	int log_form, log_level; /* enum log_form, enum log_level */
	bool token_from_token;
	const char *web_hosts; /* NULL: the loopback's names only */
	bool accept_store;
	/* of const char *: paths of plug-ins, which are common to all commands and not in the
	 * table */
	struct strata_list plugins;
};
extern const struct strata_schema server_schema;

/* The classes of a kind, those of plug-ins included; the caller frees it. */
int conf_registry(const struct server_conf *conf, const struct strata_kind *kind,
		  struct strata_memory *memory, struct strata_registry **ret_registry,
		  struct strata_error *err);

/* May the setting change while the service runs? */
bool conf_is_live(const char *name);

/* Is the address of an inventory service one that is asked: http://…, https://… or unix:PATH? */
int conf_check_url(const char *url, struct strata_error *err);

/* Do those of TLS belong together? */
int conf_check_tls(const struct server_conf *conf, struct strata_error *err);

/* Do checkpoint_path and what belongs to it make sense? */
int conf_check_copies(const struct server_conf *conf, struct strata_error *err);

/* Can there be so many days? Numbers that are never reached would keep every change untold. */
int conf_check_regression(const struct server_conf *conf, struct strata_error *err);

/* Do the settings make sense, as far as can be said without opening anything: classes, nodes? */
int conf_check(const struct server_conf *conf, struct strata_error *err);

/* Where in an address its next password stands, from `from` on; false: there is none. */
bool conf_find_password(const char *address, size_t from, size_t *ret_at, size_t *ret_length);
/* The address with *** for its passwords, in the arena; NULL for lack of memory. */
const char *conf_hide_password(const char *address, struct strata_arena *arena);

#endif
