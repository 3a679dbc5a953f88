/*
 * Reports of damage (schema/control.md).  A report is a hint: the daemon that owns the archive looks by itself, and no answer is waited for.  Where the daemon is
 * not there the next request meets the damage again.
 */
#include "damage.h"

#include "clock.h"
#include "log.h"
#include "server-state.h"

#define REPORT_NS (100 * NS_PER_MS) /* a client may ask for damaged bytes again and again */

static bool report(struct notice *to, const char *verb_key, uint64_t value, const struct reader_damage *d)
{
	struct message_writer w;
	char text[256];

	message_begin(&w, text, sizeof(text), "damaged", notice_tag(to));
	message_add_number(&w, verb_key, value);
	if (d) {
		message_add_number(&w, "sequence", d->sequence);
		message_add_number(&w, "capture", (uint64_t)d->capture);
	}
	return notice_send(to, &w);
}

static const char *told(bool is_told)
{
	return is_told ? "its owner was told" : "its owner is not there to be told";
}

void damage_report(struct server *s)
{
	uint64_t now = clock_mono();
	struct reader_damage d;
	int64_t recording;

	if (s->damage_told && now - s->damage_told < REPORT_NS)
		return;
	recording = memtraces_take_damage(s->memtraces);
	if (recording) {
		s->damage_told = now;
		log_write_limited(&s->damage_log, LOG_LEVEL_WARNING, NULL,
				  "A memory profile is damaged on the disk and not served; %s: recording=%lld",
				  told(report(s->sink, "recording", (uint64_t)recording, NULL)), (long long)recording);
	}
	if (reader_take_damage(s->reader, &d)) {
		s->damage_told = now;
		log_write_limited(
			&s->damage_log, LOG_LEVEL_WARNING, NULL,
			"A trace is damaged on the disk and not served; %s: stream=%lld sequence=%llu capture=%lld",
			told(report(s->notice, "stream", (uint64_t)d.stream, &d)), (long long)d.stream,
			(unsigned long long)d.sequence, (long long)d.capture);
	}
}
