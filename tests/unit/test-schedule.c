/*
 * The schedule: after any insertion, move and removal, the first entry is the one that is due
 * first.
 */
#include <stdlib.h>

#include "check.h"
#include "schedule.h"

#define TASKS 500

static void test_heap(void)
{
	static struct task tasks[TASKS];
	struct schedule schedule = {0};
	uint64_t last = 0;
	int n = 0, in = 0;

	srand(7);
	CHECK(schedule_first(&schedule) == NULL);
	for (int i = 0; i < 20000; i++) {
		struct task *task = &tasks[rand() % TASKS];
		uint64_t least = UINT64_MAX;

		if (rand() % 3 == 0) {
			schedule_remove(&schedule, task);
			schedule_remove(&schedule, task); /* a second removal has no effect */
		} else {
			CHECK_EQ_INT(schedule_at(&schedule, task, (uint64_t)(rand() % 1000)), 0);
		}
		for (int k = 0; k < TASKS; k++)
			if (tasks[k].place && tasks[k].due < least)
				least = tasks[k].due;
		if (least != UINT64_MAX && schedule_first(&schedule)->due != least)
			CHECK_EQ_UINT(schedule_first(&schedule)->due, least);
	}
	for (int k = 0; k < TASKS; k++)
		in += tasks[k].place != 0;
	for (struct task *task; (task = schedule_first(&schedule)); n++) {
		CHECK(task->due >= last);
		last = task->due;
		schedule_remove(&schedule, task);
	}
	CHECK_EQ_INT(n, in);
	schedule_deinit(&schedule);
}

int main(void)
{
	CHECK_RUN(test_heap);
	return check_done();
}
