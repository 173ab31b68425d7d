#include "exec_sample.h"

#include "exec/fork_server.h"

#include <fcntl.h>

static struct fork_server fork_server = { .socket = -1 };

static int take(void **ret_cookie, pid_t *ret_pid)
{
	struct pollfd waiting = { fork_server.socket, POLLIN, 0 };

	CHECK_INT(poll(&waiting, 1, 20000), 1);
	return fork_server_take(&fork_server, ret_cookie, ret_pid);
}

/* The file of an order that nobody carries out. */
static void write_order(const struct exec_order *order)
{
	struct exec_open from = sample_from(env_system(), 1);
	struct sample_conf conf = { "none" };

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	from.supervisor = "/bin/true";
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	CHECK_OK(exec_local.start(exec, order, &err));
	sample_close();
}

static void open_fork_server(const char *program)
{
	CHECK_OK(fork_server_open(&fork_server, env_system(), program, sample_path("state/jobs"),
				  NULL, &err));
}

TEST(a_supervisor_is_our_child_and_carries_out_the_order)
{
	struct exec_order order = sample_order(1, "echo $PPID $(ps -o sid= -p $PPID) > ids");
	void *cookie;
	pid_t pid;
	int status, parent, session;

	write_order(&order);
	open_fork_server(sample_program());
	CHECK_OK(fork_server_request(&fork_server, "1.1", 1, &order, &err));
	CHECK_INT(take(&cookie, &pid), 1);
	CHECK(cookie == &order);
	CHECK_INT(fork_server_take(&fork_server, &cookie, &pid), 0);
	fork_server_close(&fork_server, env_system()); /* which is nothing to the supervisor */
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(WEXITSTATUS(status), 0);
	CHECK_INT(sscanf(sample_text(sample_path("ids")), "%d %d", &parent, &session), 2);
	CHECK_INT(parent, pid);
	CHECK_INT(session, pid);
}

TEST(many_are_asked_for_at_once)
{
	enum { MANY = 200 };
	void *cookie;
	pid_t pid;
	int status;

	CHECK_INT(mkdir(sample_path("state"), 0755), 0);
	CHECK_INT(mkdir(sample_path("state/jobs"), 0755), 0);
	open_fork_server(sample_program());
	for (int i = 0; i < MANY; i++)
		CHECK_OK(fork_server_request(&fork_server, "9.9", 1, &fork_server, &err));
	for (int i = 0; i < MANY; i++) {
		CHECK_INT(take(&cookie, &pid), 1);
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK_INT(WEXITSTATUS(status), 1); /* there is no such attempt */
	}
	fork_server_close(&fork_server, env_system());
	fork_server_close(&fork_server, env_system());
}

TEST(one_that_ends_is_noticed)
{
	void *cookie;
	pid_t pid;

	open_fork_server("/bin/true");
	CHECK(take(&cookie, &pid) < 0);
	CHECK_ERROR(fork_server_request(&fork_server, "1.1", 1, NULL, &err), -EPIPE,
		    "cannot ask for a supervisor");
	fork_server_close(&fork_server, env_system());
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_ERROR(
		fork_server_open(&fork_server, env_system(), "/no/such/program", "/", NULL, &err),
		-ENOENT, "cannot start /no/such/program");
}

TEST(it_needs_a_socket_to_listen_to)
{
	char *operands[] = { (char[]){ "/tmp" }, (char[]){ "/x" }, (char[]){ "y" } };

	CHECK_ERROR(fork_server_run(env_system(), operands, 3, &err), -EINVAL, "usage");
	close(0);
	CHECK_INT(open("/dev/null", O_RDONLY), 0);
	CHECK_ERROR(fork_server_run(env_system(), operands, 1, &err), -EINVAL, "standard input");
}
