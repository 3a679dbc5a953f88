/*
 * A logger for Xen's libraries that prints nothing. By default a library prints every failure to
 * stderr. A guest can cause failures at will, for instance with bad grant references.
 */
#ifndef XEN_NULL_LOGGER_H
#define XEN_NULL_LOGGER_H

#include <stdarg.h>

/*
 * The layout of Xen's struct xentoollog_logger, for xenctrl.c and maptrack.c, which load libraries
 * without their headers.
 */
struct null_logger {
	void (*vmessage)(struct null_logger *logger, int level, int error, const char *context, const char *format,
			 va_list args);
	void (*progress)(struct null_logger *logger, const char *context, const char *what, int percent,
			 unsigned long done, unsigned long total);
	void (*destroy)(struct null_logger *logger);
};

extern const struct null_logger null_logger;

#endif
