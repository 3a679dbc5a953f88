/*
 * Traps, memory and texts.
 */
#include "kernel.h"

/* ---- traps ---- */

#define TRAPS	   (UPCALL_TRAP + 1)
#define PAGE_FAULT 14u

struct gate {
	uint16_t low, selector, kind, middle;
	uint32_t high, pad;
};

struct frame {
	uint64_t registers[15];
	uint64_t number, error, rip, cs, flags, rsp, ss;
};

struct table_register {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

extern const uint64_t trap_stubs[TRAPS];
static struct gate gates[TRAPS];

static void table_load(const void *table, uint16_t bytes)
{
	struct table_register value = {(uint16_t)(bytes - 1), (uintptr_t)table};

	__asm__ volatile("lidt %0" ::"m"(value));
}

void traps_init(void)
{
	for (unsigned i = 0; i < TRAPS; i++) {
		uint64_t stub = trap_stubs[i];

		/* An interrupt gate: the handler runs with interrupts disabled. */
		gates[i] = (struct gate){(uint16_t)stub, 8, 0x8e00, (uint16_t)(stub >> 16), (uint32_t)(stub >> 32), 0};
	}
	table_load(gates, sizeof(gates));
}

void trap(const struct frame *f);

void trap(const struct frame *f)
{
	char text[96];
	uint64_t address;

	if (f->number == UPCALL_TRAP) {
		events_upcall();
		return;
	}
	__asm__ volatile("mov %%cr2, %0" : "=r"(address));
	if (f->number == PAGE_FAULT)
		text_format(text, sizeof(text), "page fault at 0x%x, instruction at 0x%x", address, f->rip);
	else
		text_format(text, sizeof(text), "trap %u, error %u, instruction at 0x%x", f->number, f->error, f->rip);
	panic(text);
}

_Noreturn void panic(const char *text)
{
	static bool again;

	interrupts_off();
	/* A fault of the recorder or the console must not come here again. */
	if (!again) {
		again = true;
		trace_fail(text);
		say("panic: %s\n", text);
	}
	xen_end(END_CRASH);
}

_Noreturn void triple_fault(void)
{
	interrupts_off();
	table_load(NULL, 1);
	for (;;)
		__asm__ volatile("ud2");
}

/* ---- memory ---- */

extern char image_end[];
static uintptr_t memory_next, memory_end;

void memory_init(const struct start_info *start)
{
	const struct memory_range *ranges = (const struct memory_range *)(uintptr_t)start->memory_map;
	uintptr_t begin = (uintptr_t)image_end;

	for (uint32_t i = 0; i < start->memory_ranges; i++)
		if (ranges[i].type == MEMORY_RAM && begin >= ranges[i].address &&
		    begin < ranges[i].address + ranges[i].bytes)
			memory_end = ranges[i].address + ranges[i].bytes;
	/* The toolstack puts what it passes behind the image: START, the map and the command line, in a few pages. */
	memory_next = begin + 64 * PAGE;
}

void *memory_take(uint32_t n)
{
	uintptr_t taken = memory_next;

	if (memory_end < memory_next || n > (memory_end - memory_next) / PAGE)
		return NULL;
	memory_next += (uintptr_t)n * PAGE;
	return memset((void *)taken, 0, (size_t)n * PAGE);
}

/* ---- texts ---- */

void *memcpy(void *to, const void *from, size_t n)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
	return start;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (t <= f || t >= f + n)
		return memcpy(to, from, n);
	while (n-- > 0)
		t[n] = f[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
	return start;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

size_t strlen(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

bool text_equal(const char *a, const char *b)
{
	return strlen(a) == strlen(b) && !memcmp(a, b, strlen(a));
}

const char *text_after(const char *text, const char *prefix)
{
	while (*prefix)
		if (*text++ != *prefix++)
			return NULL;
	return text;
}

uint64_t text_number(const char *text)
{
	uint64_t n = 0;

	while (*text >= '0' && *text <= '9')
		n = n * 10 + (uint64_t)(*text++ - '0');
	return n;
}

static size_t number_put(char *buf, size_t size, size_t at, uint64_t number, unsigned base)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = "0123456789abcdef"[number % base];
	while (number /= base);
	while (n > 0 && at + 1 < size)
		buf[at++] = digits[--n];
	return at;
}

size_t text_vformat(char *buf, size_t size, const char *format, va_list values)
{
	size_t n = 0;

	for (; *format; format++) {
		if (*format != '%') {
			if (n + 1 < size)
				buf[n++] = *format;
			continue;
		}
		if (*++format == 's')
			for (const char *text = va_arg(values, const char *); *text && n + 1 < size; text++)
				buf[n++] = *text;
		else
			n = number_put(buf, size, n, va_arg(values, uint64_t), *format == 'x' ? 16 : 10);
	}
	buf[n] = 0;
	return n;
}

size_t text_format(char *buf, size_t size, const char *format, ...)
{
	va_list values;
	size_t n;

	va_start(values, format);
	n = text_vformat(buf, size, format, values);
	va_end(values);
	return n;
}
