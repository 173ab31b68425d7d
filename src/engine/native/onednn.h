/*
 * oneDNN with less ceremony: a place to compute (engine and stream), and ports, through which a tensor of ours goes in or out in the layout that a
 * primitive wants. A port with the same layout on both sides costs nothing.
 */
#ifndef ENGINE_NATIVE_ONEDNN_H
#define ENGINE_NATIVE_ONEDNN_H

#include <strata/error.h>

#include <dnnl.h>
#include <stdbool.h>

struct onednn_place {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
};
int onednn_place_init(struct onednn_place *place, struct strata_error *err);
void onednn_place_fini(struct onednn_place *place);

struct onednn_port {
	dnnl_memory_t outer;      /* our layout, at our address */
	dnnl_memory_t inner;      /* the primitive's; outer itself where they are equal */
	dnnl_primitive_t reorder; /* NULL: they are */
	size_t inner_bytes;       /* room that inner needs; 0: none of its own */
};
/* inward: from outer to inner, else back. */
dnnl_status_t onednn_port_init(struct onednn_port *port, struct onednn_place *place,
			     const dnnl_memory_desc_t *outer, const dnnl_memory_desc_t *inner,
			     bool inward);
void onednn_port_fini(struct onednn_port *port);
/* Where there is room for inner, in the engine's own memory: oneDNN allocates nothing that nobody counts. Before tensors go through. */
dnnl_status_t onednn_port_room(struct onednn_port *port, void *at);
/* Where our tensor is. */
dnnl_status_t onednn_port_bind(struct onednn_port *port, void *at);
/* Binds, and lays out what is there. */
dnnl_status_t onednn_port_in(struct onednn_port *port, struct onednn_place *place, void *at);
/* Lays out what the primitive made, at the bound address. */
dnnl_status_t onednn_port_out(struct onednn_port *port, struct onednn_place *place);

const char *onednn_status_name(dnnl_status_t status); /* "unimplemented" */

#endif
