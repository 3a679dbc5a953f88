/*
 * Find the boundaries of packets. schema/memtrace.md has the layout. All integers are
 * little-endian.
 */
#include "framing.h"

#include <string.h>

#include <mprof/bytes.h>

#define VERSION_AT   28u
#define VERSION_MAX  3u
#define HEADER_BYTES 66u /* bytes of a header of versions 1 and 2; version 3 has two more */

static const uint8_t magic[4] = {0xc1, 0x1f, 0xfc, 0xc1};

static size_t header_bytes(uint32_t version)
{
	return version < 3 ? HEADER_BYTES : FRAMING_HEADER_BYTES;
}

/*
 * Set *BYTES to the size of the packet at DATA, of which LEN bytes were received; 0 = not known
 * yet. Return false if it is no packet of this stream.
 */
static bool packet_bytes(struct framing *f, const uint8_t *data, size_t len, size_t *bytes)
{
	uint32_t bits, version;

	*bytes = 0;
	if (memcmp(data, magic, len < sizeof(magic) ? len : sizeof(magic)) != 0)
		return false;
	if (len < 8)
		return true;
	bits = mprof_load32(data + 4);
	if (bits % 8 != 0 || bits / 8 < HEADER_BYTES || bits / 8 > FRAMING_PACKET_MAX)
		return false;
	if (len < VERSION_AT + 2)
		return true;
	version = mprof_load16(data + VERSION_AT);
	if (version == 0 || version > VERSION_MAX || (f->version && f->version != version) ||
	    bits / 8 < header_bytes(version))
		return false;
	f->version = version;
	*bytes = bits / 8;
	return true;
}

bool framing_whole(struct framing *f, const uint8_t *data, size_t len, size_t *whole)
{
	size_t bytes;

	for (*whole = 0; *whole < len; *whole += bytes, f->packets++) {
		if (!packet_bytes(f, data + *whole, len - *whole, &bytes))
			return false;
		if (bytes == 0 || bytes > len - *whole)
			break;
	}
	return true;
}

/*
 * Copy the string at offset *AT of DATA to OUT, cut to FRAMING_LABEL_MAX bytes, and move *AT behind
 * its NUL. Return false if it has no NUL within LEN bytes.
 */
static bool take_label(const uint8_t *data, size_t len, size_t *at, char *out)
{
	const uint8_t *end = *at < len ? memchr(data + *at, 0, len - *at) : NULL;
	size_t n;

	if (!end)
		return false;
	n = (size_t)(end - data) - *at;
	if (out) {
		size_t kept = n < FRAMING_LABEL_MAX ? n : FRAMING_LABEL_MAX;

		memcpy(out, data + *at, kept);
		out[kept] = '\0';
	}
	*at += n + 1;
	return true;
}

bool framing_info(const uint8_t *data, size_t len, struct framing_info *info)
{
	size_t at;
	uint64_t bits;

	*info = (struct framing_info){0};
	if (len < HEADER_BYTES)
		return false;
	info->version = mprof_load16(data + VERSION_AT);
	if (mprof_load32(data + 4) / 8 < len)
		len = mprof_load32(data + 4) / 8; /* other packets follow this one */
	at = header_bytes(info->version);
	/* The packet begins with an event word whose id is 0, the rate, and the word size. */
	if (len < at + 4 + 8 + 1 || mprof_load32(data + at) >> 25 != 0)
		return false;
	bits = mprof_load64(data + at + 4);
	memcpy(&info->rate, &bits, sizeof(info->rate));
	if (!(info->rate > 0 && info->rate <= 1) || (data[at + 12] != 32 && data[at + 12] != 64))
		return false;
	at += 13;
	if (!take_label(data, len, &at, info->program) || !take_label(data, len, &at, info->host) ||
	    !take_label(data, len, &at, NULL) || len - at < 8)
		return false;
	info->pid = (int64_t)mprof_load64(data + at);
	info->has_pid = info->pid != -1; /* a unikernel has no process id */
	at += 8;
	return info->version < 2 || take_label(data, len, &at, info->context);
}
