/*
 * The recorder for OCaml: the primitives of mProf.ml, and collections.
 *
 * A process has one recorder. The primitives that record do not allocate in OCaml's heap and call no
 * OCaml code, so no collection and no other thread of OCaml comes between. Under OCaml 5 only the
 * domain that started the recorder records, and can stop it or start it again; events of other domains
 * are not recorded. A domain's backup thread, which collects for it, never runs beside its threads.
 */
#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef MPROF_SOLO5
#include <pthread.h>
#include <time.h>
#endif

#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/domain_state.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/misc.h>
#include <caml/mlvalues.h>
#include <caml/version.h>

#include <mprof/recorder.h>

#include "mprof_stubs.h"

static struct mprof_recorder recorder;
static value buffer = Val_unit; /* keeps the memory of the ring */
static bool prepared;		/* the hooks are set, and BUFFER is a root of OCaml's heap */
static int64_t idle_thread;	/* the thread that ran before the program began to wait */

void (*mprof_ocaml_kick)(void);
static uint64_t kicked; /* the number of the packet that was kicked last */

#if OCAML_VERSION >= 50000
#define NOBODY -1

static int owner = NOBODY; /* the unique id of the domain that records; atomic */

static int get_owner(void)
{
	return __atomic_load_n(&owner, __ATOMIC_RELAXED);
}

static bool is_owner(void)
{
	return Caml_state && Caml_state->unique_id == get_owner();
}

