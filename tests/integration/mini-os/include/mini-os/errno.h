/* Numbers of errors. */
#ifndef MINI_OS_ERRNO_H
#define MINI_OS_ERRNO_H

#include <errno.h>

#endif
