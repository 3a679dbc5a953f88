/*
 * The parts of libxenctrl's structures that xenctrl.c reads: offsets in bytes. They are the same from Xen 4.1 on (a domain's description)
 * and 3.0 on (a vCPU's). tests/assumptions/xenctrl.c compares them with the headers of the installed Xen.
 */
#ifndef XEN_XENCTRL_LAYOUT_H
#define XEN_XENCTRL_LAYOUT_H

/* A domain's description, struct xen_domctl_getdomaininfo: its number, 16 bits; flags, 32 bits. */
#define DOMAIN_ID_AT	     0u
#define DOMAIN_FLAGS_AT	     4u
#define DOMAIN_IS_DYING	     (1u << 0)
#define DOMAIN_IS_SHUT_DOWN  (1u << 2)
#define DOMAIN_IS_PAUSED     (1u << 3)
#define DOMAIN_REASON(flags) ((flags) >> 16 & 0xff)
#define DOMAIN_BYTES	     4096u /* bytes for a description; no version needs that many */

/* A vCPU's description, struct xen_domctl_getvcpuinfo: three bytes, and the time that it ran, 64 bits. */
#define VCPU_ONLINE_AT	 4u
#define VCPU_BLOCKED_AT	 5u
#define VCPU_RUNNING_AT	 6u
#define VCPU_CPU_TIME_AT 8u
#define VCPU_BYTES	 64u /* bytes for a description; all versions need 24 */

#endif
