/*
 * Hypercalls and what is made of them: event channels, the clock, grants, and the guest's end.
 */
#include "kernel.h"

/* Pages that Xen lays over these. */
static uint8_t hypercall_page[PAGE] __attribute__((aligned(PAGE)));
static union {
	struct shared_info info;
	uint8_t page[PAGE];
} shared __attribute__((aligned(PAGE)));

#define GRANT_PAGES 4u
#define GRANTS	    (GRANT_PAGES * PAGE / sizeof(struct grant))
static struct grant grants[GRANTS] __attribute__((aligned(PAGE)));

static bool found; /* Xen has filled the hypercall page */

static int64_t hypercall(unsigned call, uint64_t a, uint64_t b, uint64_t c)
{
	int64_t result;

	__asm__ volatile("call *%4"
			 : "=a"(result), "+D"(a), "+S"(b), "+d"(c)
			 : "r"(hypercall_page + (size_t)call * 32)
			 : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

static int64_t hypercall_at(unsigned call, unsigned operation, const void *argument)
{
	return hypercall(call, operation, (uintptr_t)argument, 0);
}

static void cpuid(uint32_t leaf, uint32_t out[4])
{
	__asm__ volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(0));
}

/* Let Xen write its entries into the hypercall page. Return false without Xen. */
static bool hypercalls_find(void)
{
	uint64_t page = (uintptr_t)hypercall_page;

	for (uint32_t leaf = XEN_CPUID; leaf < XEN_CPUID_END; leaf += XEN_CPUID_STEP) {
		uint32_t words[4];

		cpuid(leaf, words);
		if (memcmp(words + 1, "XenVMMXenVMM", 12) != 0)
			continue;
		cpuid(leaf + 2, words);
		__asm__ volatile("wrmsr" ::"c"(words[1]), "a"((uint32_t)page), "d"((uint32_t)(page >> 32)) : "memory");
		found = true;
		break;
	}
	return found;
}

static void lay(uint32_t space, uint64_t index, const void *page)
{
	struct add_to_physmap add = {DOMID_SELF, 0, space, index, (uintptr_t)page / PAGE};

	if (hypercall_at(CALL_MEMORY, MEMORY_ADD_TO_PHYSMAP, &add))
		panic("Xen does not map a page of its own");
}

uint64_t xen_param(uint32_t index)
{
	struct hvm_param param = {DOMID_SELF, 0, index, 0};

	if (hypercall_at(CALL_HVM, HVM_GET_PARAM, &param))
		panic("Xen does not tell a parameter");
	return param.value;
}

static void timer_event(void)
{
	/* The processor has woken up, and the scheduler compares the deadlines. */
}

bool xen_init(void)
{
	struct hvm_param callback = {DOMID_SELF, 0, PARAM_CALLBACK, CALLBACK_VECTOR | UPCALL_TRAP};
	struct bind_virq timer = {VIRQ_TIMER, 0, 0};

	if (!hypercalls_find())
		return false;
	lay(SPACE_SHARED_INFO, 0, &shared);
	for (unsigned i = 0; i < GRANT_PAGES; i++)
		lay(SPACE_GRANT_TABLE, i, grants + i * (PAGE / sizeof(struct grant)));
	memset((void *)shared.info.masked, 0xff, sizeof(shared.info.masked));
	if (hypercall_at(CALL_HVM, HVM_SET_PARAM, &callback))
		panic("Xen accepts no vector for its upcalls");
	hypercall(CALL_VCPU, VCPU_STOP_PERIODIC, 0, 0);
	if (hypercall_at(CALL_EVENTS, EVENTS_BIND_VIRQ, &timer))
		panic("Xen gives no timer");
	events_handle(timer.port, "timer", timer_event);
	return true;
}

/* ---- event channels ---- */

static struct {
	const char *name;
	void (*handler)(void);
} channels[PORTS];

void events_handle(uint32_t port, const char *name, void (*handler)(void))
{
	if (port >= PORTS)
		panic("Xen gave an event channel beyond those that this kernel has");
	channels[port].name = name;
	channels[port].handler = handler;
	if (handler)
		hypercall_at(CALL_EVENTS, EVENTS_UNMASK, &port);
}

uint32_t events_offer(const char *name)
{
	struct alloc_unbound offer = {DOMID_SELF, DOMID_0, 0};

	if (hypercall_at(CALL_EVENTS, EVENTS_ALLOC_UNBOUND, &offer))
		panic("Xen gives no event channel");
	events_handle(offer.port, name, NULL);
	return offer.port;
}

void events_close(uint32_t port)
{
	hypercall_at(CALL_EVENTS, EVENTS_CLOSE, &port);
}

void events_notify(uint32_t port)
{
	hypercall_at(CALL_EVENTS, EVENTS_SEND, &port);
}

const char *events_name(uint32_t port)
{
	return channels[port].name;
}

void events_upcall(void)
{
	struct vcpu_info *vcpu = &shared.info.vcpus[0];
	uint64_t news;

	/* Clear from the outside inwards: an event that comes meanwhile sets all three again. */
	vcpu->pending = 0;
	__atomic_exchange_n(&vcpu->selector, 0, __ATOMIC_SEQ_CST);
	while ((news = shared.info.pending[0] & ~shared.info.masked[0])) {
		uint32_t port = (uint32_t)__builtin_ctzll(news);
		int64_t before;

		__atomic_fetch_and(&shared.info.pending[0], ~(1ull << port), __ATOMIC_SEQ_CST);
		before = trace_handler_begin(port);
		channels[port].handler();
		trace_handler_end(before);
	}
}

/* ---- the clock ---- */

static uint64_t counter(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

uint64_t clock_now(void)
{
	return mprof_pvclock_read(&shared.info.vcpus[0].time, counter);
}

void clock_wait(uint64_t deadline)
{
	struct timer timer = {deadline, 0, 0};

	hypercall(CALL_VCPU, deadline ? VCPU_SET_TIMER : VCPU_STOP_TIMER, 0, (uintptr_t)&timer);
	/* No interrupt comes between the first two. */
	__asm__ volatile("sti; hlt; cli" ::: "memory");
}

/* ---- grants ---- */

uint32_t grant_page(const void *page)
{
	for (uint32_t ref = GRANT_FIRST; ref < GRANTS; ref++)
		if (!grants[ref].flags) {
			grants[ref].domid = DOMID_0;
			grants[ref].frame = (uint32_t)((uintptr_t)page / PAGE);
			__atomic_thread_fence(__ATOMIC_RELEASE);
			grants[ref].flags = GRANT_PERMIT | GRANT_READONLY;
			return ref;
		}
	return 0;
}

bool grant_mapped(uint32_t ref)
{
	return grants[ref].flags & GRANT_MAPPED;
}

bool grant_end(uint32_t ref)
{
	uint16_t unmapped = GRANT_PERMIT | GRANT_READONLY;

	/* Domain 0 may map the page at this moment. */
	return __atomic_compare_exchange_n(&grants[ref].flags, &unmapped, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* ---- the end ---- */

void xen_yield(void)
{
	hypercall(CALL_SCHED, SCHED_YIELD, 0, 0);
}

_Noreturn void xen_end(enum end how)
{
	uint32_t reason = how;

	if (!found)
		triple_fault();
	for (;;)
		hypercall_at(CALL_SCHED, SCHED_SHUTDOWN, &reason);
}

bool xen_suspend(void)
{
	uint32_t reason = END_SUSPEND;

	return hypercall_at(CALL_SCHED, SCHED_SHUTDOWN, &reason) == 1;
}

void xen_watchdog(uint32_t seconds)
{
	struct watchdog dog = {0, seconds};

	hypercall_at(CALL_SCHED, SCHED_WATCHDOG, &dog);
}
