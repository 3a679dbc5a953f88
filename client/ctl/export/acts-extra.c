/* What happens to a whole stream and to none of its threads, each on a track of its own: collections, losses, damage. */
#include <string.h>

#include "acts-state.h"

/* The track of what happens to the whole stream. */
static int extra(struct acts *a, struct act_stream *s, const char *name, uint32_t *number)
{
	struct act_track track = {.kind = ACT_EXTRA, .name = name, .name_bytes = strlen(name)};

	if (*number)
		return 0;
	*number = track.track = acts_track_new(a);
	return acts_tell_track(a, s, &track);
}

int acts_collection(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e, uint64_t time)
{
	uint64_t duration = (uint64_t)e->number, start = duration < time ? time - duration : 0;
	struct act act = {.kind = ACT_BEGIN, .category = mprof_event_name(e->id)}, end;
	int r = extra(a, s, "gc", &s->collector);

	/* One after the other, whatever they say. */
	start = start < s->collected ? s->collected : start;
	s->collected = time < start ? start : time;
	act.track = s->collector;
	act.time = start;
	act_set_name(&act, act.category);
	if (s->collected != e->timestamp)
		act_add_note(&act, "time_ns", (int64_t)e->timestamp);
	act_add_note(&act, "duration_ns", e->number);
	end = (struct act){.kind = ACT_END, .track = s->collector, .time = s->collected, .category = act.category};
	act_set_name(&end, act.name);
	r = r ? r : acts_put(a, s, &act);
	return r ? r : acts_put(a, s, &end);
}

int acts_lost(struct acts *a, struct act_stream *s, uint64_t to)
{
	struct act act = {.time = s->now, .category = "gap"};
	int r;

	if (!s->lost)
		return 0;
	r = extra(a, s, "gaps", &s->faults);
	act.track = s->faults;
	act_set_name(&act, "packets lost");
	act_add_note(&act, "packets", (int64_t)s->lost);
	s->lost = 0;
	r = r ? r : acts_put(a, s, &act);
	act.kind = ACT_END;
	act.n_notes = 0;
	act.time = to > s->now ? to : s->now;
	return r ? r : acts_put(a, s, &act);
}

int acts_damage(void *data, unsigned int stream, const struct mprof_damage *damage)
{
	struct acts *a = data;
	struct act act = {.kind = ACT_INSTANT, .category = "damage"};
	struct act_stream *s;
	char text[256];
	int r;

	if (!a->stream || !a->stream[stream].begun) /* there is no time yet that it could stand at */
		return 0;
	s = &a->stream[stream];
	act.time = s->now;
	act.name = text;
	act.name_bytes = mprof_damage_text(damage, text, sizeof(text));
	r = extra(a, s, "gaps", &s->faults);
	act.track = s->faults;
	return r ? r : acts_put(a, s, &act);
}
