/*
 * A simulated machine with Xen, as mprofd and xenstored see it. Its state is in the files of one
 * directory ($MPROFD_SIM_DIR).
 *
 *  dom.N         domain N exists. The first word is its state: running, crashed, poweroff, reboot,
 *                suspend, watchdog or soft-reset. Then follow " paused" if it is paused, " dying"
 *                once it is being destroyed, and " held" if a back end has its memory mapped
 *  mem.N         its memory: grant reference R below 65,536 is page R; page 1 is its ring to the
 *                store
 *  ring.N.K      more of its memory: reference (K << 16) + P is page P of this file, so that a
 *                program that writes a ring file can be a guest. The stand-in for gntalloc makes
 *                these files, too, and whoever has one open holds a shared lock on it (flock)
 *  gntalloc      the kernel's limit of grants in the guests, in decimal
 *  revoked.N     references of it that cannot be mapped, in decimal, one per line
 *  pause.N       while this file exists, a mapping waits in its middle; paused.N exists while a
 *                mapping waits
 *  slow.N        milliseconds that a mapping takes
 *  slow-disk     additional milliseconds of each write to the disk
 *  vcpu.N        its vCPUs, a line of numbers for each: online, blocked and running (0 or 1), the time that it
 *                had run by a moment (ns), that moment (CLOCK_MONOTONIC ns), and how much it runs since then
 *                (thousandths, may be negative)
 *  vcpu-asked    exists when somebody has asked for a vCPU
 *  maps.N        struct sim_maps: the pages of it that dom0 has mapped
 *  ports.N       its event channels for dom0, one word each (SIM_PORT_…)
 *  evtchn        struct sim_evtchn: dom0's ends of the event channels
 *  evtchn.fifo   dom0's pending ports, 32 bits each
 *  store.fifo    events for the store: struct sim_event
 *
 * As in Xen, a dying domain exists as long as its memory is mapped. The fakes are separate
 * processes and share only these files, so a change by one of them takes effect for all at once.
 */
#ifndef XEN_SIM_H
#define XEN_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PAGE	4096u
#define SIM_DOMAINS	32752u	     /* number of possible domids; greater ones are reserved */
#define SIM_REFS	(128u << 16) /* number of possible references */
#define SIM_GUEST_PORTS 131072u
#define SIM_PORTS	4096u /* number of dom0's ports; port 0 is never used */
#define SIM_VIRQ	UINT32_MAX

/*
 * State of a guest's port: closed, offered to dom0, or bound by another program in dom0. A port
 * that this simulation binds has SIM_PORT_BOUND set, and the number of dom0's port in the other
 * bits.
 */
enum sim_guest_port { SIM_PORT_CLOSED, SIM_PORT_OFFERED, SIM_PORT_TAKEN };
#define SIM_PORT_BOUND (1u << 31)

struct sim_domain {
	unsigned domid;
	bool running, paused, dying, shutdown;
	unsigned reason;
};

/*
 * Times are CLOCK_MONOTONIC, in ns. Only the process PID writes this structure while it is alive.
 */
struct sim_maps {
	_Atomic uint32_t pid;
	_Atomic uint32_t pages;
	_Atomic uint64_t maps, unmaps, refused;
	_Atomic uint64_t mapped_ns, unmapped_ns; /* when pages were last mapped and last unmapped */
	uint8_t unused[SIM_PAGE - 48];
	uint8_t refs[SIM_REFS]; /* number of mappings of each page, by reference */
};

struct sim_port {
	_Atomic uint32_t bound, domid, remote, pending, masked, unused;
	_Atomic uint64_t kicks, delivered;		       /* number of events since the port was bound */
	_Atomic uint64_t kicked_ns, delivered_ns, unmasked_ns; /* time of the last event of each kind */
};

struct sim_evtchn {
	_Atomic uint32_t pid;
	uint32_t unused[15];
	struct sim_port port[SIM_PORTS];
};

/* An event on a guest's PORT. If DOMID is SIM_VIRQ, the event is a virtual interrupt. */
struct sim_event {
	uint32_t domid, port;
};

/* Write the path of a file of the simulation to PATH, which has SIZE bytes. */
void sim_path(char *path, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/*
 * Map SIZE bytes of a file of the simulation; create the file if it is missing. On failure return
 * NULL and set errno.
 */
void *sim_map(const char *name, size_t size);
/*
 * Open a FIFO of the simulation for reading; create it if it is missing. On failure return -1 and
 * set errno.
 */
int sim_fifo(const char *name);
/* Write SIZE bytes of RECORD to the FIFO NAME, which another process reads. */
bool sim_tell(const char *name, const void *record, size_t size);

/* Read the state of domain DOMID. Return false if the domain does not exist. */
bool sim_domain(unsigned domid, struct sim_domain *domain);
/* Read the state of the domain with the lowest domid that is FIRST or greater. */
bool sim_domain_from(unsigned first, struct sim_domain *domain);

struct sim_vcpu {
	unsigned online, blocked, running;
	uint64_t cpu_time; /* now, ns */
};

/* Read the state of vCPU NUMBER of domain DOMID. Return false if it does not exist. */
bool sim_vcpu(unsigned domid, unsigned number, struct sim_vcpu *vcpu);

/*
 * Map N pages of a domain at consecutive addresses. The caller unmaps them with munmap. If a page
 * cannot be mapped, return NULL and set errno to EINVAL.
 */
void *sim_pages(unsigned domid, size_t n, const uint32_t *refs, int protection);

/* Map the event channels that domain DOMID has for dom0. On failure return NULL and set errno. */
_Atomic uint32_t *sim_ports(unsigned domid);
/*
 * Notify dom0 on PORT of a guest as Xen does: a masked port stays pending, and a port that is pending
 * already is not reported again. Return the time, or 0 if the port is not bound.
 */
uint64_t sim_kick(struct sim_evtchn *table, _Atomic uint32_t *ports, unsigned port);

uint64_t sim_now(void);
/* Return whether a process with the id PID exists. */
bool sim_alive(uint32_t pid);

#endif
