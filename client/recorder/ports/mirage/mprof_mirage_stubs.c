/*
 * The functions that stand in front of Solo5's, mirage-xen's and the OCaml runtime's (the linker's options
 * are in the file dune), and the primitives of mprof_mirage.ml.
 *
 * Xen sees a unikernel that failed as one that powered off, so its trace says that thread 0 failed, and why.
 * Nothing here allocates in OCaml's heap, except the call of Printexc.to_string. Interrupt handlers of Solo5
 * call none of it.
 */
#define CAML_NAME_SPACE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>

#include <mprof/recorder.h>

#include "mprof_stubs.h"

#define MAIN_THREAD 0
#define TEXT_BYTES  400u /* a packet of the smallest ring takes so long a text */

/* Solo5's and mirage-xen's. Their headers may not be in the include path. */
uint64_t solo5_clock_monotonic(void);
void solo5_console_write(const char *text, size_t bytes);
value mirage_xen_evtchn_notify(value unused, value port);

static value port = Val_int(0); /* the event channel that is kicked; 0: none */
static bool crash;		/* end by a crash where the status is not 0 */
static bool failed;		/* the trace says that thread 0 failed */
static char reason[TEXT_BYTES]; /* why the unikernel is about to end; empty: unknown */

/* Copy the first bytes of TEXT. The recorder drops a text with a NUL. */
static void reason_set(const char *text, size_t bytes)
{
	if (bytes > sizeof(reason) - 1)
		bytes = sizeof(reason) - 1;
	for (size_t i = 0; i < bytes; i++)
		reason[i] = text[i] ? text[i] : '?';
	reason[bytes] = '\0';
}

/* Record once that thread 0 failed, for the reason that is set, or for DEFAULT_REASON. */
static void fail(const char *default_reason)
{
	struct mprof_recorder *recorder = mprof_ocaml_recorder();

	if (failed || !recorder)
		return;
	failed = true;
	if (!reason[0])
		reason_set(default_reason, strlen(default_reason));
	mprof_recorder_fails(recorder, MAIN_THREAD, reason, strlen(reason));
	mprof_ocaml_recorded();
}

/* ---- what the linker puts in front */

value __real_mirage_xen_evtchn_block_domain(value deadline);
value __wrap_mirage_xen_evtchn_block_domain(value deadline);
void __real_caml_fatal_uncaught_exception(value exception) __attribute__((noreturn));
void __wrap_caml_fatal_uncaught_exception(value exception) __attribute__((noreturn));
void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));
void __real_solo5_abort(void) __attribute__((noreturn));
void __wrap_solo5_abort(void) __attribute__((noreturn));

/* int64 -> unit: wait for an event. No thread runs meanwhile. A deadline that has passed is no wait. */
value __wrap_mirage_xen_evtchn_block_domain(value deadline)
{
	bool waits = mprof_ocaml_recorder() && solo5_clock_monotonic() < (uint64_t)Int64_val(deadline);

	if (waits)
		mprof_ocaml_hiatus(Val_unit);
	__real_mirage_xen_evtchn_block_domain(deadline);
	if (waits)
		mprof_ocaml_resume(Val_unit);
	return Val_unit;
}

/* Set the exception's text as the reason: Printexc.to_string's, which knows registered printers. */
static void reason_set_exception(value exception)
{
	CAMLparam1(exception);
	const value *to_string = caml_named_value("mprof_mirage_exception");
	value text = to_string ? caml_callback_exn(*to_string, exception) : Val_unit;

	if (to_string && !Is_exception_result(text))
		reason_set(String_val(text), caml_string_length(text));
	CAMLreturn0;
}

void __wrap_caml_fatal_uncaught_exception(value exception)
{
	CAMLparam1(exception);

	reason_set_exception(exception);
	fail("an exception that has no text");
	__real_caml_fatal_uncaught_exception(exception);
	CAMLnoreturn;
}

void __wrap_exit(int status)
{
	char text[32];

	if (status) {
		snprintf(text, sizeof(text), "exit %d", status);
		fail(text);
		if (crash)
			__real_solo5_abort();
	}
	__real_exit(status);
}

void __wrap_solo5_abort(void)
{
	fail("abort");
	__real_solo5_abort();
}

/* ---- primitives */

/* string -> unit: write to the console. */
CAMLprim value mprof_mirage_console(value text)
{
	solo5_console_write(String_val(text), caml_string_length(text));
	return Val_unit;
}

static void kick(void)
{
	mirage_xen_evtchn_notify(Val_unit, port);
}

/* int -> unit */
CAMLprim value mprof_mirage_kick(value to)
{
	port = to;
	mprof_ocaml_kick = to == Val_int(0) ? NULL : kick;
	return Val_unit;
}

/* bool -> unit */
CAMLprim value mprof_mirage_set_crash(value on)
{
	crash = Bool_val(on);
	return Val_unit;
}

/* string -> unit */
CAMLprim value mprof_mirage_set_reason(value text)
{
	if (!failed)
		reason_set(String_val(text), caml_string_length(text));
	return Val_unit;
}
