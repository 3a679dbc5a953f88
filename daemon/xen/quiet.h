/*
 * A logger for Xen's libraries that says nothing: by default each of them prints to stderr what failed, as each map of a bad reference,
 * which a guest can cause at will.
 */
#ifndef COLLECT_QUIET_H
#define COLLECT_QUIET_H

#include <stdarg.h>

/* As Xen's struct xentoollog_logger is laid out, for those who load a library without its headers. */
struct quiet_logger {
	void (*vmessage)(struct quiet_logger *logger, int level, int error, const char *context, const char *format,
			 va_list args);
	void (*progress)(struct quiet_logger *logger, const char *context, const char *what, int percent,
			 unsigned long done, unsigned long total);
	void (*destroy)(struct quiet_logger *logger);
};

extern const struct quiet_logger quiet_logger;

#endif
