/*
 * Logging.
 *
 * The only state is the program's name and the log's destination. log_init() sets both before any
 * thread starts; afterwards they are only read. log_vwrite() builds a whole line and writes it with
 * one call, so lines of two threads do not mix. Only printable ASCII reaches a terminal or the
 * journal, because names come from guests, and a terminal obeys control characters.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "clock.h"
#include "log.h"

#define LINE_BYTES  2048u
#define GUEST_BYTES 512u

static struct {
	const char *name;
	bool journal; /* stderr is the journal: send messages by the journal's own protocol, which has fields */
	bool debug;
} log_state = {.name = "mprof"};

/*
 * Return whether stderr is the journal. JOURNAL_STREAM has the device and inode that systemd gave
 * to stderr, so it does not match if stderr was redirected since.
 */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void log_init(const char *name)
{
	const char *debug = getenv("MPROFD_DEBUG");

	log_state.name = name;
	log_state.journal = stderr_is_journal();
	log_state.debug = debug && strcmp(debug, "1") == 0;
}

/*
 * Copy TEXT to OUT (SIZE bytes) and write each byte that is not printable as \xNN. A text that does
 * not fit is cut.
 */
static void make_printable(char *out, size_t size, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && c < 0x7f) {
			if (at + 1 >= size)
				break;
			out[at++] = (char)c;
		} else {
			if (at + 4 >= size)
				break;
			out[at++] = '\\';
			out[at++] = 'x';
			out[at++] = hex[c >> 4];
			out[at++] = hex[c & 15];
		}
	}
	out[at] = '\0';
}

static struct iovec field(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static struct iovec field(char *out, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out, size, format, args);
	va_end(args);
	if (n < 0)
		n = 0;
	return (struct iovec){.iov_base = out, .iov_len = (size_t)n < size ? (size_t)n : size - 1};
}

static bool write_journal(enum log_level level, const char *guest, const char *id, const char *message)
{
	char text[LINE_BYTES + GUEST_BYTES + 16], priority[16], identifier[64], name[GUEST_BYTES + 16], kind[64];
	struct iovec v[5];
	int n = 0;

	if (guest)
		v[n++] = field(text, sizeof(text), "MESSAGE=%s: %s", guest, message);
	else
		v[n++] = field(text, sizeof(text), "MESSAGE=%s", message);
	v[n++] = field(priority, sizeof(priority), "PRIORITY=%d", (int)level);
	v[n++] = field(identifier, sizeof(identifier), "SYSLOG_IDENTIFIER=%s", log_state.name);
	if (guest)
		v[n++] = field(name, sizeof(name), "MPROF_GUEST=%s", guest);
	if (id)
		v[n++] = field(kind, sizeof(kind), "MESSAGE_ID=%s", id);
	return sd_journal_sendv(v, n) >= 0;
}

static const char *level_text(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return "error: ";
	case LOG_LEVEL_WARNING:
		return "warning: ";
	case LOG_LEVEL_DEBUG:
		return "debug: ";
	case LOG_LEVEL_INFO:
		break;
	}
	return "";
}

static void write_stderr(enum log_level level, const char *guest, const char *message)
{
	char line[LINE_BYTES + GUEST_BYTES + 128], prefix[8] = "";
	struct iovec v;

	/* The journal's socket refused the message; on its stream a prefix gives the priority. */
	if (log_state.journal)
		snprintf(prefix, sizeof(prefix), "<%d>", (int)level);
	v = field(line, sizeof(line), "%s%s: %s%s%s%s\n", prefix, log_state.name, level_text(level), guest ? guest : "",
		  guest ? ": " : "", message);
	/* An error of this write cannot be reported anywhere. */
	while (write(STDERR_FILENO, v.iov_base, v.iov_len) < 0 && errno == EINTR)
		;
}

/*
 * Make the printable text of FORMAT in MESSAGE. The last bytes stay free for a remark behind it.
 * Return its length.
 */
__attribute__((format(printf, 2, 0))) static size_t format_message(char message[LINE_BYTES], const char *format,
								   va_list args)
{
	char raw[LINE_BYTES - 64];

	if (vsnprintf(raw, sizeof(raw), format, args) < 0)
		raw[0] = '\0';
	make_printable(message, LINE_BYTES - 64, raw);
	return strlen(message);
}

__attribute__((format(printf, 5, 0))) static void log_vwrite(enum log_level level, const char *guest, const char *id,
							     uint32_t held_back, const char *format, va_list args)
{
	char message[LINE_BYTES], name[GUEST_BYTES];
	int saved = errno; /* callers may log between a failed call and their use of errno */
	size_t len;

	if (level == LOG_LEVEL_DEBUG && !log_state.debug)
		return;
	len = format_message(message, format, args);
	if (held_back)
		snprintf(message + len, sizeof(message) - len, " (%u similar held back)", held_back);
	if (guest) {
		make_printable(name, sizeof(name), guest);
		guest = name;
	}
	if (!log_state.journal || !write_journal(level, guest, id, message))
		write_stderr(level, guest, message);
	errno = saved;
}

void log_write(enum log_level level, const char *guest, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vwrite(level, guest, NULL, 0, format, args);
	va_end(args);
}

void log_write_id(enum log_level level, const char *id, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vwrite(level, NULL, id, 0, format, args);
	va_end(args);
}

void log_journal_id(const char *id, const char *format, ...)
{
	char message[LINE_BYTES];
	va_list args;

	va_start(args, format);
	format_message(message, format, args);
	va_end(args);
	write_journal(LOG_LEVEL_INFO, NULL, id, message);
}

/*
 * Return whether LIMIT admits one more line. The first line of a new interval gets in *HELD_BACK
 * the number of lines that were suppressed before.
 */
static bool limit_take(struct log_limit *limit, uint64_t now, uint32_t *held_back)
{
	if (limit->window_began == 0 || now - limit->window_began >= LOG_LIMIT_INTERVAL_NS) {
		limit->window_began = now;
		limit->in_window = 0;
	}
	if (limit->in_window >= (limit->burst ? limit->burst : LOG_LIMIT_BURST)) {
		if (limit->held_back < UINT32_MAX)
			limit->held_back++;
		return false;
	}
	limit->in_window++;
	*held_back = limit->held_back;
	limit->held_back = 0;
	return true;
}

bool log_write_limited(struct log_limit *limit, enum log_level level, const char *guest, const char *format, ...)
{
	uint32_t held_back;
	va_list args;

	if (level == LOG_LEVEL_DEBUG && !log_state.debug)
		return false;
	if (!limit_take(limit, clock_mono(), &held_back))
		return false;
	va_start(args, format);
	log_vwrite(level, guest, NULL, held_back, format, args);
	va_end(args);
	return true;
}
