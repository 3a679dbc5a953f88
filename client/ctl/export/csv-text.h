/*
 * A text as a cell of comma-separated values (RFC 4180).
 *
 * Spreadsheets take a cell that begins with =, +, - or @ for a formula and run it. So a guest could
 * attack a person who opens a file with the guest's labels. An apostrophe is therefore written in
 * front of such a text. An apostrophe is also written in front of a text that begins with an
 * apostrophe. So a reader gets the recorded texts by removing one apostrophe from each text that
 * begins with an apostrophe.
 */
#ifndef CTL_CSV_TEXT_H
#define CTL_CSV_TEXT_H

#include <stddef.h>

#include "output-writer.h"

/* Write the LEN bytes at TEXT to W, in quotes. A byte that is not UTF-8 becomes U+FFFD. */
void csv_text_put(struct writer *w, const char *text, size_t len);

#endif
