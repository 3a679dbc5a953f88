/*
 * A profile of a guest that ended is whole, and never changes. One of a running guest grows: which of its
 * bytes a capture has is chosen once, and kept until the hub has the capture.
 */
#include "profile-part.h"

#include <string.h>

#include "clock.h"
#include "log.h"
#include "own-state.h"

#define PAUSE_NS (100 * NS_PER_MS)

struct found {
	bool is_recording;
	uint64_t bytes;
};

static int on_recording(void *context, const struct memtrace *recording)
{
	struct found *found = context;

	*found = (struct found){strcmp(recording->state, "recording") == 0, recording->bytes};
	return 0;
}

/* Find the profile of HEAD's run at the time of the capture. Return as memtraces_at(). */
static int look_up(struct memtraces_reader *m, const struct head *head, int64_t *recording)
{
	int r = memtraces_reader_ready(m);

	const struct moment when = {.mono = head->mono, .real = head->real};

	return r ? r : memtraces_at(m, head->run, when, MEMTRACES_CAPTURE_GRACE, recording);
}

/* The same, and read what it is. Return whether there is one. */
static bool find(struct memtraces_reader *m, const struct head *head, int64_t *recording, struct found *found)
{
	return look_up(m, head, recording) == 0 && memtraces_get(m, *recording, on_recording, found) == 0;
}

static int on_chosen(void *context, const struct memtrace *recording)
{
	struct head_profile *profile = context;

	profile->began_real = recording->began_real;
	profile->began_mono = recording->began_mono;
	profile->connected_mono = recording->connected_mono;
	profile->ended_real = recording->ended_real;
	profile->ended_mono = recording->ended_mono;
	return 0;
}

struct head_profile memory_profile(struct memtraces_reader *m, const struct memory_part *memory)
{
	struct head_profile profile = {.recording = memory->recording};

	if (!memory->recording || memtraces_reader_ready(m) != 0 ||
	    memtraces_get(m, memory->recording, on_chosen, &profile) != 0)
		return (struct head_profile){0};
	if (!memory->has_ended)
		profile.ended_real = profile.ended_mono = 0;
	return profile;
}

bool memory_has(struct memtraces_reader *m, const struct head *head)
{
	int64_t recording;

	return look_up(m, head, &recording) != ARCHIVE_E_ABSENT;
}

void memory_choose(struct memtraces_reader *m, const char *own, int64_t capture, const struct head *head,
		   memory_wait *wait, void *context, struct memory_part *memory)
{
	struct found found;
	int64_t recording;
	bool any;
	int r;

	*memory = (struct memory_part){0};
	if (own_state_memory_read(own, capture, memory))
		return;
	any = find(m, head, &recording, &found);
	while (any && found.is_recording && head->is_end && clock_mono() - head->mono < MEMTRACES_CAPTURE_GRACE) {
		wait(context, clock_mono() + PAUSE_NS);
		any = find(m, head, &recording, &found);
	}
	if (!any || found.bytes == 0)
		return;
	if (found.bytes > MEMORY_MOST) {
		log_info("The memory profile of capture %lld is too large to be sent: bytes=%llu", (long long)capture,
			 (unsigned long long)found.bytes);
		return;
	}
	*memory = (struct memory_part){recording, found.bytes, !found.is_recording};
	r = own_state_memory_write(own, capture, memory);
	if (r < 0) {
		log_warning("The state in %s cannot be written: %s", own, strerror(-r));
		*memory = (struct memory_part){0};
	}
}