/* Make the running domain the owner. Return false if another one is. */
static bool set_owner(void)
{
	int nobody = NOBODY;

	return is_owner() || __atomic_compare_exchange_n(&owner, &nobody, Caml_state->unique_id, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void clear_owner(void)
{
	__atomic_store_n(&owner, NOBODY, __ATOMIC_RELAXED);
}
#else
static bool is_owner(void)
{
	return true;
}

static bool set_owner(void)
{
	return true;
}

static void clear_owner(void)
{
}
#endif

/* An event was recorded. */
static void recorded(void)
{
	uint64_t sequence = mprof_recorder_sequence(&recorder);

	if (!mprof_ocaml_kick || sequence == kicked)
		return;
	kicked = sequence;
	mprof_ocaml_kick();
}

/* A collection that was not written yet. */
static struct {
	uint64_t since, until; /* ns; UNTIL is 0 if there is none */
} kept;
static uint64_t kept_now; /* the time for the recorder while it writes KEPT; else 0 */

/* ---- the platform: Solo5, or POSIX */

#ifdef MPROF_SOLO5
uint64_t solo5_clock_monotonic(void); /* solo5.h may not be in the include path */

static uint64_t monotonic(void *context)
{
	(void)context;
	return solo5_clock_monotonic();
}

static void platform_prepare(void)
{
}
#else
static uint64_t monotonic(void *context)
{
	struct timespec ts;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A child shares the ring with its parent, so it records nothing. */
static void stop_in_child(void)
{
	kept.until = kept_now = 0;
	mprof_recorder_stop(&recorder);
}

static void platform_prepare(void)
{
	pthread_atfork(NULL, NULL, stop_in_child);
}
#endif

/* ---- collections */

/*
 * A domain of OCaml 5 that waits for the others, so that all can collect, marks and sweeps meanwhile, in slices of a microsecond: an event for
 * each would replace a ring's other events within seconds. So a short slice is kept until it is known whether another one follows at once, with
 * no event between; together they are one collection. A slice that is not short, or a sum that is long, is written without delay: what a program
 * that stops here leaves unwritten is at most LONG_NS of slices.
 */
#if OCAML_VERSION >= 50000
#define SHORT_NS 50000u /* a slice that lasts less is kept */
#else
#define SHORT_NS 0u
#endif
#define FOLLOW_NS 5000u	    /* a slice that begins this much later follows at once */
#define LONG_NS	  10000000u /* what lasts this long is written, whatever follows */

static uint64_t recorder_clock(void *context)
{
	return kept_now ? kept_now : monotonic(context);
}

/* Write the collection that was kept. */
static void kept_write(void)
{
	if (!kept.until)
		return;
	kept_now = kept.until;
	kept.until = 0;
	mprof_recorder_gc(&recorder, kept_now - kept.since);
	kept_now = 0;
	recorded();
}

/* Return whether the running domain records, and write what comes before its event. */
static bool event_begins(void)
{
	if (!is_owner())
		return false;
	kept_write();
	return true;
}

bool mprof_ocaml_records(const void *memory)
{
	return is_owner() && recorder.memory && recorder.memory == memory;
}

struct mprof_recorder *mprof_ocaml_recorder(void)
{
	return event_begins() && recorder.memory ? &recorder : NULL;
}

void mprof_ocaml_recorded(void)
{
	recorded();
}

static caml_timing_hook earlier_minor_begin, earlier_minor_end, earlier_slice_begin, earlier_slice_end;
static uint64_t minor_since, slice_since; /* ns */

static void call(caml_timing_hook hook)
{
	if (hook)
		hook();
}

static void begin_collection(uint64_t *since)
{
	if (recorder.memory && is_owner())
		*since = monotonic(NULL);
}

/* A collection that began at SINCE ends; it is kept if it lasts less than SHORTER ns. */
static void end_collection(uint64_t since, uint64_t shorter)
{
	uint64_t now;

	if (!recorder.memory || !is_owner() || !since)
		return;
	now = monotonic(NULL);
	if (now < since)
		now = since;
	if (kept.until && (now - since >= shorter || since > kept.until + FOLLOW_NS))
		kept_write();
	if (!kept.until || since < kept.since)
		kept.since = since;
	kept.until = now;
	if (now - since >= shorter || now - kept.since >= LONG_NS)
		kept_write();
}

static void on_minor_begin(void)
{
	call(earlier_minor_begin);
	begin_collection(&minor_since);
}

static void on_minor_end(void)
{
	end_collection(minor_since, 0);
	call(earlier_minor_end);
}

static void on_slice_begin(void)
{
	call(earlier_slice_begin);
	begin_collection(&slice_since);
}

static void on_slice_end(void)
{
	end_collection(slice_since, SHORT_NS);
	call(earlier_slice_end);
}

static void prepare(void)
{
	if (prepared)
		return;
	prepared = true;
	caml_register_generational_global_root(&buffer);
	platform_prepare();
	earlier_minor_begin = caml_minor_gc_begin_hook;
	earlier_minor_end = caml_minor_gc_end_hook;
	earlier_slice_begin = caml_major_slice_begin_hook;
	earlier_slice_end = caml_major_slice_end_hook;
	caml_minor_gc_begin_hook = on_minor_begin;
	caml_minor_gc_end_hook = on_minor_end;
	caml_major_slice_begin_hook = on_slice_begin;
	caml_major_slice_end_hook = on_slice_end;
}

/* ---- start and stop */

/* log_buffer -> unit: make a ring in the buffer and record into it. */
CAMLprim value mprof_ocaml_start(value memory)
{
	enum mprof_recorder_status status;

	if (!set_owner())
		caml_invalid_argument("MProf.Trace.Control.start: another domain records; it must stop before");
	prepare();
	kept_write();
	mprof_recorder_stop(&recorder);
	status = mprof_recorder_init(&recorder, Caml_ba_data_val(memory), (size_t)Caml_ba_array_val(memory)->dim[0], 0,
				     recorder_clock, NULL);
	if (status != MPROF_RECORDER_OK) {
		clear_owner();
		caml_invalid_argument(mprof_recorder_status_text(status));
	}
	caml_modify_generational_global_root(&buffer, memory);
	minor_since = slice_since = 0;
	idle_thread = MPROF_THREAD_NONE;
	kicked = 0;
	return Val_unit;
}

CAMLprim value mprof_ocaml_stop(value unit)
{
	(void)unit;
	if (!set_owner())
		caml_invalid_argument("MProf.Trace.Control.stop: another domain records");
	kept_write();
	mprof_recorder_stop(&recorder);
	if (prepared)
		caml_modify_generational_global_root(&buffer, Val_unit);
	clear_owner();
	return Val_unit;
}

/* ---- events: none of these allocates */

CAMLprim value mprof_ocaml_current(value unit)
{
	(void)unit;
	return Val_long(is_owner() ? mprof_recorder_current(&recorder) : MPROF_THREAD_NONE);
}

CAMLprim value mprof_ocaml_dropped(value unit)
{
	(void)unit;
	return Val_long((intnat)mprof_recorder_dropped(&recorder));
}

CAMLprim value mprof_ocaml_creates(value child, value type)
{
	if (event_begins()) {
		mprof_recorder_creates(&recorder, Long_val(child), (enum mprof_thread_type)Long_val(type));
		recorded();
	}
	return Val_unit;
}

#define PAIR(name, call)                                                            \
	CAMLprim value mprof_ocaml_##name(value a, value b)                         \
	{                                                                           \
		if (event_begins()) {                                               \
			mprof_recorder_##call(&recorder, Long_val(a), Long_val(b)); \
			recorded();                                                 \
		}                                                                   \
		return Val_unit;                                                    \
	}

PAIR(read, read)
PAIR(read_later, read_later)
PAIR(try_read, try_read)
PAIR(becomes, becomes)
PAIR(signal, signal)

#define TEXT(name, call)                                                                     \
	CAMLprim value mprof_ocaml_##name(value number, value text)                          \
	{                                                                                    \
		if (event_begins()) {                                                        \
			mprof_recorder_##call(&recorder, Long_val(number), String_val(text), \
					      caml_string_length(text));                     \
			recorded();                                                          \
		}                                                                            \
		return Val_unit;                                                             \
	}

TEXT(label, label)
TEXT(fails, fails)
TEXT(increase, increase)
TEXT(counter, counter)

CAMLprim value mprof_ocaml_fulfills(value thread)
{
	if (event_begins()) {
		mprof_recorder_fulfills(&recorder, Long_val(thread));
		recorded();
	}
	return Val_unit;
}

CAMLprim value mprof_ocaml_switch(value thread)
{
	if (event_begins()) {
		mprof_recorder_switch(&recorder, Long_val(thread));
		recorded();
	}
	return Val_unit;
}

CAMLprim value mprof_ocaml_hiatus(value unit)
{
	(void)unit;
	if (event_begins()) {
		idle_thread = mprof_recorder_current(&recorder);
		mprof_recorder_suspend(&recorder);
		recorded();
	}
	return Val_unit;
}

CAMLprim value mprof_ocaml_resume(value unit)
{
	(void)unit;
	return mprof_ocaml_switch(Val_long(idle_thread));
}

/* Obj.t -> int: the address of a block, which changes when the block is moved. */
CAMLprim value mprof_ocaml_address(value block)
{
	return Val_long((intnat)((uintnat)block >> 1));
}
