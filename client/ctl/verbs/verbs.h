/*
 * The verbs of mprofctl; mem.h has those of `mprofctl mem`. A verb is `int cmd_<verb>(const struct ctl *ctl, int argc, char **argv)`.
 * argv[0] is the verb's name, or the name of the verb in front of it. The return value is an exit code.
 */
#ifndef CTL_VERBS_H
#define CTL_VERBS_H

#include "ctl.h"

int cmd_domains(const struct ctl *ctl, int argc, char **argv);
int cmd_captures(const struct ctl *ctl, int argc, char **argv);
int cmd_show(const struct ctl *ctl, int argc, char **argv);
int cmd_fetch(const struct ctl *ctl, int argc, char **argv);
int cmd_snapshot(const struct ctl *ctl, int argc, char **argv);
int cmd_follow(const struct ctl *ctl, int argc, char **argv);
int cmd_stats(const struct ctl *ctl, int argc, char **argv);
int cmd_threads(const struct ctl *ctl, int argc, char **argv);
int cmd_complete(const struct ctl *ctl, int argc, char **argv);
int cmd_diff(const struct ctl *ctl, int argc, char **argv);
int cmd_view(const struct ctl *ctl, int argc, char **argv);
int cmd_sql(const struct ctl *ctl, int argc, char **argv);
int cmd_why(const struct ctl *ctl, int argc, char **argv);
int cmd_bundle(const struct ctl *ctl, int argc, char **argv);
int cmd_export(const struct ctl *ctl, int argc, char **argv);
int cmd_dump(const struct ctl *ctl, int argc, char **argv);
int token_new(const struct ctl *ctl, int argc, char **argv);
int token_list(const struct ctl *ctl, int argc, char **argv);
int token_revoke(const struct ctl *ctl, int argc, char **argv);
int cmd_hosts(const struct ctl *ctl, int argc, char **argv);
int cmd_fleet(const struct ctl *ctl, int argc, char **argv);

#endif
