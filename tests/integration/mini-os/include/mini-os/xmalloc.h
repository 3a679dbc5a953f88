/* Memory. */
#ifndef MINI_OS_XMALLOC_H
#define MINI_OS_XMALLOC_H

#include <stdlib.h>

#endif
