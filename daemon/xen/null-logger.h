/*
 * A logger for Xen's libraries that prints nothing. By default each library prints every failure to
 * stderr, for instance each map of a bad reference, which a guest can cause at will.
 */
#ifndef XEN_NULL_LOGGER_H
#define XEN_NULL_LOGGER_H

#include <stdarg.h>

/* Layout of Xen's struct xentoollog_logger, for a library that is loaded without its headers. */
struct null_logger {
	void (*vmessage)(struct null_logger *logger, int level, int error, const char *context, const char *format,
			 va_list args);
	void (*progress)(struct null_logger *logger, const char *context, const char *what, int percent,
			 unsigned long done, unsigned long total);
	void (*destroy)(struct null_logger *logger);
};

extern const struct null_logger null_logger;

#endif
