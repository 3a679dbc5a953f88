/* See quiet.h. */
#include "quiet.h"

static void quiet_vmessage(struct quiet_logger *logger, int level, int error, const char *context, const char *format,
			   va_list args)
{
	(void)logger, (void)level, (void)error, (void)context, (void)format, (void)args;
}

static void quiet_progress(struct quiet_logger *logger, const char *context, const char *what, int percent,
			   unsigned long done, unsigned long total)
{
	(void)logger, (void)context, (void)what, (void)percent, (void)done, (void)total;
}

static void quiet_destroy(struct quiet_logger *logger)
{
	(void)logger;
}

const struct quiet_logger quiet_logger = {
	.vmessage = quiet_vmessage,
	.progress = quiet_progress,
	.destroy = quiet_destroy,
};
