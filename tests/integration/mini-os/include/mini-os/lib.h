/* The functions of C, and the console. */
#ifndef MINI_OS_LIB_H
#define MINI_OS_LIB_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define printk printf

#endif
