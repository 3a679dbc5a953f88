/*
 * Arrays that grow, on the heap or in an address range of their own, also if the system refuses
 * addresses or memory.
 */
#include <sys/mman.h>

#include "check.h"
#include "grow.h"

struct item {
	uint64_t a, b, c;
};

static unsigned refused_mmap, refused_mprotect; /* number of calls to refuse from now on */

/* With large-file support, mmap() is called mmap64. On 64-bit machines both are the same. */
void *__real_mmap64(void *p, size_t bytes, int protection, int flags, int fd, int64_t offset);
void *__wrap_mmap64(void *p, size_t bytes, int protection, int flags, int fd, int64_t offset);
int __real_mprotect(void *p, size_t bytes, int protection);
int __wrap_mprotect(void *p, size_t bytes, int protection);

void *__wrap_mmap64(void *p, size_t bytes, int protection, int flags, int fd, int64_t offset)
{
	if (!refused_mmap)
		return __real_mmap64(p, bytes, protection, flags, fd, offset);
	refused_mmap--;
	return MAP_FAILED;
}

int __wrap_mprotect(void *p, size_t bytes, int protection)
{
	if (!refused_mprotect)
		return __real_mprotect(p, bytes, protection);
	refused_mprotect--;
	return -1;
}

static struct item *item_at(const struct grow *g, uint32_t i)
{
	return (struct item *)g->items + i;
}

static void check_items(const struct grow *g, uint32_t n)
{
	uint32_t i, wrong = 0;

	CHECK_EQ_UINT(g->n, n);
	CHECK(g->room >= n);
	for (i = 0; i < n; i++)
		wrong += item_at(g, i)->a != i || item_at(g, i)->c != ~(uint64_t)i;
	CHECK_EQ_UINT(wrong, 0);
}

static void add(struct grow *g, uint32_t n)
{
	struct item *item;

	while (g->n < n) {
		item = grow_add(g, sizeof(*item));
		if (!CHECK(item != NULL))
			return;
		*item = (struct item){g->n - 1, 0, ~(uint64_t)(g->n - 1)};
	}
}

static void grow_and_trim(bool large)
{
	const uint32_t n = 3 * LARGE_MIN / sizeof(struct item);
	struct grow g = {0};

	add(&g, n);
	check_items(&g, n);
	CHECK_EQ_INT(g.held != 0, large);
	CHECK(g.room < n + n / 3);
	g.n = n / 4;
	grow_trim(&g, sizeof(struct item));
	CHECK(g.room < n / 2);
	check_items(&g, n / 4);
	add(&g, n);
	check_items(&g, n);
	grow_deinit(&g);
	CHECK(!g.items && !g.n && !g.room);
}

static void test_large(void)
{
	grow_and_trim(SIZE_MAX > UINT32_MAX);
}

/* If the system gives no address range, the array uses the heap. */
static void test_no_addresses(void)
{
	refused_mmap = 1000000;
	grow_and_trim(false);
	refused_mmap = 0;
}

/*
 * If the system gives no memory for the addresses, the array stays as it is, and the call can be
 * repeated.
 */
static void test_no_memory(void)
{
	const uint32_t n = 2 * LARGE_MIN / sizeof(struct item);
	struct grow g = {0};
	uint32_t room;

	add(&g, n);
	if (g.held) {
		room = g.room;
		refused_mprotect = 1;
		CHECK(!grow_reserve(&g, sizeof(struct item), room));
		CHECK_EQ_UINT(g.room, room);
		check_items(&g, n);
	}
	CHECK(grow_reserve(&g, sizeof(struct item), n));
	add(&g, 2 * n);
	check_items(&g, 2 * n);
	CHECK(!grow_reserve(&g, sizeof(struct item), UINT32_MAX - 2 * n));
	grow_deinit(&g);
}

static void test_zeroed(void)
{
	static const uint32_t sizes[] = {0, 1, 1000, 1000000};
	struct grow g = {0};
	uint64_t sum = 0;
	size_t k;
	uint32_t i;

	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		CHECK(grow_zeroed(&g, sizeof(uint64_t), sizes[k]));
		CHECK_EQ_UINT(g.n, sizes[k]);
		for (i = 0; i < g.n; i++)
			sum += ((uint64_t *)g.items)[i];
		grow_deinit(&g);
	}
	CHECK_EQ_UINT(sum, 0);
}

/*
 * grow_pass hands the memory of a large array to another array. The memory of a small array is
 * freed.
 */
static void test_pass(void)
{
	const uint32_t n = 2 * LARGE_MIN / sizeof(struct item);
	struct grow from = {0}, to = {0};
	uint64_t sum = 0;
	void *items;
	uint32_t i;

	add(&from, n);
	items = from.items;
	grow_pass(&from, &to, sizeof(uint64_t));
	CHECK(!from.items && !from.n && !from.room && !to.n);
	if (to.held) {
		CHECK(to.items == items && to.room >= n * sizeof(struct item) / sizeof(uint64_t));
		CHECK(grow_zeroed(&to, sizeof(uint64_t), 3 * n));
		for (i = 0; i < to.n; i++)
			sum += ((uint64_t *)to.items)[i];
		CHECK_EQ_UINT(sum, 0);
	}
	grow_deinit(&to);
	add(&from, 10);
	grow_pass(&from, &to, sizeof(uint64_t));
	CHECK(!from.items && !to.items);
}

int main(void)
{
	CHECK_RUN(test_large);
	CHECK_RUN(test_no_addresses);
	CHECK_RUN(test_no_memory);
	CHECK_RUN(test_zeroed);
	CHECK_RUN(test_pass);
	return check_done();
}
