/* The three paths, by libmicrohttpd. */
#include "pods/pods_ports.h"

#include "core/buf.h"
#include "core/env.h"

#include <strata/text.h>

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_MAX = 64, TIMEOUT_S = 10, TEXT_BYTES_MAX = 1 << 16 };
#define STUCK_NS (120 * STRATA_SECOND_NS)

struct pods_ports {
	const struct pods_figures *figures;
	const struct env *env;
	struct MHD_Daemon *daemon;
};

/* ---- texts ---- */

static void metric(struct buf *buf, const char *name, const char *type, const char *help,
		   double value)
{
	char number[STRATA_FORM_BYTES];

	buf_printf(buf, "# HELP strata_pods_%s %s\n# TYPE strata_pods_%s %s\nstrata_pods_%s %s\n",
		   name, help, name, type, name, strata_real_print(value, number));
}

static void print_metrics(const struct pods_figures *figures, struct buf *buf)
{
	const struct {
		const char *name, *type, *help;
		double value;
	} rows[] = {
		{ "leader", "gauge", "1 when this scheduler leads", atomic_load(&figures->leads) },
		{ "waiting", "gauge", "pods that wait for a place",
		  (double)atomic_load(&figures->waiting) },
		{ "placed", "gauge", "pods of ours that have a place",
		  (double)atomic_load(&figures->placed) },
		{ "nodes", "gauge", "nodes there are", (double)atomic_load(&figures->nodes) },
		{ "nodes_up", "gauge", "nodes that take pods",
		  (double)atomic_load(&figures->nodes_up) },
		{ "gpus", "gauge", "GPUs of nodes that take pods",
		  (double)atomic_load(&figures->gpus) },
		{ "gpus_free", "gauge", "those of them that are free",
		  (double)atomic_load(&figures->gpus_free) },
		{ "requests_under_way", "gauge", "requests to the API server without an answer",
		  (double)atomic_load(&figures->under_way) },
		{ "rounds_total", "counter", "rounds of decisions",
		  (double)atomic_load(&figures->rounds) },
		{ "round_seconds_total", "counter", "time spent in them",
		  (double)atomic_load(&figures->round_ns) / STRATA_SECOND_NS },
		{ "round_seconds_max", "gauge", "the longest of them",
		  (double)atomic_load(&figures->round_max_ns) / STRATA_SECOND_NS },
		{ "bound_total", "counter", "pods that were bound",
		  (double)atomic_load(&figures->bound) },
		{ "bind_seconds_total", "counter", "from the decision to the answer, all together",
		  (double)atomic_load(&figures->bind_ns) / STRATA_SECOND_NS },
		{ "refused_total", "counter", "requests that the API server refused",
		  (double)atomic_load(&figures->refused) },
		{ "evicted_total", "counter", "pods that were deleted to make room",
		  (double)atomic_load(&figures->evicted) },
		{ "told_total", "counter", "conditions that say why a pod waits",
		  (double)atomic_load(&figures->told) },
		{ "left_out_total", "counter", "conditions and events that were too many",
		  (double)atomic_load(&figures->left_out) },
		{ "troubles_total", "counter", "watches that broke off",
		  (double)atomic_load(&figures->troubles) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		metric(buf, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

static unsigned status_of(const struct pods_ports *ports, const char *path, struct buf *buf)
{
	const struct pods_figures *figures = ports->figures;
	int64_t silent_ns = env_now_ns(ports->env, ENV_MONOTONIC) - atomic_load(&figures->beat_ns);

	if (strcmp(path, "/metrics") == 0) {
		print_metrics(figures, buf);
		return MHD_HTTP_OK;
	}
	bool good = strcmp(path, "/healthz") == 0  ? silent_ns < STUCK_NS
		    : strcmp(path, "/readyz") == 0 ? atomic_load(&figures->synced)
						   : false;

	buf_add(buf, good ? "ok\n" : "not ok\n");
	if (strcmp(path, "/healthz") != 0 && strcmp(path, "/readyz") != 0)
		return MHD_HTTP_NOT_FOUND;
	return good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static enum MHD_Result answer(void *ports_any, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *body,
			      size_t *body_bytes, void **request)
{
	struct strata_memory memory = { 0 };
	enum MHD_Result result = MHD_NO;
	struct buf buf;

	(void)version, (void)body, (void)body_bytes, (void)request;
	if (strcmp(method, "GET") != 0)
		return MHD_NO;
	buf_init(&buf, &memory, TEXT_BYTES_MAX);
	unsigned status = status_of(ports_any, path, &buf);
	struct MHD_Response *response =
		buf.failed ? NULL
			   : MHD_create_response_from_buffer(buf.length, buf.text,
							     MHD_RESPMEM_MUST_COPY);

	if (response) {
		MHD_add_response_header(response, "Content-Type",
					strcmp(path, "/metrics") == 0 ? "text/plain; version=0.0.4"
								      : "text/plain");
		result = MHD_queue_response(connection, status, response);
		MHD_destroy_response(response);
	}
	buf_fini(&buf);
	return result;
}

/* ---- beginning and end ---- */

static int read_address(const char *text, struct sockaddr_storage *ret_address,
			struct strata_error *err)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool brackets = length > 1 && text[0] == '[' && text[length - 1] == ']';
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_address;
	struct sockaddr_in *four = (struct sockaddr_in *)ret_address;
	char host[INET6_ADDRSTRLEN] = "";
	int64_t port = 0;

	memset(ret_address, 0, sizeof(*ret_address));
	if (colon && length - 2 * brackets < sizeof(host))
		memcpy(host, text + brackets, length - 2 * brackets);
	if (!colon || strata_int_parse(colon + 1, STRATA_TEXT_NUL, 0, UINT16_MAX, &port, NULL))
		return strata_fail_at(err, -EINVAL, "listen",
				      "\"%.100s\" is not ADDRESS:PORT, such as 0.0.0.0:10260",
				      text);
	if (!brackets && inet_pton(AF_INET, *host ? host : "0.0.0.0", &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)port);
	} else if (brackets && inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
	} else {
		return strata_fail_at(err, -EINVAL, "listen",
				      "\"%.100s\" has no IP address in front of the port", text);
	}
	return 0;
}

int pods_ports_open(const char *address, const struct pods_figures *figures, const struct env *env,
		    struct pods_ports **ret_ports, uint16_t *ret_port, struct strata_error *err)
{
	struct pods_ports *ports = calloc(1, sizeof(*ports));
	struct sockaddr_storage where;
	int rc = ports ? read_address(address, &where, err) : strata_fail_memory(err);

	if (rc) {
		free(ports);
		return rc;
	}
	ports->figures = figures;
	ports->env = env;
	ports->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD |
			(where.ss_family == AF_INET6 ? MHD_USE_IPv6 : MHD_NO_FLAG),
		0, NULL, NULL, answer, ports, MHD_OPTION_SOCK_ADDR, &where,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_END);
	if (!ports->daemon) {
		rc = strata_fail_at(err, -EADDRINUSE, "listen", "cannot listen on %.100s: %s",
				    address, strerror(errno));
		free(ports);
		return rc;
	}
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(ports->daemon, MHD_DAEMON_INFO_BIND_PORT);

	*ret_port = info ? info->port : 0;
	*ret_ports = ports;
	return 0;
}

void pods_ports_close(struct pods_ports *ports)
{
	if (!ports)
		return;
	MHD_stop_daemon(ports->daemon);
	free(ports);
}
