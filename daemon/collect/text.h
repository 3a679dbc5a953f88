/* Names from outside, made fit to be shown, logged and sent as JSON. */
#ifndef COLLECT_TEXT_H
#define COLLECT_TEXT_H

/* A heap copy of TEXT in which every byte that is not part of a printable UTF-8 character is written \xNN, and \ is \\.  NULL: no memory. */
char *text_printable(const char *text);

#endif
