/* The root directory of the process. */
#ifndef SHIM_ROOT_H
#define SHIM_ROOT_H

/* The process has another root: if the shim's library is not there, programs that it executes are not recorded. */
void root_changed(void);

#endif
