/* Tell files apart by their first bytes. */
#include "file-kind.h"

#include <stdbool.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/packet.h>
#include <mprof/runtime.h>

#include "array.h"

/* The offset of the version in a memtrace stream, 1 to 3. The first word is that of a packet of CTF. */
#define MEMTRACE_VERSION 28u
/* The second word of an eventlog of OCaml 4.14 and older, and of Multicore OCaml: a version of 16 bits, and stream 0. */
#define EVENTLOG	   0x1u
#define EVENTLOG_MULTICORE 0x100u

static const struct {
	const char *bytes;
	size_t n;
	const char *what;
} foreign[] = {
	{"SQLite format 3", 16, "an SQLite database; sqlite3 reads it"},
	{"\x7f"
	 "ELF",
	 4, "a program (ELF)"},
	{"\x10\x00\x04\x46\x78\x54\x16\x00", 8, "a Fuchsia trace; ui.perfetto.dev opens it"},
	{"<!DOCTYPE html", 14, "an HTML page; open it in a browser"},
	{"<svg", 4, "an SVG picture; open it in a browser"},
};

/* Return the offset of the first byte of HEAD from AT on that is no blank; LEN if there is none. */
static size_t behind_blanks(const uint8_t *head, size_t at, size_t len)
{
	while (at < len && memchr(" \t\r\n", head[at], 4))
		at++;
	return at;
}

/* Return whether the text at HEAD begins as JSON does: with an object, or with an array of objects. */
static bool is_json(const uint8_t *head, size_t len)
{
	size_t at = behind_blanks(head, 0, len);

	if (at < len && head[at] == '[')
		at = behind_blanks(head, at + 1, len);
	if (at == len || head[at] != '{')
		return false;
	at = behind_blanks(head, at + 1, len);
	return at < len && (head[at] == '"' || head[at] == '}');
}

static enum file_kind ctf_kind(const uint8_t *head, size_t len, const char **what)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;
	uint32_t word = len < 8 ? 0 : mprof_load32(head + 4);
	uint16_t version;

	if (word == EVENTLOG || word == EVENTLOG_MULTICORE) {
		*what = "an eventlog of OCaml 4, which mprofctl does not read";
		return FILE_KIND_FOREIGN;
	}
	if (len < MEMTRACE_VERSION + 2)
		return FILE_KIND_OTHER;
	if (memcmp(head + 4, uuid, sizeof(uuid)) == 0) {
		*what = "a trace; `mprofctl stats`, `dump`, `why` and others read it";
		return FILE_KIND_TRACE;
	}
	version = mprof_load16(head + MEMTRACE_VERSION);
	if (version < 1 || version > 3 || mprof_load32(head + 4) % 8)
		return FILE_KIND_OTHER;
	*what = "a memory profile; `mprofctl mem VERB` reads it";
	return FILE_KIND_PROFILE;
}

enum file_kind file_kind(const uint8_t *head, size_t len, const char **what)
{
	if (mprof_runtime_begins(head, len)) {
		*what = "a ring file of OCaml 5; `mprofctl stats`, `dump`, `why` and others read it";
		return FILE_KIND_TRACE;
	}
	if (len >= 4 && mprof_load32(head) == MPROF_PACKET_MAGIC)
		return ctf_kind(head, len, what);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		if (len >= foreign[i].n && memcmp(head, foreign[i].bytes, foreign[i].n) == 0) {
			*what = foreign[i].what;
			return FILE_KIND_FOREIGN;
		}
	if (!is_json(head, len))
		return FILE_KIND_OTHER;
	*what = "JSON, which mprofctl does not read";
	return FILE_KIND_FOREIGN;
}
