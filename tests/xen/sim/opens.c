#undef _FILE_OFFSET_BITS /* open and open64 are two functions here */
#include "opens.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>

int open_really(const char *name, const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, ...) = NULL;

	*(void **)&next = dlsym(RTLD_NEXT, name);
	return next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return open_as("open64", path, flags, mode);
}
