/* SPDX-License-Identifier: MIT */
/* The commands, in the files of cmd/. main() calls one of them, on brace's only thread, when the
 * command line has been parsed. Each returns brace's exit status: 0, EXIT_BRACE and its kin
 * (say.h) with a sentence on standard error, or what the traced program ended with (run_exit()).
 * *inv stays main()'s; a command may change it and frees nothing of it. */
#pragma once
#include "ui/invocation.h"

int cmd_record(struct invocation *inv);
int cmd_graph(struct invocation *inv);
int cmd_replay(struct invocation *inv);
int cmd_diff(struct invocation *inv);
int cmd_report(struct invocation *inv);
int cmd_query(struct invocation *inv);
int cmd_export(struct invocation *inv);
int cmd_html(struct invocation *inv);
int cmd_push(struct invocation *inv);
int cmd_fleet(struct invocation *inv);
int cmd_list(struct invocation *inv);
int cmd_config(struct invocation *inv);
int cmd_info(struct invocation *inv);
int cmd_import(struct invocation *inv);
int cmd_recover(struct invocation *inv);
int cmd_mount(struct invocation *inv);
int cmd_shell(struct invocation *inv);
int cmd_syscalls(struct invocation *inv);
int cmd_wakeup(struct invocation *inv);
int cmd_locks(struct invocation *inv);
int cmd_stack(struct invocation *inv);
int cmd_rv(struct invocation *inv);
int cmd_probe(struct invocation *inv);
int cmd_start(struct invocation *inv);
int cmd_stop(struct invocation *inv);
int cmd_restart(struct invocation *inv);
int cmd_show(struct invocation *inv);
int cmd_stream(struct invocation *inv);
int cmd_extract(struct invocation *inv);
int cmd_clear(struct invocation *inv);
int cmd_snapshot(struct invocation *inv);
int cmd_set(struct invocation *inv);
int cmd_stat(struct invocation *inv);
int cmd_reset(struct invocation *inv);
int cmd_sessions(struct invocation *inv);
int cmd_umount(struct invocation *inv);
int cmd_top(struct invocation *inv);
int cmd_noise(struct invocation *inv);
int cmd_tui(struct invocation *inv);
int cmd_hist(struct invocation *inv);
int cmd_sql(struct invocation *inv);
int cmd_latency(struct invocation *inv);
int cmd_follow(struct invocation *inv);
int cmd_help(struct invocation *inv);
int cmd_version(struct invocation *inv);
