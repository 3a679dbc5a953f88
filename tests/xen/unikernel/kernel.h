/*
 * The kernel: a file for each part below, in the order of this header. It has one processor, one address
 * space, and threads that run until they wait. Interrupts only tell of event channels, on the stack of
 * the thread that runs.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define NS_PER_MS 1000000ull

/* ---- machine.c: traps, memory, texts ---- */

#define UPCALL_TRAP 32u

void traps_init(void);

/* Disable interrupts; return whether they were enabled. Restore what that returned. */
static inline bool interrupts_off(void)
{
	uint64_t flags;

	__asm__ volatile("pushfq; pop %0; cli" : "=r"(flags)::"memory");
	return flags & 0x200;
}

static inline void interrupts_restore(bool on)
{
	if (on)
		__asm__ volatile("sti" ::: "memory");
}

/* Record that the running thread fails by TEXT, say so on the console, and crash. */
_Noreturn void panic(const char *text);

/* Fault three times at once: a processor without traps. */
_Noreturn void triple_fault(void);

/* Use the memory behind the kernel's image, as START says. */
void memory_init(const struct start_info *start);
/* Take N zeroed pages, for ever. Return NULL if there are not so many. */
void *memory_take(uint32_t n);

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *text);
bool text_equal(const char *a, const char *b);
/* Return what follows PREFIX in TEXT, or NULL. */
const char *text_after(const char *text, const char *prefix);
uint64_t text_number(const char *text);
/* Write a text of at most SIZE - 1 bytes to BUF and return its length. %s: text, %u: uint64_t, %x: the same, hexadecimal. */
size_t text_format(char *buf, size_t size, const char *format, ...);
size_t text_vformat(char *buf, size_t size, const char *format, va_list values);

/* ---- xen.c: hypercalls, event channels, the clock, grants, the end ---- */

/* Find Xen and connect to it. Return false where there is no Xen. */
bool xen_init(void);
/* Return the value of a parameter that Xen's toolstack has set. */
uint64_t xen_param(uint32_t index);

#define PORTS 64u /* event channels: one word of their bits */

/* Call HANDLER at each event of PORT, with interrupts disabled. NAME must stay valid. */
void events_handle(uint32_t port, const char *name, void (*handler)(void));
/* Return a new event channel that domain 0 may bind. */
uint32_t events_offer(const char *name);
void events_close(uint32_t port);
void events_notify(uint32_t port);
const char *events_name(uint32_t port);
/* The trap UPCALL_TRAP. */
void events_upcall(void);

/* Return the system time, ns since the host has booted. */
uint64_t clock_now(void);
/* Enable interrupts and wait for one, at most until DEADLINE (0 = for ever). Returns with interrupts disabled. */
void clock_wait(uint64_t deadline);

/* Let domain 0 read PAGE. Return the reference, or 0 if the table is full. */
uint32_t grant_page(const void *page);
bool grant_mapped(uint32_t ref);
/* End the grant. Return false if the page is mapped. */
bool grant_end(uint32_t ref);

/* Give the processor to other domains for a moment. */
void xen_yield(void);
_Noreturn void xen_end(enum end how);
/* Suspend. Return true if the same domain goes on. */
bool xen_suspend(void);
/* Let Xen end the guest in SECONDS. */
void xen_watchdog(uint32_t seconds);

/* ---- console.c ---- */

void console_init(void);
void say(const char *format, ...);
/* Wait, as a thread, until domain 0 has read everything. */
void console_drain(void);

/* ---- threads.c ---- */

#define THREADS 16u

struct semaphore;

struct thread {
	void *sp;
	const char *name;
	enum { THREAD_FREE, THREAD_READY, THREAD_BLOCKED } state;
	uint64_t deadline; /* ns; while BLOCKED; 0 = none */
	uint64_t since;	   /* order of the waiters of a semaphore */
	struct semaphore *waits;
	void (*function)(void *argument);
	void *argument;
};

struct semaphore {
	const char *name;
	uint32_t count;
	int64_t id; /* in the trace; 0 = none yet */
};

/* Make the running code a thread, "main". */
void threads_init(void);
/* Create a thread, which ends when FUNCTION returns. NAME must stay valid. Panics if there are THREADS. */
void thread_create(const char *name, void (*function)(void *argument), void *argument);
struct thread *thread_current(void);
void thread_sleep(uint64_t ns);

/*
 * Take a signal of SEM, or wait for it: with a label for the wait, until DEADLINE (0 = for ever). Return
 * false when the time is over. A signal goes to the thread that waits longest. An event's handler may call
 * semaphore_up().
 */
bool semaphore_down_until(struct semaphore *sem, uint64_t deadline, const char *label);
void semaphore_down(struct semaphore *sem);
void semaphore_up(struct semaphore *sem);

/* ---- store.c: XenStore ---- */

void store_init(void);
/* Paths are relative to the guest's node. Each call waits for the answer; false is XenStore's refusal. */
bool store_write(const char *path, const char *value);
bool store_read(const char *path, char *value, size_t size);
bool store_remove(const char *path);
bool store_watch(const char *path);
/* Wait until a watched path has changed, also if it did before the call. */
void store_wait(void);

/* ---- trace.c: the port of the recorder; share.c: its ring, published as schema/xenstore.md says ---- */

/* Record into a ring of so many pages and packets from now on. */
void trace_init(uint32_t pages, uint32_t packets);
void trace_thread_begin(const struct thread *thread);
void trace_thread_end(const struct thread *thread);
void trace_wait(struct semaphore *sem, const char *label, bool timed);
void trace_take(struct semaphore *sem);
void trace_up(struct semaphore *sem);
void trace_wake(const struct thread *thread);
/* The thread that runs is now THREAD; NULL: none, the processor is idle. */
void trace_switch(const struct thread *thread);
/* The handler of CHANNEL_PORT begins; return what to give to the end. */
int64_t trace_handler_begin(uint32_t channel_port);
void trace_handler_end(int64_t before);
void trace_fail(const char *text);
void trace_counter(const char *name, int64_t value);
void trace_should_resolve(void);
/* Record nothing more. */
void trace_stop(void);
void *trace_ring(void);

void share_publish(void *ring, uint32_t pages, bool directory);
/* Withdraw the ring, stop recording, and end the grants when domain 0 has unmapped it. Return false if it does not. */
bool share_withdraw(void);
bool share_mapped(void);
/* Tell domain 0 if a packet is complete: SEQUENCE, the number of the packet being filled, has grown. */
void share_kick(uint64_t sequence);

/* ---- main.c: the program ---- */

_Noreturn void kernel_main(const struct start_info *start);

#endif
