/* A person's browser. */
#ifndef CTL_BROWSER_H
#define CTL_BROWSER_H

#include <stdbool.h>

/*
 * Show the file at PATH, which is absolute: by the commands that $BROWSER names, separated by colons, or by what the desktop has.  A command is a program
 * and its arguments, separated by spaces, "%s" in them standing for the file, which else comes last; no shell looks at it.  False where none could be
 * started, or the last one ended at once with a failure; nothing is said.
 */
bool browser_open(const char *path);

#endif
