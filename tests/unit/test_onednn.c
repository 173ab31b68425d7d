#include "test.h"

#include "engine/native/onednn.h"

TEST(a_port_lays_out_what_goes_through_it)
{
	struct onednn_place place;
	struct onednn_port in = { 0 }, same = { 0 };
	struct strata_error err = { 0 };
	dnnl_memory_desc_t plain, turned;
	dnnl_dims_t dims = { 2, 3 };
	float from[6] = { 0, 1, 2, 3, 4, 5 }, room[6];
	void *at;

	CHECK_OK(onednn_place_init(&place, &err));
	dnnl_memory_desc_init_by_tag(&plain, 2, dims, dnnl_f32, dnnl_ab);
	dnnl_memory_desc_init_by_tag(&turned, 2, dims, dnnl_f32, dnnl_ba);
	CHECK_INT(onednn_port_init(&in, &place, &plain, &turned, true), dnnl_success);
	CHECK(in.inner != in.outer);
	CHECK_INT(in.inner_bytes, sizeof(room));
	CHECK_INT(onednn_port_room(&in, room), dnnl_success);
	CHECK_INT(onednn_port_in(&in, &place, from), dnnl_success);
	dnnl_stream_wait(place.stream);
	CHECK_INT(dnnl_memory_get_data_handle(in.inner, &at), dnnl_success);
	CHECK_NEAR(((float *)at)[1], 3, 0); /* column by column */
	CHECK_NEAR(((float *)at)[2], 1, 0);
	CHECK_INT(onednn_port_init(&same, &place, &plain, &plain, false), dnnl_success);
	CHECK(same.inner == same.outer && !same.reorder); /* equal layouts cost nothing */
	CHECK_INT(onednn_port_bind(&same, from), dnnl_success);
	CHECK_INT(onednn_port_out(&same, &place), dnnl_success);
	onednn_port_fini(&in);
	onednn_port_fini(&same);
	onednn_place_fini(&place);
}

TEST(statuses_have_names)
{
	CHECK_TEXT(onednn_status_name(dnnl_unimplemented), "unimplemented");
	CHECK_TEXT(onednn_status_name(dnnl_out_of_memory), "out of memory");
	CHECK_TEXT(onednn_status_name(dnnl_runtime_error), "failed");
}
