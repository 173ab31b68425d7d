/*
 * One connection between a view and the host. Neither end may wait for the other: a view that
 * nobody looks at must not stop the host from hearing a signal. So both ends read and write what
 * there is room for, and who sends asks first how much that is.
 */
#include "console/console.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	IN_BYTES = CONSOLE_HEAD_BYTES + STRATA_CONSOLE_FRAME_BYTES_MAX,
	OUT_BYTES = 4 * IN_BYTES,
	SPARE_BYTES = 64, /* kept free for frames that are about the program, not of it */
};

int console_wire_open(struct console_wire *wire, int fd, struct strata_memory *memory,
		      struct strata_error *err)
{
	*wire = (struct console_wire){ .memory = memory, .fd = fd };
	wire->in = strata_memory_get(memory, IN_BYTES);
	wire->out = strata_memory_get(memory, OUT_BYTES);
	if (!wire->in || !wire->out) {
		console_wire_close(wire);
		return strata_fail_memory(err);
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return 0;
}

void console_wire_close(struct console_wire *wire)
{
	if (wire->in)
		strata_memory_put(wire->memory, wire->in, IN_BYTES);
	if (wire->out)
		strata_memory_put(wire->memory, wire->out, OUT_BYTES);
	if (wire->fd >= 0)
		close(wire->fd);
	*wire = (struct console_wire){ .fd = -1 };
}

static size_t space(const struct console_wire *wire)
{
	return OUT_BYTES - (wire->out_used - wire->out_at);
}

size_t console_wire_room(const struct console_wire *wire)
{
	size_t most = STRATA_CONSOLE_FRAME_BYTES_MAX, left = space(wire),
	       kept = CONSOLE_HEAD_BYTES + SPARE_BYTES;

	if (left <= kept)
		return 0;
	return left - kept < most ? left - kept : most;
}

bool console_wire_send(struct console_wire *wire, enum console_type type, const void *bytes,
		       size_t count)
{
	if (count > STRATA_CONSOLE_FRAME_BYTES_MAX || space(wire) < CONSOLE_HEAD_BYTES + count)
		return false;
	if (OUT_BYTES - wire->out_used < CONSOLE_HEAD_BYTES + count) {
		wire->out_used -= wire->out_at;
		memmove(wire->out, wire->out + wire->out_at, wire->out_used);
		wire->out_at = 0;
	}
	console_frame_head(type, count, wire->out + wire->out_used);
	if (count)
		memcpy(wire->out + wire->out_used + CONSOLE_HEAD_BYTES, bytes, count);
	wire->out_used += CONSOLE_HEAD_BYTES + count;
	return true;
}

bool console_wire_waits(const struct console_wire *wire)
{
	return wire->out_at < wire->out_used;
}

bool console_wire_flush(struct console_wire *wire)
{
	while (console_wire_waits(wire)) {
		ssize_t sent = send(wire->fd, wire->out + wire->out_at,
				    wire->out_used - wire->out_at, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return true;
		if (sent < 0)
			break; /* nobody will read it */
		wire->out_at += (size_t)sent;
	}
	bool gone = console_wire_waits(wire);

	wire->out_at = wire->out_used = 0;
	return !gone;
}

bool console_wire_fill(struct console_wire *wire)
{
	if (wire->in_at) {
		wire->in_used -= wire->in_at;
		memmove(wire->in, wire->in + wire->in_at, wire->in_used);
		wire->in_at = 0;
	}
	if (wire->in_used == IN_BYTES)
		return true; /* a whole frame, to be taken first */
	ssize_t got = recv(wire->fd, wire->in + wire->in_used, IN_BYTES - wire->in_used, 0);

	if (got > 0)
		wire->in_used += (size_t)got;
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

int console_wire_next(struct console_wire *wire, struct console_frame *ret_frame,
		      struct strata_error *err)
{
	size_t used;
	int rc = console_frame_read(wire->in + wire->in_at, wire->in_used - wire->in_at, ret_frame,
				    &used, err);

	if (rc > 0)
		wire->in_at += used;
	return rc;
}
