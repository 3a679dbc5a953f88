/* Names of functions and variables as the program's source has them. */
#ifndef RUN_DEMANGLE_H
#define RUN_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Write to TEXT (SIZE bytes) the name that stands for the symbol NAME: of C++ and Rust without types of parameters
 * and results, with `()` behind a function. A symbol that is not mangled, or for which the machine has no
 * demangler, stays as it is. FUNCTION: it is one, and gets `()` in each case.
 */
void demangle(const char *name, bool function, char *text, size_t size);

#endif
