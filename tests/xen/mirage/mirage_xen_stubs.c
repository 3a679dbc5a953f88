/*
 * A stand-in for mirage-xen's and io-page's C functions, for a guest of tests/xen/sim (sim.h): grants,
 * event channels, the wait for an event, the command line ($STAND_IN_COMMAND_LINE).
 *
 * Page R of the file mem.DOMID is the page that reference R grants, so a page that is granted is copied there,
 * and mapped from there in its place. The simulation's event channels are those of sim-guest.so, which is preloaded.
 */
#define CAML_NAME_SPACE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/fail.h>
#include <caml/mlvalues.h>

#define PAGE	     4096u
#define REFS	     2048u
#define MAPS_COUNTS  4096 /* offset of sim_maps.refs */
#define NS_PER_MS    1000000u
#define LONGEST_WAIT 60000u /* ms */

uint64_t solo5_clock_monotonic(void);
void solo5_abort(void) __attribute__((noreturn));

static bool granted[REFS], ended[REFS];
static void *pages[REFS];

static void sim_file(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s.%s", getenv("MPROFD_SIM_DIR"), name, getenv("MPROFD_SIM_DOMID"));
}

/* ---- pages and grants */

/* int -> Io_page.t */
value stand_in_pages(value count);
value stand_in_pages(value count)
{
	intnat bytes = Long_val(count) * (intnat)PAGE;
	void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		caml_raise_out_of_memory();
	return caml_ba_alloc_dims(CAML_BA_CHAR | CAML_BA_C_LAYOUT | CAML_BA_EXTERNAL, 1, memory, bytes);
}

/* Write the references whose access ended to revoked.DOMID. */
static void revoked_write(void)
{
	char path[512];
	FILE *f;

	sim_file(path, sizeof(path), "revoked");
	f = fopen(path, "we");
	if (!f)
		caml_failwith(path);
	for (unsigned i = 0; i < REFS; i++)
		if (ended[i])
			fprintf(f, "%u\n", i);
	fclose(f);
}

/* Gntref.t -> Io_page.t -> int -> bool -> unit */
value mirage_xen_gnttab_grant_access(value reference, value page, value domid, value writable);
value mirage_xen_gnttab_grant_access(value reference, value page, value domid, value writable)
{
	uint8_t *memory = Caml_ba_data_val(page);
	unsigned ref = (unsigned)Long_val(reference);
	char path[512];
	int fd;

	if (Long_val(domid) != 0 || Bool_val(writable))
		caml_failwith("the ring is for domain 0 alone, to read");
	sim_file(path, sizeof(path), "mem");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, memory, PAGE, (off_t)ref * PAGE) != (ssize_t)PAGE ||
	    mmap(memory, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)ref * PAGE) == MAP_FAILED)
		caml_failwith(path);
	close(fd);
	granted[ref] = true;
	pages[ref] = memory;
	if (ended[ref]) {
		ended[ref] = false;
		revoked_write();
	}
	return Val_unit;
}

/* Gntref.t -> bool: false if domain 0 has the page mapped. */
value mirage_xen_gnttab_end_access(value reference);
value mirage_xen_gnttab_end_access(value reference)
{
	unsigned ref = (unsigned)Long_val(reference);
	uint8_t mappings = 0;
	char path[512];
	int fd;

	if (!granted[ref])
		caml_failwith("the reference is not granted");
	sim_file(path, sizeof(path), "maps");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (pread(fd, &mappings, 1, MAPS_COUNTS + (off_t)ref) < 0)
			mappings = 1;
		close(fd);
	}
	if (mappings)
		return Val_false;
	granted[ref] = false;
	ended[ref] = true;
	revoked_write();
	mmap(pages[ref], PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return Val_true;
}

/* ---- event channels */

static void *event_channels(void)
{
	static void *handle;
	void *(*open_channels)(void *, unsigned) = NULL;

	if (!handle) {
		*(void **)&open_channels = dlsym(RTLD_DEFAULT, "xenevtchn_open");
		handle = open_channels ? open_channels(NULL, 0) : NULL;
	}
	return handle;
}

/* Call FUNCTION of libxenevtchn with NUMBER. Return -1 if it is not there. */
static int call(const char *function, uint32_t number)
{
	int (*found)(void *, uint32_t) = NULL;

	*(void **)&found = dlsym(RTLD_DEFAULT, function);
	return found && event_channels() ? found(event_channels(), number) : -1;
}

/* handle -> int -> int */
value mirage_xen_evtchn_alloc_unbound(value unused, value domid);
value mirage_xen_evtchn_alloc_unbound(value unused, value domid)
{
	int port = call("xenevtchn_bind_unbound_port", (uint32_t)Long_val(domid));

	(void)unused;
	if (port < 0)
		caml_failwith("evtchn_alloc_unbound");
	return Val_int(port);
}

/* handle -> int -> unit */
value mirage_xen_evtchn_notify(value unused, value port);
value mirage_xen_evtchn_notify(value unused, value port)
{
	(void)unused;
	if (call("xenevtchn_notify", (uint32_t)Long_val(port)) < 0)
		solo5_abort();
	return Val_unit;
}

/* handle -> int -> unit */
value mirage_xen_evtchn_unbind(value unused, value port);
value mirage_xen_evtchn_unbind(value unused, value port)
{
	(void)unused;
	if (call("xenevtchn_unbind", (uint32_t)Long_val(port)) < 0)
		caml_failwith("evtchn_unbind");
	return Val_unit;
}

/* ---- time and events */

/* unit -> int64: ns */
value stand_in_now(value unit);
value stand_in_now(value unit)
{
	(void)unit;
	return caml_copy_int64((int64_t)solo5_clock_monotonic());
}

static bool input_comes(int ms)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, ms) > 0;
}

/* unit -> bool */
value stand_in_pending(value unit);
value stand_in_pending(value unit)
{
	(void)unit;
	return Val_bool(input_comes(0));
}

/* int64 -> unit */
value mirage_xen_evtchn_block_domain(value deadline);
value mirage_xen_evtchn_block_domain(value deadline)
{
	uint64_t now = solo5_clock_monotonic(), until = (uint64_t)Int64_val(deadline);
	uint64_t ms = now < until ? (until - now + NS_PER_MS - 1) / NS_PER_MS : 0;

	input_comes((int)(ms < LONGEST_WAIT ? ms : LONGEST_WAIT));
	return Val_unit;
}

/* unit -> string */
value mirage_xen_get_cmdline(value unit);
value mirage_xen_get_cmdline(value unit)
{
	const char *text = getenv("STAND_IN_COMMAND_LINE");

	(void)unit;
	return caml_copy_string(text ? text : "");
}

/* unit -> unit: what an assertion of Solo5 does. */
value stand_in_abort(value unit);
value stand_in_abort(value unit)
{
	(void)unit;
	solo5_abort();
}
