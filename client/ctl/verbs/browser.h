/* Start a browser. */
#ifndef CTL_BROWSER_H
#define CTL_BROWSER_H

#include <stdbool.h>

/*
 * Show the file at the absolute PATH. Try the commands of $BROWSER, which are separated by colons,
 * then the desktop's. A command is a program and its arguments, separated by spaces; "%s" in them
 * stands for the file, otherwise the file comes last. No shell is involved. Return false if no
 * command could be started or the last one failed at once. Report nothing.
 */
bool browser_open(const char *path);

#endif
