/*
 * A machine with Xen as far as mprofd and xenstored can tell, in the files of one directory ($MPROFD_SIM_DIR).
 *
 *   dom.N         domain N exists; one word says how it is: running, crashed, poweroff, reboot, suspend, watchdog or
 *                 soft-reset; then " paused" where it is, " dying" from its destruction on,
 *                 and " held" where a back end has something of it mapped
 *   mem.N         its memory: grant reference R below 65,536 is page R; page 1 is its ring to the store
 *   ring.N.K      further memory: reference (K << 16) + P is page P, so that a program that writes a ring file is a guest
 *   revoked.N     references of it that cannot be mapped (any more), in decimal, a line each
 *   pause.N       while it is there a mapping waits in its middle; paused.N says that one does
 *   slow.N        how many milliseconds a mapping takes
 *   slow-disk     how many milliseconds longer a write to disk takes
 *   maps.N        struct sim_maps: what of it dom0 has mapped
 *   ports.N       its event channels for dom0, a word each (SIM_PORT_…)
 *   evtchn        struct sim_evtchn: dom0's ends of them; evtchn.fifo: those that came up, 32 bits each
 *   store.fifo    what came up for the store: struct sim_event
 *
 * A dying domain is there for as long as something of it is mapped, as in Xen.  The fakes are processes of their own: what they share
 * is these files, and what one does counts for the others at once.
 */
#ifndef XEN_SIM_H
#define XEN_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PAGE	4096u
#define SIM_DOMAINS	32752u	     /* domids below; what lies above is reserved */
#define SIM_REFS	(128u << 16) /* references there can be */
#define SIM_GUEST_PORTS 131072u
#define SIM_PORTS	4096u /* dom0's; 0 is none */
#define SIM_VIRQ	UINT32_MAX

/* A guest's port: closed, offered to dom0, bound by somebody else there, or bound: then dom0's port stands beside the bit. */
enum sim_guest_port { SIM_PORT_CLOSED, SIM_PORT_OFFERED, SIM_PORT_TAKEN };
#define SIM_PORT_BOUND (1u << 31)

struct sim_domain {
	unsigned domid;
	bool running, paused, dying, shutdown;
	unsigned reason;
};

/* Times are CLOCK_MONOTONIC ns.  Written by the one who maps, who is alive. */
struct sim_maps {
	_Atomic uint32_t pid;
	_Atomic uint32_t pages;
	_Atomic uint64_t maps, unmaps, refused;
	_Atomic uint64_t mapped_ns, unmapped_ns; /* of the last */
	uint8_t unused[SIM_PAGE - 48];
	uint8_t refs[SIM_REFS]; /* how often each is mapped */
};

struct sim_port {
	_Atomic uint32_t bound, domid, remote, pending, masked, unused;
	_Atomic uint64_t kicks, delivered;		       /* since it was bound */
	_Atomic uint64_t kicked_ns, delivered_ns, unmasked_ns; /* the last */
};

struct sim_evtchn {
	_Atomic uint32_t pid;
	uint32_t unused[15];
	struct sim_port port[SIM_PORTS];
};

/* DOMID SIM_VIRQ: a virtual interrupt. */
struct sim_event {
	uint32_t domid, port;
};

/* The path of a file of the simulation. */
void sim_path(char *path, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Map a file of it, made where it is not there, SIZE bytes; NULL and errno. */
void *sim_map(const char *name, size_t size);
/* Open a FIFO of it to read, made where it is not there; -1 and errno. */
int sim_fifo(const char *name);
/* Put a record into a FIFO that somebody reads. */
bool sim_tell(const char *name, const void *record, size_t size);

/* The domain DOMID; false: there is none. */
bool sim_domain(unsigned domid, struct sim_domain *domain);
/* The one with the lowest number from FIRST on. */
bool sim_domain_from(unsigned first, struct sim_domain *domain);

/* Map N pages of a domain one behind the other; NULL and EINVAL where one cannot be.  Unmapped with munmap. */
void *sim_pages(unsigned domid, size_t n, const uint32_t *refs, int protection);

uint64_t sim_now(void);
/* Is there a process of this number? */
bool sim_alive(uint32_t pid);

#endif
