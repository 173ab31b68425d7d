/* Listening: what can be reached from outside is refused, what is left over is replaced, what answers is left alone. */
#include "server/listen.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

TEST(loopback_addresses_work)
{
	static const char *const good[] = { "127.0.0.1:0", "127.8.9.10:0", "localhost:0" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct strata_error err = { 0 };
		int fd = -1, port = 0;

		CHECK_INT(listen_tcp(good[i], false, &fd, &port, &err), 0);
		CHECK(port > 0);
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_port = htons((uint16_t)port),
					       .sin_addr.s_addr = htonl(0x7f000001) };
		int caller = socket(AF_INET, SOCK_STREAM, 0);

		if (i == 0) /* the others are another address, or may be of another family */
			CHECK_INT(connect(caller, (struct sockaddr *)&address, sizeof(address)), 0);
		close(caller);
		close(fd);
	}
}

TEST(others_are_refused)
{
	static const struct {
		const char *address;
		int code;
		const char *word;
	} bad[] = {
		{ "0.0.0.0:0", -EPERM, "ssh" },    { "[::]:0", -EPERM, "ssh" },
		{ "192.0.2.1:80", -EPERM, "ssh" }, { "127.0.0.1", -EINVAL, "HOST:PORT" },
		{ ":80", -EINVAL, "HOST:PORT" },   { "127.0.0.1:65536", -EINVAL, "HOST:PORT" },
		{ "127.0.0.1:", -EINVAL, "HOST" }, { "127.0.0.1:http", -EINVAL, "HOST:PORT" },
		{ "", -EINVAL, "HOST:PORT" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct strata_error err = { 0 };
		int fd = -7, port = -7;

		CHECK_INT(listen_tcp(bad[i].address, false, &fd, &port, &err), bad[i].code);
		CHECK_TEXT(err.field, "listen");
		CHECK(strstr(err.text, bad[i].word));
		CHECK_INT(fd, -7);
	}
}

TEST(a_unix_socket_is_replaced_only_when_dead)
{
	char directory[] = "/tmp/strata-listen-XXXXXX", path[128], long_path[200];
	struct strata_error err = { 0 };
	struct stat info;
	int first = -1, second = -7;

	CHECK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/s", directory);
	CHECK_INT(listen_unix(path, &first, &err), 0);
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0666);
	CHECK_INT(listen_unix(path, &second, &err), -EADDRINUSE);
	CHECK_INT(second, -7);
	close(first);
	CHECK_INT(listen_unix(path, &second, &err), 0);
	close(second);
	snprintf(long_path, sizeof(long_path), "%s/%0150d", directory, 1);
	CHECK_INT(listen_unix(long_path, &second, &err), -ENAMETOOLONG);
	unlink(path);
	rmdir(directory);
}

/* What fails leaves no descriptor open. */
TEST(what_cannot_be_listened_on_is_named)
{
	char directory[] = "/tmp/strata-listen-XXXXXX", path[128];
	struct strata_error err = { 0 };
	int fd = -7, port = -7, taken = -1, number = 0;
	char again[64];

	CHECK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/none/s", directory);
	int before = test_open_fds();

	CHECK_ERROR(listen_unix(path, &fd, &err), -ENOENT, "cannot listen on");
	snprintf(path, sizeof(path), "%s/file", directory);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	CHECK_ERROR(listen_unix(path, &fd, &err), -EEXIST, "is not a socket, and it is left as it is");
	CHECK_INT(access(path, F_OK), 0);
	CHECK_ERROR(listen_tcp("no.such.host.invalid:80", false, &fd, &port, &err), -EINVAL,
		    "there is no address no.such.host.invalid");
	CHECK_INT(test_open_fds(), before);
	CHECK_INT(listen_tcp("127.0.0.1:0", false, &taken, &number, &err), 0);
	snprintf(again, sizeof(again), "127.0.0.1:%d", number);
	CHECK_ERROR(listen_tcp(again, false, &fd, &port, &err), -EADDRINUSE, "cannot listen on 127.0.0.1:");
	close(taken);
	CHECK_INT(test_open_fds(), before);
	CHECK_INT(fd, -7);
	CHECK_INT(port, -7);
	unlink(path);
	rmdir(directory);
}
