/*
 * The interned texts of a packet, and the events `extra` that use them. Private to the library.
 *
 * A decoder gives out a LABEL, INCREASE or COUNTER as the event of that name, with the text itself, and a
 * DURATION as an event with the id `extra`: context = the thread, number = nanoseconds, text = the name.
 * It gives out no TEXT, and no event of a kind that it does not know. A RECORDER and a STATE are no events of
 * the program: they are given out only if the caller asks for them, a STATE as an event with the id `extra` and the
 * type STATE: context = the thread, number = nanoseconds, text = the state.
 */
#ifndef TRACE_EXTRAS_H
#define TRACE_EXTRAS_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/trace.h>

#include "grow.h"
#include "map.h"

#define EXTRAS_TEXTS_MAX 65536u /* texts of one packet that are remembered; uses of others are shown as numbers */

struct extras {
	struct map map;	   /* from the id of a text to its index in TEXTS */
	struct grow texts; /* with their kinds of counters */
	bool recorders;	   /* give out the events of the kinds RECORDER and STATE */
};

void extras_init(struct extras *x);
void extras_deinit(struct extras *x);
/* Forget the texts: another packet begins. The texts of events that were given out end. */
void extras_clear(struct extras *x);

/*
 * Take RAW, an event `extra` that mprof_event_load() parsed, and turn it into the event to give out. Its
 * text points into the parsed bytes, or is valid until extras_clear(). Return false if there is nothing
 * to give out. Count in *TOTALS the uses of texts that the packet does not have, which get a number in
 * their place, and events that were skipped. Without memory a text is not remembered.
 */
bool extras_take(struct extras *x, struct mprof_raw_event *raw, struct mprof_totals *totals);

#endif
