/* oneDNN's places and ports: see onednn.h. */
#include "engine/native/onednn.h"

#include <errno.h>

int onednn_place_init(struct onednn_place *place, struct strata_error *err)
{
	struct onednn_place made = { 0 };
	dnnl_status_t status = dnnl_engine_create(&made.engine, dnnl_cpu, 0);

	if (status == dnnl_success)
		status = dnnl_stream_create(&made.stream, made.engine, dnnl_stream_default_flags);
	if (status != dnnl_success) {
		onednn_place_fini(&made);
		return strata_fail(err, -ENOMEM, "oneDNN does not start: %s",
				   onednn_status_name(status));
	}
	*place = made;
	return 0;
}

void onednn_place_fini(struct onednn_place *place)
{
	if (place->stream)
		dnnl_stream_destroy(place->stream);
	if (place->engine)
		dnnl_engine_destroy(place->engine);
	*place = (struct onednn_place){ 0 };
}

dnnl_status_t onednn_port_init(struct onednn_port *port, struct onednn_place *place,
			     const dnnl_memory_desc_t *outer, const dnnl_memory_desc_t *inner,
			     bool inward)
{
	dnnl_primitive_desc_t description;
	dnnl_status_t status =
		dnnl_memory_create(&port->outer, outer, place->engine, DNNL_MEMORY_NONE);

	if (status != dnnl_success)
		return status;
	if (dnnl_memory_desc_equal(outer, inner)) {
		port->inner = port->outer;
		return dnnl_success;
	}
	port->inner_bytes = dnnl_memory_desc_get_size(inner);
	status = dnnl_memory_create(&port->inner, inner, place->engine, DNNL_MEMORY_NONE);
	if (status == dnnl_success)
		status = dnnl_reorder_primitive_desc_create(&description, inward ? outer : inner,
							    place->engine, inward ? inner : outer,
							    place->engine, NULL);
	if (status == dnnl_success) {
		status = dnnl_primitive_create(&port->reorder, description);
		dnnl_primitive_desc_destroy(description);
	}
	return status;
}

void onednn_port_fini(struct onednn_port *port)
{
	if (port->reorder)
		dnnl_primitive_destroy(port->reorder);
	if (port->inner && port->inner != port->outer)
		dnnl_memory_destroy(port->inner);
	if (port->outer)
		dnnl_memory_destroy(port->outer);
	*port = (struct onednn_port){ 0 };
}

dnnl_status_t onednn_port_room(struct onednn_port *port, void *at)
{
	return port->inner_bytes ? dnnl_memory_set_data_handle(port->inner, at) : dnnl_success;
}

dnnl_status_t onednn_port_bind(struct onednn_port *port, void *at)
{
	return dnnl_memory_set_data_handle(port->outer, at);
}

static dnnl_status_t reorder(struct onednn_port *port, struct onednn_place *place, dnnl_memory_t from,
			     dnnl_memory_t to)
{
	dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };

	return port->reorder ? dnnl_primitive_execute(port->reorder, place->stream, 2, args)
			     : dnnl_success;
}

dnnl_status_t onednn_port_in(struct onednn_port *port, struct onednn_place *place, void *at)
{
	dnnl_status_t status = onednn_port_bind(port, at);

	return status == dnnl_success ? reorder(port, place, port->outer, port->inner) : status;
}

dnnl_status_t onednn_port_out(struct onednn_port *port, struct onednn_place *place)
{
	return reorder(port, place, port->inner, port->outer);
}

const char *onednn_status_name(dnnl_status_t status)
{
	switch (status) {
	case dnnl_success:
		return "success";
	case dnnl_out_of_memory:
		return "out of memory";
	case dnnl_invalid_arguments:
		return "invalid arguments";
	case dnnl_unimplemented:
		return "unimplemented";
	default:
		return "failed";
	}
}
