#include "null-logger.h"

static void null_logger_message(struct null_logger *logger, int level, int error, const char *context,
				const char *format, va_list args)
{
	(void)logger, (void)level, (void)error, (void)context, (void)format, (void)args;
}

static void null_logger_progress(struct null_logger *logger, const char *context, const char *what, int percent,
				 unsigned long done, unsigned long total)
{
	(void)logger, (void)context, (void)what, (void)percent, (void)done, (void)total;
}

static void null_logger_destroy(struct null_logger *logger)
{
	(void)logger;
}

const struct null_logger null_logger = {
	.vmessage = null_logger_message,
	.progress = null_logger_progress,
	.destroy = null_logger_destroy,
};
