/* Rings that Xen's domain 0 reads, for OCaml programs in Linux guests: the primitives of mProf_xen.ml. */
#define CAML_NAME_SPACE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>

#include <mprof/publisher-xen.h>
#include <mprof/ring.h>

#include "mprof_stubs.h"

#define PAGE	       4096u
#define NAME_MAX_BYTES 39u /* as of a publisher */

/* The process's ring; PID 0: there is none. */
static struct {
	struct mprof_xen xen;
	struct mprof_xen_ring ring;
	void *memory;
	pid_t pid;
} shared;

static const char *reason(int error)
{
	switch (-error) {
	case ENODEV:
		return "this is no guest of Xen, or its module xen-gntalloc is not loaded";
	case ENOSYS:
		return "this kernel's pages are larger than 4,096 bytes, and a ring for domain 0 needs pages of that "
		       "size";
	case EOPNOTSUPP:
		return "this is domain 0";
	case EACCES:
		return "/dev/xen/gntalloc and /dev/xen/evtchn may not be opened";
	default:
		return strerror(-error);
	}
}

static void fail(const char *function, const char *why)
{
	char text[400];

	snprintf(text, sizeof(text), "MProf_xen.%s: %s", function, why);
	caml_failwith(text);
}

/* Raise the exception for ERROR, which mprof_xen_ring_make() returned for BYTES bytes. */
static void fail_make(int error, size_t bytes)
{
	char text[300];

	if (error != -ENOSPC)
		fail("make_shared_buffer", reason(error));
	snprintf(text, sizeof(text),
		 "a ring of %zu bytes needs %u grants, and the kernel allows %u to all programs of the guest; raise "
		 "that "
		 "in /sys/module/xen_gntalloc/parameters/limit",
		 bytes, mprof_xen_grants(bytes), mprof_xen_grants_limit());
	fail("make_shared_buffer", text);
}

/* Make the ring of BYTES bytes. Return 0 or -errno. */
static int ring_make(size_t bytes)
{
	int r = mprof_xen_ring_make(&shared.xen, &shared.ring, bytes);

	if (r)
		return r;
	shared.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.ring.device, 0);
	if (shared.memory != MAP_FAILED && madvise(shared.memory, bytes, MADV_DONTFORK) == 0)
		return 0;
	r = -errno;
	if (shared.memory != MAP_FAILED)
		munmap(shared.memory, bytes);
	mprof_xen_ring_free(&shared.xen, &shared.ring);
	return r;
}

/* int -> log_buffer */
CAMLprim value mprof_ocaml_xen_make(value size)
{
	intnat bytes = Long_val(size);
	int r;

	if (bytes < 1 || bytes > MPROF_RING_BYTES_MAX)
		caml_invalid_argument("MProf_xen.make_shared_buffer: the size of a ring is 1 byte to 256 MiB");
	if (shared.pid)
		caml_invalid_argument("MProf_xen.make_shared_buffer: the process has a ring");
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	r = mprof_xen_open(&shared.xen);
	if (r)
		fail("make_shared_buffer", reason(r));
	r = ring_make((size_t)bytes);
	if (r) {
		mprof_xen_close(&shared.xen);
		fail_make(r, (size_t)bytes);
	}
	shared.pid = getpid();
	return caml_ba_alloc_dims(CAML_BA_CHAR | CAML_BA_C_LAYOUT | CAML_BA_EXTERNAL, 1, shared.memory, bytes);
}

static void kick(void)
{
	mprof_xen_ring_kick(&shared.xen, &shared.ring);
}

/* string -> log_buffer -> unit */
CAMLprim value mprof_ocaml_xen_share(value name, value memory)
{
	size_t n = caml_string_length(name);
	char text[80];
	int r;

	if (shared.pid != getpid() || Caml_ba_data_val(memory) != shared.memory || !mprof_ocaml_records(shared.memory))
		caml_invalid_argument(
			"MProf_xen.share_with: the buffer is no shared one, or this domain does not record into it");
	if (n < 1 || n > NAME_MAX_BYTES || !caml_string_is_c_safe(name))
		caml_invalid_argument("MProf_xen.share_with: a name has 1 to 39 bytes");
	if (shared.ring.stream)
		return Val_unit;
	snprintf(text, sizeof(text), "%s.%ld ring-00", String_val(name), (long)shared.pid);
	caml_enter_blocking_section();
	r = mprof_xen_ring_publish(&shared.xen, &shared.ring, text);
	caml_leave_blocking_section();
	if (r)
		fail("share_with", r == -ENOSPC ? "the guest has 64 streams" : reason(r));
	mprof_ocaml_kick = kick;
	return Val_unit;
}

CAMLprim value mprof_ocaml_xen_has_ring(value unit)
{
	(void)unit;
	return Val_bool(shared.pid == getpid());
}

static void pause_ms(unsigned ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	while (nanosleep(&left, &left) < 0 && errno == EINTR) {
	}
}

/*
 * unit -> unit: withdraw the ring, into which nobody records any more. The mapping stays, because the
 * program may keep the buffer.
 */
CAMLprim value mprof_ocaml_xen_withdraw(value unit)
{
	struct mprof_xen_ring *rings[] = {&shared.ring};
	int r;

	mprof_ocaml_kick = NULL;
	caml_enter_blocking_section();
	r = mprof_xen_rings_withdraw(&shared.xen, rings, 1);
	if (r == 0) {
		pause_ms(MPROF_XEN_UNMAP_MS);
		mprof_xen_ring_free(&shared.xen, &shared.ring);
		mprof_xen_close(&shared.xen);
	}
	caml_leave_blocking_section();
	if (r)
		fail("withdraw", reason(r));
	memset(&shared, 0, sizeof(shared));
	return unit;
}
