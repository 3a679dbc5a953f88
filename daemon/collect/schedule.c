/* A binary heap of tasks. Its root has index 1. */
#include "schedule.h"

#include <errno.h>
#include <stdlib.h>

void schedule_deinit(struct schedule *schedule)
{
	free(schedule->heap);
	*schedule = (struct schedule){0};
}

static void put(struct schedule *schedule, size_t place, struct task *task)
{
	schedule->heap[place] = task;
	task->place = place;
}

static void settle(struct schedule *schedule, struct task *task, size_t place)
{
	while (place > 1 && task->due < schedule->heap[place / 2]->due) {
		put(schedule, place, schedule->heap[place / 2]);
		place /= 2;
	}
	for (;;) {
		size_t child = 2 * place;

		if (child > schedule->n)
			break;
		if (child < schedule->n && schedule->heap[child + 1]->due < schedule->heap[child]->due)
			child++;
		if (task->due <= schedule->heap[child]->due)
			break;
		put(schedule, place, schedule->heap[child]);
		place = child;
	}
	put(schedule, place, task);
}

int schedule_at(struct schedule *schedule, struct task *task, uint64_t due)
{
	task->due = due;
	if (!task->place) {
		if (schedule->n + 1 >= schedule->room) {
			size_t room = schedule->room ? 2 * schedule->room : 64;
			struct task **heap = realloc(schedule->heap, room * sizeof(struct task *));

			if (!heap)
				return -ENOMEM;
			schedule->heap = heap;
			schedule->room = room;
		}
		put(schedule, ++schedule->n, task);
	}
	settle(schedule, task, task->place);
	return 0;
}

void schedule_remove(struct schedule *schedule, struct task *task)
{
	size_t place = task->place;
	struct task *last;

	if (!place)
		return;
	task->place = 0;
	last = schedule->heap[schedule->n--];
	if (last != task)
		settle(schedule, last, place);
}

struct task *schedule_first(const struct schedule *schedule)
{
	return schedule->n ? schedule->heap[1] : NULL;
}
