/* GET /api/v1/jobs/…/output: what a job has written, read with its user's rights. */
#include "server/route.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

struct output {
	char *path;
	uid_t uid;
	gid_t gid;
	int64_t from;
};

void api_job_output(struct server *server, struct request *request)
{
	struct live *live;
	struct output *output;

	if (!api_job_find(server, request, true, &live))
		return;
	output = strata_arena_get(&request->arena, sizeof(*output));
	if (!live || !live->output || !output) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "job %.40s has not written anything yet, or has ended a while ago",
			       request->segments[0]);
		return;
	}
	output->path = strata_arena_text(&request->arena, live->output, strlen(live->output));
	output->uid = (uid_t)live->row.uid;
	output->gid = (gid_t)live->row.gid;
	request->parsed = output;
}

/* With the rights of the job's user, whatever the path has become since. */
void api_job_output_read(struct request *request)
{
	enum { PART_BYTES = 1 << 20 };
	const struct output *output = request->parsed;
	int64_t from;

	if (request->answered || !output || !output->path ||
	    !request_query_int(request, "from", 0, 0, INT64_MAX, &from))
		return;
	bool root = geteuid() == 0;

	if (root) {
		setfsgid(output->gid);
		setfsuid(output->uid);
	}
	int fd = open(output->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), code = errno;

	if (root) {
		setfsuid(0);
		setfsgid(0);
	}
	char *text = fd >= 0 ? malloc(PART_BYTES + 1) : NULL;
	ssize_t count = text ? pread(fd, text, PART_BYTES, from) : -1;

	if (fd >= 0)
		close(fd);
	if (count < 0) {
		free(text);
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "cannot read %s: %s",
			       output->path, strerror(fd < 0 ? code : errno));
		return;
	}
	text[count] = '\0';
	request_answer_text(request, MHD_HTTP_OK, "text/plain; charset=utf-8", text);
	free(text);
}
