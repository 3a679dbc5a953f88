/*
 * A consumer is a set of functions that take the events of a trace, from the code that reads the trace: in mprofctl from files, guests and
 * captures, in the viewer from what the page has loaded.
 */
#ifndef TRACE_CONSUMER_H
#define TRACE_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

#define CONSUMER_STREAMS_MAX 256 /* most streams of a trace */

/*
 * Each function returns 0, or -errno to stop reading. Then the code that reads the trace returns
 * the same error.
 */
struct consumer {
	/*
	 * Take the guest of each of the COUNT streams. Streams with equal numbers are rings of one program: a
	 * thread has one id in all of them. Called before streams(). If it is not called, each stream is a
	 * guest of its own. GUESTS is valid during the call. May be NULL.
	 */
	int (*guests)(void *context, const uint32_t *guests, unsigned int count);
	/*
	 * Take the COUNT names of the streams. Called once before the first event, and only if the
	 * trace has several streams. The names are valid until the reading ends. May be NULL.
	 */
	int (*streams)(void *context, char *const *names, unsigned int count);
	/*
	 * Take the next N events of STREAM (from 0). The texts of the events are valid during the
	 * call.
	 */
	int (*events)(void *context, unsigned int stream, const struct mprof_event *events, size_t n);
	/*
	 * Take note that the next events of STREAM are those of PACKET, until the next call. A
	 * packet without events may be left out. PACKET is valid during the call. Not called for a
	 * log of s-expressions. May be NULL.
	 */
	int (*packet)(void *context, unsigned int stream, const struct mprof_packet *packet);
	/*
	 * Take note that PACKETS packets (at least 1) of STREAM are missing at this place, which
	 * the packet counts show. May be NULL.
	 */
	int (*gap)(void *context, unsigned int stream, uint64_t packets);
	/*
	 * Take note that DAMAGE in STREAM was skipped at this place. DAMAGE is valid during the
	 * call. May be NULL.
	 */
	int (*damage)(void *context, unsigned int stream, const struct mprof_damage *damage);
	/*
	 * Take note that the events of STREAM from FROM_NS on are an unproven tail: the guest ended
	 * before the daemon could confirm them. Called after all events. If NULL, mprofctl does not ask the daemon for
	 * tails; the viewer never calls it.
	 */
	int (*tail)(void *context, unsigned int stream, uint64_t from_ns);
	/*
	 * Flush the output, because no more events are available at the moment or an error message
	 * follows. May be NULL.
	 */
	int (*pause)(void *context);
	/* Pass the declarations of recorders and the states of threads (mprof_event_is_program()) to events(), too. */
	bool recorders;
	void *context;
};

#endif
