/*
 * Assumptions about libxenctrl, which daemon/xen/xenctrl.c loads at run time: that the structures of the installed Xen begin as
 * xenctrl-layout.h says, and that its calls have the parameters that xenctrl.c passes. The library is loaded without a Xen.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <xenctrl.h>

#include "../../daemon/xen/xenctrl-layout.h" /* that folder has another xenctrl.h */
#include "assumption.h"

#ifndef SHIFTED
#define SHIFTED 0u /* bytes and bits by which a Xen of tomorrow might move things: meson builds a second program so */
#endif

#define FIELD_IS(type, field, at) CHECK_EQ_UINT(offsetof(type, field) + SHIFTED, at)

static void domain_layout(void)
{
	CHECK_EQ_UINT(offsetof(xc_domaininfo_t, domain), DOMAIN_ID_AT);
	CHECK_EQ_UINT(sizeof(((xc_domaininfo_t *)0)->domain), 2);
	FIELD_IS(xc_domaininfo_t, flags, DOMAIN_FLAGS_AT);
	CHECK_EQ_UINT(sizeof(((xc_domaininfo_t *)0)->flags), 4);
	CHECK(sizeof(xc_domaininfo_t) <= DOMAIN_BYTES);
}

static void domain_flags(void)
{
	CHECK_EQ_UINT((uint32_t)XEN_DOMINF_dying << SHIFTED, DOMAIN_IS_DYING);
	CHECK_EQ_UINT((uint32_t)XEN_DOMINF_shutdown << SHIFTED, DOMAIN_IS_SHUT_DOWN);
	CHECK_EQ_UINT((uint32_t)XEN_DOMINF_paused << SHIFTED, DOMAIN_IS_PAUSED);
	CHECK_EQ_UINT((UINT32_MAX >> XEN_DOMINF_shutdownshift) & XEN_DOMINF_shutdownmask, DOMAIN_REASON(UINT32_MAX));
	CHECK_EQ_UINT((UINT32_C(0x30000) >> XEN_DOMINF_shutdownshift) & XEN_DOMINF_shutdownmask,
		      DOMAIN_REASON(0x30000u));
}

static void vcpu_layout(void)
{
	FIELD_IS(xc_vcpuinfo_t, online, VCPU_ONLINE_AT);
	FIELD_IS(xc_vcpuinfo_t, blocked, VCPU_BLOCKED_AT);
	FIELD_IS(xc_vcpuinfo_t, running, VCPU_RUNNING_AT);
	FIELD_IS(xc_vcpuinfo_t, cpu_time, VCPU_CPU_TIME_AT);
	CHECK_EQ_UINT(sizeof(((xc_vcpuinfo_t *)0)->cpu_time), 8);
	CHECK(sizeof(xc_vcpuinfo_t) <= VCPU_BYTES);
}

/* The compiler compares the types with those in struct xenctrl. */
static void parameters(void)
{
	xc_interface *(*open)(xentoollog_logger *, xentoollog_logger *, unsigned) = xc_interface_open;
	int (*list)(xc_interface *, uint32_t, unsigned, xc_domaininfo_t *) = xc_domain_getinfolist;
	int (*vcpu)(xc_interface *, uint32_t, uint32_t, xc_vcpuinfo_t *) = xc_vcpu_getinfo;
	int (*close)(xc_interface *) = xc_interface_close;

	CHECK(open && list && vcpu && close);
}

/* Load the library by the name that xenctrl.c makes of the version, and open it without a Xen: NULL, and no exit. */
static void library_by_version(void)
{
	void *library = dlopen("libxenctrl.so." XEN_VERSION, RTLD_NOW | RTLD_LOCAL), *handle;
	void *(*open)(void *, void *, unsigned) = NULL;

	if (!CHECK(library)) {
		fprintf(stderr, "%s\n", dlerror());
		return;
	}
	*(void **)&open = dlsym(library, "xc_interface_open");
	CHECK(open && dlsym(library, "xc_domain_getinfolist") && dlsym(library, "xc_vcpu_getinfo") &&
	      dlsym(library, "xc_interface_close"));
	errno = 0;
	handle = open && access("/proc/xen/capabilities", F_OK) != 0 ? open(NULL, NULL, 0) : NULL;
	CHECK(!handle);
	dlclose(library);
}

int main(int argc, char **argv)
{
	static const struct assumption all[] = {
		{"xenctrl-domain-layout", domain_layout},
		{"xenctrl-domain-flags", domain_flags},
		{"xenctrl-vcpu-layout", vcpu_layout},
		{"xenctrl-parameters", parameters},
		{"xenctrl-library-by-version", library_by_version},
	};

	return assumptions_run(all, sizeof(all) / sizeof(*all), argc, argv);
}
