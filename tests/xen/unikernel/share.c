/*
 * Share the ring with domain 0, as schema/xenstore.md says: grant its pages, write the keys, the commit
 * key last; withdraw the ring.
 */
#include "kernel.h"

#define REFS_MAX	  1023u /* one directory page */
#define REFS_IN_VALUE	  100u
#define REF_BYTES	  11u /* a number of 32 bits and a comma */
#define UNMAP_NS	  (100 * NS_PER_MS)
#define UNMAP_ATTEMPTS	  100u
#define KEY_REFS	  "data/mprof/ring-ref"
#define KEY_DIRECTORY	  "data/mprof/directory-ref"
#define KEY_EVENT_CHANNEL "data/mprof/event-channel"

static uint32_t refs[REFS_MAX + 1]; /* the ring's pages, and a 0 */
static uint32_t n_refs, directory_ref;
static const char *key;	 /* the commit key that is written */
static uint32_t channel; /* 0 = none */
static uint64_t kicked;	 /* number of the packet at the last notification */

static uint32_t grant(const void *page)
{
	uint32_t ref = page ? grant_page(page) : 0;

	if (!ref)
		panic("the grant table is full, or no page is left");
	return ref;
}

static void put(const char *path, const char *value)
{
	if (!store_write(path, value))
		say("XenStore refuses %s. The trace is not published.\n", path);
}

static void put_number(const char *path, uint32_t number)
{
	char text[REF_BYTES + 1];

	text_format(text, sizeof(text), "%u", (uint64_t)number);
	put(path, text);
}

static void put_refs(void)
{
	static char text[REFS_IN_VALUE * REF_BYTES + 1];
	size_t n = 0;

	for (uint32_t i = 0; i < n_refs; i++)
		n += text_format(text + n, sizeof(text) - n, "%s%u", i ? "," : "", (uint64_t)refs[i]);
	key = KEY_REFS;
	put(key, text);
}

static void put_directory(void)
{
	uint32_t *directory = memory_take(1);

	directory_ref = grant(directory);
	memcpy(directory, refs, sizeof(refs));
	key = KEY_DIRECTORY;
	put_number(key, directory_ref);
}

void share_publish(void *ring, uint32_t pages, bool by_directory)
{
	if (pages > REFS_MAX)
		panic("a ring has at most 1,023 pages");
	for (n_refs = 0; n_refs < pages; n_refs++)
		refs[n_refs] = grant((char *)ring + (size_t)n_refs * PAGE);
	channel = events_offer("mprof");
	put_number(KEY_EVENT_CHANNEL, channel);
	if (by_directory || pages > REFS_IN_VALUE)
		put_directory();
	else
		put_refs();
}

bool share_mapped(void)
{
	return grant_mapped(refs[0]);
}

bool share_withdraw(void)
{
	store_remove(key);
	trace_stop();
	for (unsigned i = 0; grant_mapped(refs[0]); i++) {
		if (i == UNMAP_ATTEMPTS)
			return false;
		thread_sleep(UNMAP_NS);
	}
	if (channel)
		events_close(channel);
	channel = 0;
	for (uint32_t i = 0; i < n_refs; i++)
		if (!grant_end(refs[i]))
			return false;
	return !directory_ref || grant_end(directory_ref);
}

void share_kick(uint64_t sequence)
{
	if (!channel || sequence == kicked)
		return;
	kicked = sequence;
	events_notify(channel);
}
