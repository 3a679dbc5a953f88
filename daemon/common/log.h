/*
 * Logging: one line per event, to the journal under systemd, else to stderr.
 *
 * A message is a sentence, then optionally a colon and name=value pairs. A message that a guest, a
 * client or a file can cause at will uses a struct log_limit, so it cannot flood the log.
 *
 *  ERROR    the daemon cannot do its work
 *  WARNING  something was lost or refused
 *  INFO     for operators
 *  DEBUG    for developers (MPROFD_DEBUG=1)
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/*
 * MESSAGE_ID of the line "listening on ADDRESS", which a daemon logs for each address before it is ready. ADDRESS has
 * the port that the kernel chose, if the configuration says port 0; mprofd-http(8) and mprofd-sink(8) name the id.
 */
#define LOG_LISTENING_ID "9c5bf65866d0443697d9e3df73398936"

#define LOG_LIMIT_BURST	      10u
#define LOG_LIMIT_INTERVAL_NS 30000000000ull

/*
 * At most BURST lines in LOG_LIMIT_INTERVAL_NS. The first line of the next interval
 * reports the number of suppressed lines. A zeroed limit is ready. One thread owns a limit.
 */
struct log_limit {
	uint64_t window_began; /* begin of the current interval, CLOCK_MONOTONIC ns */
	uint32_t in_window;
	uint32_t held_back;
	uint32_t burst; /* 0 = LOG_LIMIT_BURST */
};

/*
 * Set the program's NAME, which must stay valid until the program ends, and read JOURNAL_STREAM and
 * MPROFD_DEBUG.
 */
void log_init(const char *name);

/*
 * Log one line. GUEST is the name of the guest concerned (NULL = none) and becomes the journal
 * field MPROF_GUEST. Bytes that are not printable appear as \xNN.
 */
__attribute__((format(printf, 3, 4))) void log_write(enum log_level level, const char *guest, const char *format, ...);

/*
 * Log one line with the journal field MESSAGE_ID, by which operators find messages of one kind: ID is
 * 32 hexadecimal digits.
 */
__attribute__((format(printf, 3, 4))) void log_write_id(enum log_level level, const char *id, const char *format, ...);

/*
 * As log_write_id() at level INFO, but to the journal alone: for a command whose stderr is a person's
 * terminal. Do nothing where no journal runs.
 */
__attribute__((format(printf, 2, 3))) void log_journal_id(const char *id, const char *format, ...);

/* Log one line unless LIMIT is used up. Return whether the line was written. */
__attribute__((format(printf, 4, 5))) bool log_write_limited(struct log_limit *limit, enum log_level level,
							     const char *guest, const char *format, ...);

#define log_error(...)	 log_write(LOG_LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, NULL, __VA_ARGS__)
#define log_info(...)	 log_write(LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...)	 log_write(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)

#endif
