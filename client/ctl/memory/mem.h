/*
 * The verbs of `mprofctl mem`: each is `int mem_<verb>(const struct ctl *ctl, int argc, char **argv)` as in ctl.h, argv[0] being "mem".
 */
#ifndef CTL_MEM_H
#define CTL_MEM_H

#include "ctl.h"

int mem_dump(const struct ctl *ctl, int argc, char **argv);
int mem_identify(const struct ctl *ctl, int argc, char **argv);
int mem_hotspots(const struct ctl *ctl, int argc, char **argv);
int mem_peak(const struct ctl *ctl, int argc, char **argv);
int mem_timeline(const struct ctl *ctl, int argc, char **argv);
int mem_flame(const struct ctl *ctl, int argc, char **argv);
int mem_leaks(const struct ctl *ctl, int argc, char **argv);
int mem_diff(const struct ctl *ctl, int argc, char **argv);
int mem_subsample(const struct ctl *ctl, int argc, char **argv);
int mem_export(const struct ctl *ctl, int argc, char **argv);
int mem_list(const struct ctl *ctl, int argc, char **argv);
int mem_start(const struct ctl *ctl, int argc, char **argv);
int mem_stop(const struct ctl *ctl, int argc, char **argv);

#endif
