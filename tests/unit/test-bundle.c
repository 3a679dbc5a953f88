/* Bundles: the members of the tar, and the common time line of the guests. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bundle.h"
#include "check.h"

#define S UINT64_C(1000000000)

static void test_names(void)
{
	static const char *const given[] = {"web", "web", "../etc/passwd", ".hidden", "a b\n\xff", "host", "", "web-2"};
	static const char *const want[] = {"web.pftrace",     "web-2.pftrace",	"_._etc_passwd.pftrace",
					   "_hidden.pftrace", "a_b__.pftrace",	"host-2.pftrace",
					   "_.pftrace",	      "web-2-2.pftrace"};
	struct bundle b = {0};
	char *manifest;
	json_t *json;
	size_t i;

	for (i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		CHECK(bundle_add(&b, given[i], given[i], 1, 0));
	for (i = 0; i < b.n; i++) {
		CHECK_EQ_STR(b.list[i].path, want[i]);
		CHECK(b.list[i].path[0] != '.' && b.list[i].machine[0]);
	}
	bundle_align(&b);
	manifest = bundle_manifest(&b);
	CHECK(manifest && strncmp(manifest, "{\"perfetto_manifest\":{", 22) == 0);
	json = json_loads(manifest ? manifest : "", 0, NULL);
	CHECK_EQ_UINT(json_array_size(json_object_get(json_object_get(json, "perfetto_manifest"), "files")), 9);
	json_decref(json);
	free(manifest);
	bundle_deinit(&b);
}

/*
 * A member is too large for the size field of an old tar. It gets an extended header with its size.
 */
static void test_large(void)
{
	struct bundle b = {0};
	struct output out = {.fd = -1};
	struct bundle_member *m = bundle_add(&b, "large", "large", -1, -1);
	static char head[64 << 10];
	size_t n = 0;
	ssize_t got;
	int ends[2];

	if (!CHECK(m && pipe2(ends, O_NONBLOCK) == 0))
		return;
	out.fd = ends[1];
	m->bytes = (UINT64_C(8) << 30) + 1;
	m->fd = memfd_create("large", MFD_CLOEXEC);
	CHECK(m->fd >= 0 && ftruncate(m->fd, (off_t)m->bytes) == 0);
	bundle_align(&b);
	CHECK_EQ_INT(bundle_write(&b, &out), -EAGAIN);
	while (n < sizeof(head) && (got = read(ends[0], head + n, sizeof(head) - n)) > 0)
		n += (size_t)got;
	CHECK(memmem(head, n, "large.pftrace", 13));
	CHECK(memmem(head, n, "19 size=8589934593\n", 19));
	close(ends[0]);
	close(ends[1]);
	bundle_deinit(&b);
}

/* Add a guest whose clock showed GUEST ns when dom0's clocks showed MONO ns and REAL ns. */
static void add(struct bundle *b, uint64_t mono, uint64_t real, uint64_t guest)
{
	struct bundle_member *m = bundle_add(b, "guest", "guest", 1, 0);

	CHECK(m);
	m->clocks.latest = (struct mprof_stamp){.mono = mono, .real = real};
	m->clocks.stamps = 1;
	mprof_clock_before(&m->clocks.mono, guest, mono);
	mprof_clock_before(&m->clocks.real, guest, real);
}

/*
 * While the difference of dom0's clocks is the same for all guests, the time line is the monotonic
 * clock. Otherwise dom0 has rebooted, and the time line is the wall clock.
 */
static void test_line(void)
{
	struct bundle b = {0};

	add(&b, 1000 * S, 5000 * S, 7 * S);
	add(&b, 1100 * S, 5100 * S + S / 2, 50 * S);
	CHECK(bundle_add(&b, "file", "file", -1, -1));
	bundle_align(&b);
	CHECK(!b.realtime && b.list[0].known && b.list[1].known && !b.list[2].known);
	CHECK_EQ_INT(b.list[0].offset_ns, 993 * (int64_t)S);
	CHECK_EQ_INT(b.list[1].offset_ns, 1050 * (int64_t)S);
	CHECK_EQ_INT(b.list[2].offset_ns, 0);
	bundle_deinit(&b);
	add(&b, 1000 * S, 5000 * S, 7 * S);
	add(&b, 20 * S, 6000 * S, 50 * S);
	bundle_align(&b);
	CHECK(b.realtime);
	CHECK_EQ_INT(b.list[0].offset_ns, 4993 * (int64_t)S);
	CHECK_EQ_INT(b.list[1].offset_ns, 5950 * (int64_t)S);
	bundle_deinit(&b);
}

int main(void)
{
	CHECK_RUN(test_names);
	CHECK_RUN(test_large);
	CHECK_RUN(test_line);
	return check_done();
}
