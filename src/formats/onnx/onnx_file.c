/* A model from its bytes or its file to a finished graph. The file is mapped, so only what is looked at is ever read from the disk. */
#include "formats/onnx/onnx_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_on(struct strata_arena *arena, const void *bytes, size_t length, const char *path,
		   const struct strata_onnx_dim *dims, size_t dim_count,
		   struct strata_memory *memory, struct strata_graph **ret_graph,
		   struct strata_onnx_metrics *ret_metrics, struct strata_error *err)
{
	struct onnx_dim *given = strata_arena_array(arena, dim_count, sizeof(*given));
	struct strata_onnx_metrics metrics;
	struct onnx_inferred inferred;
	struct strata_graph *graph;
	struct onnx_model model;

	if (!given)
		return strata_fail_memory(err);
	for (size_t i = 0; i < dim_count; i++) {
		given[i] = (struct onnx_dim){ dims[i].name, dims[i].value };
		if (dims[i].value < 0)
			return strata_fail(err, -EINVAL,
					   "dimension '%.64s' is %lld; expected 0 or more",
					   dims[i].name, (long long)dims[i].value);
	}
	int rc = onnx_model_read(bytes, length, arena, &model, err);

	if (rc == 0)
		rc = onnx_inline(&model, arena, err);
	if (rc == 0)
		rc = onnx_infer(&model, given, dim_count, ONNX_BELIEVE_DECLARED, arena, &inferred,
				err);
	if (rc == 0)
		rc = strata_graph_new(model.graph.name, memory, &graph, err);
	if (rc)
		return rc;
	rc = onnx_graph_fill(&inferred, path, arena, graph, &metrics, err);
	if (rc) {
		strata_graph_free(graph);
		return rc;
	}
	if (ret_metrics)
		*ret_metrics = metrics;
	*ret_graph = graph;
	return 0;
}

int strata_onnx_read(const void *bytes, size_t length, const char *path,
		     const struct strata_onnx_dim *dims, size_t dim_count,
		     struct strata_memory *memory, struct strata_graph **ret_graph,
		     struct strata_onnx_metrics *ret_metrics, struct strata_error *err)
{
	struct strata_arena arena;

	strata_arena_init(&arena, memory, 0);
	int rc = read_on(&arena, bytes, length, path, dims, dim_count, memory, ret_graph,
			 ret_metrics, err);

	strata_arena_fini(&arena);
	return rc;
}

/* Every file of external data is there, with all that weights are said to have in it. */
static int check_files(const struct strata_graph *graph, struct strata_error *err)
{
	for (uint32_t f = 1; f < graph->file_count; f++) {
		struct stat about;

		if (stat(graph->files[f], &about))
			return strata_fail(err, -errno, "%s: %s", graph->files[f], strerror(errno));
		for (size_t i = 0; i < graph->tensor_count; i++) {
			const struct strata_tensor *tensor = &graph->tensors[i];

			if (tensor->file == f &&
			    (tensor->offset_bytes > about.st_size ||
			     tensor->extent_bytes > about.st_size - tensor->offset_bytes))
				return strata_fail(
					err, -EINVAL,
					"%s has %lld bytes; tensor '%.64s' ends at %lld",
					graph->files[f], (long long)about.st_size, tensor->name,
					(long long)(tensor->offset_bytes + tensor->extent_bytes));
		}
	}
	return 0;
}

int onnx_file_map(const char *path, void **ret_bytes, size_t *ret_length, struct strata_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat about;
	void *bytes = NULL;
	int rc = 0;

	if (fd < 0)
		return strata_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &about))
		rc = strata_fail(err, -errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(about.st_mode))
		rc = strata_fail(err, -EINVAL, "%s is not a file", path);
	else if (about.st_size == 0)
		rc = strata_fail(err, -EINVAL, "%s is empty", path);
	else if ((bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
		 MAP_FAILED)
		rc = strata_fail(err, -errno, "%s: %s", path, strerror(errno));
	close(fd);
	if (rc)
		return rc;
	*ret_bytes = bytes;
	*ret_length = (size_t)about.st_size;
	return 0;
}

int strata_onnx_open(const char *path, const struct strata_onnx_dim *dims, size_t dim_count,
		     struct strata_memory *memory, struct strata_graph **ret_graph,
		     struct strata_onnx_metrics *ret_metrics, struct strata_error *err)
{
	struct strata_onnx_metrics metrics;
	struct strata_graph *graph = NULL;
	struct strata_error why = { 0 };
	size_t length = 0;
	void *bytes = NULL;
	int rc = onnx_file_map(path, &bytes, &length, err);

	if (rc)
		return rc;
	rc = strata_onnx_read(bytes, length, path, dims, dim_count, memory, &graph, &metrics, &why);
	munmap(bytes, length);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc)
		return strata_fail(err, rc, "%.200s: %s", path, why.text);
	rc = check_files(graph, err);
	if (rc) {
		strata_graph_free(graph);
		return rc;
	}
	if (ret_metrics)
		*ret_metrics = metrics;
	*ret_graph = graph;
	return 0;
}
