/* Count deletions by reason and guest, and log them. */
#include "deletion.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

#define LOG_NS (60 * NS_PER_S)

const char *deletion_reason_name(enum deletion_reason reason)
{
	static const char *const names[DELETION_REASONS] = {
		[DELETION_AGE] = "age",		[DELETION_QUOTA] = "quota",   [DELETION_DISK] = "disk",
		[DELETION_REQUEST] = "request", [DELETION_DAMAGE] = "damage", [DELETION_UNFINISHED] = "unfinished",
		[DELETION_EMPTY] = "empty",	[DELETION_UNSENT] = "unsent", [DELETION_POLICY] = "policy",
	};

	return names[reason];
}

/* Return the entry of D for REASON and GUEST, or one for several guests if D is full. */
static struct deletion *find(struct deletion_tally *d, enum deletion_reason reason, const char *guest)
{
	/* The last entries are for several guests, one for each reason. */
	const unsigned most = DELETION_TALLY_MAX - DELETION_REASONS;
	struct deletion *new;

	for (unsigned i = 0; i < d->n; i++)
		if (d->list[i].reason == reason && strcmp(d->list[i].guest, guest) == 0)
			return &d->list[i];
	if (d->n >= most && *guest)
		return find(d, reason, "");
	new = &d->list[d->n++];
	*new = (struct deletion){.reason = reason};
	strcpy(new->guest, guest);
	return new;
}

void deletion_tally_add(struct deletion_tally *d, const struct deletion *deletion)
{
	struct deletion *to = find(d, deletion->reason, deletion->guest);

	to->packets += deletion->packets;
	to->captures += deletion->captures;
	to->runs += deletion->runs;
	to->bytes += deletion->bytes;
	to->outbox += deletion->outbox;
}

void deletion_tally_move(struct deletion_tally *d, struct deletion_tally *from)
{
	for (unsigned i = 0; i < from->n; i++)
		deletion_tally_add(d, &from->list[i]);
	from->n = 0;
}

void deletion_sentence(const struct deletion *d, const char *captures, char *text, size_t size)
{
	const char *guest = *d->guest ? d->guest : "(several)", *reason = deletion_reason_name(d->reason);

	if (d->outbox && !d->packets && !d->captures && !d->runs && !d->bytes)
		snprintf(text, size, "Deleted from the outbox, and not sent: guest=%s reason=%s rows=%llu", guest,
			 reason, (unsigned long long)d->outbox);
	else
		snprintf(text, size,
			 "Deleted from the archive: guest=%s reason=%s packets=%llu %s=%llu runs=%llu bytes=%llu",
			 guest, reason, (unsigned long long)d->packets, captures, (unsigned long long)d->captures,
			 (unsigned long long)d->runs, (unsigned long long)d->bytes);
}

void deletion_log_end(struct deletion_log *log, const char *captures)
{
	for (unsigned i = 0; i < log->waiting.n; i++) {
		const struct deletion *d = &log->waiting.list[i];
		char text[512];

		deletion_sentence(d, captures, text, sizeof(text));
		log_write(LOG_LEVEL_INFO, *d->guest ? d->guest : NULL, "%s", text);
	}
	log->waiting.n = 0;
}

void deletion_log_run(struct deletion_log *log, struct deletion_tally *from, const char *captures, uint64_t now)
{
	for (unsigned i = 0; i < from->n; i++) {
		log->totals.packets[from->list[i].reason] += from->list[i].packets;
		log->totals.captures[from->list[i].reason] += from->list[i].captures;
		log->totals.outbox[from->list[i].reason] += from->list[i].outbox;
	}
	deletion_tally_move(&log->waiting, from);
	if (log->waiting.n == 0 || (log->logged && now - log->logged < LOG_NS))
		return;
	log->logged = now;
	deletion_log_end(log, captures);
}
