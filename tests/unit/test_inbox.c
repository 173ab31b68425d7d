#include "test.h"

#include "server/inbox.h"
#include "server/request.h"

#include <strata/limits.h>

#include <poll.h>
#include <stdlib.h>

static bool is_awake(const struct inbox *inbox)
{
	struct pollfd fd = { .fd = inbox->wake_fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

TEST(requests_come_out_in_their_order)
{
	struct request requests[3] = { 0 };
	struct inbox inbox = { 0 };

	CHECK_INT(inbox_open(&inbox, NULL), 0);
	CHECK(!is_awake(&inbox) && inbox_take(&inbox) == NULL);
	for (int i = 0; i < 3; i++)
		CHECK(inbox_put(&inbox, &requests[i]));
	CHECK(is_awake(&inbox));
	CHECK(inbox_take(&inbox) == &requests[0]);
	CHECK(requests[0].next == &requests[1] && requests[1].next == &requests[2] &&
	      requests[2].next == NULL);
	CHECK(!is_awake(&inbox) && inbox_take(&inbox) == NULL);
	inbox_close(&inbox);
}

TEST(what_is_given_back_comes_first)
{
	struct request requests[3] = { 0 };
	struct inbox inbox = { 0 };

	CHECK_INT(inbox_open(&inbox, NULL), 0);
	inbox_put(&inbox, &requests[0]);
	inbox_put(&inbox, &requests[1]);
	struct request *first = inbox_take(&inbox);

	inbox_put(&inbox, &requests[2]);
	inbox_give_back(&inbox, first->next);
	CHECK(inbox_take(&inbox) == &requests[1]);
	CHECK(requests[1].next == &requests[2] && requests[2].next == NULL);
	inbox_give_back(&inbox, &requests[2]); /* into an empty one */
	inbox_put(&inbox, &requests[0]);
	CHECK(inbox_take(&inbox) == &requests[2] && requests[2].next == &requests[0]);
	inbox_close(&inbox);
}

TEST(there_is_room_for_so_many)
{
	struct request *requests = calloc(STRATA_SERVER_QUEUE_MAX + 1, sizeof(*requests));
	struct inbox inbox = { 0 };

	CHECK_INT(inbox_open(&inbox, NULL), 0);
	for (size_t i = 0; i < STRATA_SERVER_QUEUE_MAX; i++)
		CHECK(inbox_put(&inbox, &requests[i]));
	CHECK(!inbox_put(&inbox, &requests[STRATA_SERVER_QUEUE_MAX]));
	inbox_take(&inbox);
	CHECK(inbox_put(&inbox, &requests[STRATA_SERVER_QUEUE_MAX]));
	inbox_close(&inbox);
	free(requests);
}

TEST(after_the_end_nobody_is_let_in)
{
	struct request requests[2] = { 0 };
	struct inbox inbox = { 0 };

	CHECK_INT(inbox_open(&inbox, NULL), 0);
	CHECK(inbox_put(&inbox, &requests[0]));
	CHECK(inbox_end(&inbox) == &requests[0]);
	CHECK(!inbox_put(&inbox, &requests[1]) && inbox_take(&inbox) == NULL);
	inbox_close(&inbox);
}
