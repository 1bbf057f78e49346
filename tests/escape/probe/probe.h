/* probe - a program that is run as a kernel and says on stdout what it found in its jail.
 * `probe NAME ARGUMENT...`; one row per name in main.c. */
#pragma once

/* Each returns the exit status; argv[0] is its name, argv ends in NULL. */
int probe_bind(char **argv);
int probe_print(char **argv);
int probe_wait(char **argv);
int probe_look(char **argv);
int probe_write(char **argv);
int probe_read(char **argv);
int probe_list(char **argv);
int probe_mounts(char **argv);
int probe_fill(char **argv);
int probe_link(char **argv);
int probe_status(char **argv);
int probe_env(char **argv);
int probe_fds(char **argv);
int probe_self(char **argv);
int probe_limits(char **argv);
int probe_connect(char **argv);
int probe_interfaces(char **argv);
int probe_loopback(char **argv);
int probe_daemon(char **argv);
int probe_attack1(char **argv);
int probe_fork(char **argv);
int probe_open(char **argv);
int probe_shm(char **argv);
int probe_calls(char **argv);
int probe_work(char **argv);
int probe_odd(char **argv);
int probe_rename(char **argv);
int probe_busy(char **argv);
int probe_told(char **argv);
int probe_memory(char **argv);
int probe_child(char **argv);
int probe_bomb(char **argv);
