/* Show a file in a browser. */
#ifndef CTL_BROWSER_H
#define CTL_BROWSER_H

#include <stdbool.h>

/*
 * Show the file at the absolute PATH in a browser. Try each command of $BROWSER, which are
 * separated by colons, then the desktop's command. A command is a program and its arguments,
 * separated by spaces. "%s" in a command is replaced by the file; without "%s" the file is the last
 * argument. No shell is involved. Return false if no command could be started, or if the last one
 * failed at once. Print no message.
 */
bool browser_open(const char *path);

#endif
