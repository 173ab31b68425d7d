/*
 * What the scheduler tells over HTTP: /healthz (it goes round), /readyz (it has seen all pods and
 * nodes), /metrics. No request has a body or a secret; nothing can be changed here.
 */
#ifndef PODS_PODS_PORTS_H
#define PODS_PODS_PORTS_H

#include <strata/error.h>

#include <stdatomic.h>
#include <stdint.h>

/* Written by the scheduler's thread, read by anybody. */
struct pods_figures {
	atomic_bool leads, synced;
	_Atomic int64_t beat_ns; /* when the loop came round last; monotonic */
	atomic_size_t waiting, placed, nodes, nodes_up, under_way;
	_Atomic int64_t gpus, gpus_free;
	_Atomic uint64_t rounds, round_ns, round_max_ns;
	_Atomic uint64_t bound, bind_ns, refused, evicted, told, left_out, troubles;
};

struct env;
struct pods_ports;
/* address: "0.0.0.0:10260", "[::]:10260"; port 0: any. ret_port: which it is. */
int pods_ports_open(const char *address, const struct pods_figures *figures, const struct env *env,
		    struct pods_ports **ret_ports, uint16_t *ret_port, struct strata_error *err);
void pods_ports_close(struct pods_ports *ports); /* NULL is nothing */

#endif
