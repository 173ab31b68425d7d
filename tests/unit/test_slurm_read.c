/* What Slurm's commands print, as seen with Slurm 22.05. */
#include "test.h"

#include "exec/exec_slurm.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static struct slurm_row one(const char *line)
{
	struct slurm_row *rows;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(slurm_read_queue(line, &arena, &rows, &count, &err));
	CHECK_INT(count, 1);
	return rows[0];
}

TEST(a_row_of_the_queue)
{
	struct slurm_row row = one("17|FAILED|NonZeroExitCode|1792|1794801368|1794801369|root|\n");

	CHECK_INT(row.id, 17);
	CHECK_INT(row.state, SLURM_FAILED);
	CHECK_INT(row.exit_status, 1792);
	CHECK_INT(row.started_ns, 1794801368 * STRATA_SECOND_NS);
	CHECK_INT(row.ended_ns, 1794801369 * STRATA_SECOND_NS);
	CHECK_TEXT(row.user, "root");
	strata_arena_fini(&arena);
}

TEST(states)
{
	static const struct {
		const char *line;
		enum slurm_state state;
		bool ended;
	} cases[] = {
		{ "1|PENDING|Resources|0|N/A|N/A|a|", SLURM_PENDING, false },
		{ "1|PENDING|JobHeldUser|0|N/A|N/A|a|", SLURM_HELD, false },
		{ "1|PENDING|JobHeldAdmin|0|N/A|N/A|a|", SLURM_HELD, false },
		{ "1|RUNNING|None|0|5|N/A|a|", SLURM_RUNNING, false },
		{ "1|SUSPENDED|None|0|5|N/A|a|", SLURM_SUSPENDED, false },
		{ "1|COMPLETING|None|0|5|6|a|", SLURM_BETWEEN, false },
		{ "1|CONFIGURING|None|0|5|6|a|", SLURM_BETWEEN, false },
		{ "1|COMPLETED|None|0|5|6|a|", SLURM_COMPLETED, true },
		{ "1|CANCELLED|None|0|5|6|a|", SLURM_CANCELLED, true },
		{ "1|TIMEOUT|TimeLimit|0|5|6|a|", SLURM_TIMEOUT, true },
		{ "1|OUT_OF_MEMORY|OutOfMemory|0|5|6|a|", SLURM_MEMORY, true },
		{ "1|NODE_FAIL|NodeDown|0|5|6|a|", SLURM_NODE_FAIL, true },
		{ "1|PREEMPTED|None|0|5|6|a|", SLURM_PREEMPTED, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slurm_row row = one(cases[i].line);

		CHECK_INT(row.state, cases[i].state);
		CHECK_INT(slurm_state_ended(row.state), cases[i].ended);
		strata_arena_fini(&arena);
	}
}

/* Half an answer must not make a job look as if it had gone. */
TEST(a_strange_line_makes_the_whole_answer_void)
{
	struct slurm_row *rows;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(slurm_read_queue("", &arena, &rows, &count, &err));
	CHECK_INT(count, 0);
	CHECK_INT(slurm_read_queue("1|RUNNING|None|0|5|6|a|\n2|RUNN", &arena, &rows, &count, &err),
		  -EBADMSG);
	CHECK_INT(slurm_read_queue("x|RUNNING|None|0|5|6|a|\n", &arena, &rows, &count, &err),
		  -EBADMSG);
	strata_arena_fini(&arena);
}

TEST(a_comment_is_found_as_a_whole)
{
	static const char text[] =
		"3|(null)|\n7|strata:4.1.12|\n9|strata:4.1.1|\n8|strata:4.1.1|\n";

	CHECK_INT(slurm_find_comment(text, "strata:4.1.1", 0), 8);
	CHECK_INT(slurm_find_comment(text, "strata:4.1.1", 8), 9);
	CHECK_INT(slurm_find_comment(text, "strata:4.1.1", 9), 0);
	CHECK_INT(slurm_find_comment(text, "strata:4.1.12", 0), 7);
	CHECK_INT(slurm_find_comment(text, "strata:4.1", 0), 0);
	CHECK_INT(slurm_find_comment("", "strata:4.1.1", 0), 0);
}

TEST(accounts)
{
	struct slurm_row row = { 0 };

	CHECK(slurm_read_account("FAILED|7:0|100|160\n", &row));
	CHECK_INT(row.state, SLURM_FAILED);
	CHECK_INT(row.exit_status, 7 << 8);
	CHECK_INT(row.ended_ns, 160 * STRATA_SECOND_NS);
	CHECK(slurm_read_account("CANCELLED by 0|0:15|100|160\n", &row));
	CHECK_INT(row.state, SLURM_CANCELLED);
	CHECK_INT(row.exit_status, 15);
	CHECK(!slurm_read_account("RUNNING|0:0|100|Unknown\n", &row));
	CHECK(!slurm_read_account("", &row));
}

TEST(nodes)
{
	struct exec_node *nodes;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(slurm_read_states(
		"n1|idle|none|\nn1|idle|none|\nn2|drained|bad gpu|\nn3|down|xid 79|\n"
		"n4|mixed*|none|\nn5|allocated|none|\nn6|unknown*|none|\n",
		&arena, &nodes, &count, &err));
	CHECK_INT(count, 6);
	CHECK_INT(nodes[0].state, STRATA_NODE_UP);
	CHECK(!nodes[0].reason);
	CHECK_INT(nodes[1].state, STRATA_NODE_DRAINED);
	CHECK_TEXT(nodes[1].reason, "bad gpu");
	CHECK_INT(nodes[2].state, STRATA_NODE_DOWN);
	CHECK_INT(nodes[3].state, STRATA_NODE_DRAINED);
	CHECK_INT(nodes[4].state, STRATA_NODE_UP);
	CHECK_INT(nodes[5].state, STRATA_NODE_DOWN);
	strata_arena_fini(&arena);
}

TEST(what_others_have)
{
	static const char text[] =
		"JobId=13 JobName=a   Nodes=n009 CPU_IDs=0 Mem=1 GRES= MinCPUsNode=1\n"
		"JobId=3 JobName=wrap UserId=root(0) JOB_GRES=gpu:a100:3   Nodes=n[002-003] "
		"CPU_IDs=0-1,4 Mem=100 "
		"GRES=gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:4)   Nodes=n004 CPU_IDs=0 Mem=50 GRES= "
		"MinCPUsNode=1\n";
	struct exec_part *parts;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(slurm_read_parts(text, 3, &arena, &parts, &count, &err));
	CHECK_INT(count, 3);
	CHECK_TEXT(parts[0].node, "n002");
	CHECK_TEXT(parts[1].node, "n003");
	CHECK_INT(parts[1].cpu_milli, 3000);
	CHECK_INT(parts[1].memory_bytes, 100 << 20);
	CHECK_INT(parts[1].gpus, 3);
	CHECK_TEXT(parts[2].node, "n004");
	CHECK_INT(parts[2].gpus, 0);
	CHECK_OK(slurm_read_parts(text, 1, &arena, &parts, &count, &err));
	CHECK_INT(count, 0);
	strata_arena_fini(&arena);
}

TEST(how_it_ended)
{
	static const struct {
		enum slurm_state state;
		int64_t status, stop;
		enum exec_how how;
		int64_t code, signal;
	} cases[] = {
		{ SLURM_COMPLETED, 0, 0, EXEC_EXITED, 0, 0 },
		{ SLURM_FAILED, 7 << 8, 0, EXEC_EXITED, 7, 0 },
		{ SLURM_FAILED, 9, 0, EXEC_EXITED, 0, 9 },
		{ SLURM_FAILED, 4021, 0, EXEC_NOT_STARTED, 0, 0 },
		{ SLURM_TIMEOUT, 0, 0, EXEC_TIME_LIMIT, 0, 0 },
		{ SLURM_MEMORY, 0x7d << 8, 0, EXEC_MEMORY, 0x7d, 0 },
		{ SLURM_NODE_FAIL, 0, 0, EXEC_LOST, 0, 0 },
		{ SLURM_PREEMPTED, 0, 0, EXEC_SHUT_DOWN, 0, 0 },
		{ SLURM_CANCELLED, 15, 1 + EXEC_PREEMPTED, EXEC_PREEMPTED, 0, 15 },
		{ SLURM_CANCELLED, 15, 0, EXEC_CANCELLED, 0, 15 },
		{ SLURM_FAILED, 15, 1 + EXEC_REQUEUED, EXEC_REQUEUED, 0, 15 },
		{ SLURM_COMPLETED, 0, 1 + EXEC_CANCELLED, EXEC_EXITED, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slurm_row row = { .state = cases[i].state,
					 .exit_status = cases[i].status,
					 .started_ns = 10,
					 .ended_ns = 30 };
		struct record_control control = { .stop = cases[i].stop };
		struct exec_status status;

		slurm_status(&row, &control, (struct exec_key){ 4, 2 }, 5, &status);
		CHECK_INT(status.how, cases[i].how);
		CHECK_INT(status.exit_code, cases[i].code);
		CHECK_INT(status.signal, cases[i].signal);
		CHECK_INT(status.attempt, 2);
	}
}
