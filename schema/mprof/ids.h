/*
 * The numbers of events and thread types.
 *
 * Apart from the rest of event.h because a recorder in a guest needs these and has no C library's headers.
 */
#ifndef MPROF_SCHEMA_IDS_H
#define MPROF_SCHEMA_IDS_H

enum mprof_event_id {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) MPROF_EVENT_##name = (id),
#include <mprof/events.def>
	MPROF_EVENT_IDS,
};

enum mprof_thread_type {
#define MPROF_THREAD_TYPE(id, name) MPROF_THREAD_##name = (id),
#include <mprof/events.def>
	MPROF_THREAD_TYPES,
	MPROF_THREAD_UNKNOWN = 99, /* what a recorder writes for a type that it does not know */
};

#define MPROF_EVENT_HEADER_BYTES 9u   /* timestamp u64, id u8 */
#define MPROF_EVENT_BYTES_MIN	 17u  /* switch and gc */
#define MPROF_THREAD_NONE	 (-1) /* "no thread runs": the program is suspended */

#endif
