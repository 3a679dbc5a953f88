/*
 * The rows of run-twin: a function, then a call of it that need not wait, one that fails, and one that waits until a
 * signal comes; each is an expression of `long`, or NONE. A function may have further rows, `NAME_2`…
 */
#ifndef RUN_TWIN_ROWS_H
#define RUN_TWIN_ROWS_H

#define ROWS(X)                                                                                                        \
	X(_exit, ended(_exit), NONE, NONE)                                                                             \
	X(_Exit, ended(_Exit), NONE, NONE)                                                                             \
	X(quick_exit, ended(quick_exit), NONE, NONE)                                                                   \
	X(vfork, vforked(), NONE, NONE)                                                                                \
	X(accept, is_descriptor(accept(listening, NULL, NULL)), accept(-1, NULL, NULL),                                \
	  (accept(listening, NULL, NULL), accept(listening, NULL, NULL)))                                              \
	X(accept4, is_descriptor(accept4(listening, NULL, NULL, SOCK_NONBLOCK)), accept4(listening, NULL, NULL, -1),   \
	  (accept4(listening, NULL, NULL, 0), accept4(listening, NULL, NULL, 0)))                                      \
	X(connect, dialled(), connect(listening, (const struct sockaddr *)&address, 0), NONE)                          \
	X(close, close(file), close(-1), NONE)                                                                         \
	X(dup2, is_descriptor(dup2(side[0], 50)), dup2(-1, 50), NONE)                                                  \
	X(dup3, is_descriptor(dup3(side[0], 50, O_CLOEXEC)), dup3(side[0], side[0], 0), NONE)                          \
	X(close_range, closed_range(), close_range(9, 8, 0), NONE)                                                     \
	X(closefrom, (closefrom(60), 0), NONE, NONE)                                                                   \
	X(creat, is_descriptor(creat("/dev/null", 0600)), creat("/dev/null/x", 0600), NONE)                            \
	X(creat64, is_descriptor(creat64("/dev/null", 0600)), creat64("/dev/null/x", 0600), NONE)                      \
	X(dup, is_descriptor(dup(side[0])), dup(-1), NONE)                                                             \
	X(epoll_create, is_descriptor(epoll_create(1)), epoll_create(0), NONE)                                         \
	X(epoll_create1, is_descriptor(epoll_create1(EPOLL_CLOEXEC)), epoll_create1(1), NONE)                          \
	X(epoll_ctl, epoll_ctl(epoll_ready, EPOLL_CTL_DEL, side[0], NULL),                                             \
	  epoll_ctl(epoll_ready, EPOLL_CTL_DEL, side[1], NULL), NONE)                                                  \
	X(eventfd, is_descriptor(eventfd(1, EFD_CLOEXEC)), eventfd(1, -1), NONE)                                       \
	X(eventfd_read, eventfd_read(eventfd(3, 0), &count) * 10 + (long)count, eventfd_read(-1, &count),              \
	  eventfd_read(eventfd(0, 0), &count))                                                                         \
	X(eventfd_write, eventfd_write(eventfd(3, 0), 1), eventfd_write(-1, 1), eventfd_write(full_eventfd(), 2))      \
	X(fclose, fclose(fdopen(dup(file), "r")), NONE, NONE)                                                          \
	X(freopen, freopened(freopen), freopen("/dev/null/x", "r", fdopen(dup(file), "r")) ? 1 : 0, NONE)              \
	X(freopen64, freopened(freopen64), freopen64("/dev/null/x", "r", fdopen(dup(file), "r")) ? 1 : 0, NONE)        \
	X(closedir, closedir(opendir("/")), closedir(no_directory), NONE)                                              \
	X(inotify_init, is_descriptor(inotify_init()), NONE, NONE)                                                     \
	X(inotify_init1, is_descriptor(inotify_init1(0)), inotify_init1(1), NONE)                                      \
	X(memfd_create, is_descriptor(memfd_create("twin", 0)), memfd_create("twin", 0xffff), NONE)                    \
	X(open, is_descriptor(open("/dev/null", O_RDONLY)), open("/dev/null/x", O_CREAT | O_RDONLY, 0600), NONE)       \
	X(open64, is_descriptor(open64("/dev/null", O_RDONLY)), open64("/dev/null/x", O_RDONLY), NONE)                 \
	X(openat, is_descriptor(openat(AT_FDCWD, "/dev/null", O_RDONLY)), openat(-1, "x", O_RDONLY), NONE)             \
	X(openat64, is_descriptor(openat64(AT_FDCWD, "/dev/null", O_RDONLY)), openat64(-1, "x", O_RDONLY), NONE)       \
	X(open_2, file_mode(open("twin-mode", O_CREAT | O_WRONLY, 0640)), NONE, NONE)                                  \
	X(openat_2, file_mode(openat(AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 0640)), NONE, NONE)                          \
	X(__open_2, is_descriptor(__open_2("/dev/null", O_RDONLY)), __open_2("/dev/null/x", O_RDONLY), NONE)           \
	X(__open64_2, is_descriptor(__open64_2("/dev/null", O_RDONLY)), __open64_2("/dev/null/x", O_RDONLY), NONE)     \
	X(__openat_2, is_descriptor(__openat_2(AT_FDCWD, "/dev/null", O_RDONLY)), __openat_2(-1, "x", O_RDONLY), NONE) \
	X(__openat64_2, is_descriptor(__openat64_2(AT_FDCWD, "/dev/null", O_RDONLY)), __openat64_2(-1, "x", O_RDONLY), \
	  NONE)                                                                                                        \
	X(pclose, pclosed(), NONE, NONE)                                                                               \
	X(pipe, pipe(made), pipe(no_pair), NONE)                                                                       \
	X(pipe2, pipe2(made, O_NONBLOCK), pipe2(made, -1), NONE)                                                       \
	X(posix_openpt, is_descriptor(posix_openpt(O_RDWR)), NONE, NONE)                                               \
	X(signalfd, is_descriptor(signalfd(-1, &second, 0)), signalfd(-1, &second, -1), NONE)                          \
	X(socket, is_descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)), socket(-1, -1, -1), NONE)            \
	X(socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, made), socketpair(AF_INET, SOCK_STREAM, 0, made), NONE)      \
	X(timerfd_create, is_descriptor(timerfd_create(CLOCK_MONOTONIC, 0)), timerfd_create(-1, 0), NONE)              \
	X(chroot, chroot("/"), chroot("/dev/null"), NONE)                                                              \
	X(setns, NONE, setns(-1, CLONE_NEWNET), NONE)                                                                  \
	X(unshare, unshare(CLONE_FS), unshare(1), NONE)                                                                \
	X(fcntl, fcntl(file, F_SETLKW, &unlock), fcntl(-1, F_GETFL), fcntl(file, F_SETLKW, locked_by_another()))       \
	X(fcntl_2, fcntl(side[0], F_SETFL, O_NONBLOCK), fcntl(side[0], 9999), NONE)                                    \
	X(fcntl64, fcntl64(file, F_SETLKW, &unlock), fcntl64(-1, F_GETFL),                                             \
	  fcntl64(file, F_SETLKW, locked_by_another()))                                                                \
	X(ioctl, ioctl(side[0], FIONREAD, &status), ioctl(side[0], 0x7fff, 0), NONE)                                   \
	X(read, read(side[0], buffer, 2), read(-1, buffer, 1), read(side[1], buffer, 1))                               \
	X(__read_chk, __read_chk(side[0], buffer, 2, FULL), __read_chk(-1, buffer, 1, FULL),                           \
	  __read_chk(side[1], buffer, 1, FULL))                                                                        \
	X(readv, readv(side[0], &iov, 1), readv(-1, &iov, 1), readv(side[1], &iov, 1))                                 \
	X(write, write(side[0], buffer, 2), write(-1, buffer, 2), write(side[1], buffer, too_much()))                  \
	X(writev, writev(side[0], &iov, 1), writev(-1, &iov, 1), (too_much(), writev(side[1], &iov, 1)))               \
	X(recv, recv(side[0], buffer, 2, MSG_PEEK), recv(-1, buffer, 2, 0), recv(side[1], buffer, 2, 0))               \
	X(recv_2, NONE, recv(side[1], buffer, 2, MSG_DONTWAIT), NONE)                                                  \
	X(__recv_chk, __recv_chk(side[0], buffer, 2, FULL, 0), __recv_chk(-1, buffer, 2, FULL, 0),                     \
	  __recv_chk(side[1], buffer, 2, FULL, 0))                                                                     \
	X(recvfrom, recvfrom(side[0], buffer, 2, 0, NULL, NULL), recvfrom(-1, buffer, 2, 0, NULL, NULL),               \
	  recvfrom(side[1], buffer, 2, 0, NULL, NULL))                                                                 \
	X(__recvfrom_chk, __recvfrom_chk(side[0], buffer, 2, FULL, 0, NULL, NULL),                                     \
	  __recvfrom_chk(-1, buffer, 2, FULL, 0, NULL, NULL), __recvfrom_chk(side[1], buffer, 2, FULL, 0, NULL, NULL)) \
	X(recvmsg, recvmsg(side[0], &message, 0), recvmsg(-1, &message, 0), recvmsg(side[1], &message, 0))             \
	X(recvmmsg, recvmmsg(side[0], &messages, 1, 0, NULL), recvmmsg(-1, &messages, 1, 0, NULL),                     \
	  recvmmsg(side[1], &messages, 1, 0, NULL))                                                                    \
	X(send, send(side[0], buffer, 2, 0), send(-1, buffer, 2, 0), send(side[1], buffer, too_much(), 0))             \
	X(sendto, sendto(side[0], buffer, 2, 0, NULL, 0), sendto(-1, buffer, 2, 0, NULL, 0),                           \
	  sendto(side[1], buffer, too_much(), 0, NULL, 0))                                                             \
	X(sendmsg, sendmsg(side[0], &message, 0), sendmsg(-1, &message, 0),                                            \
	  (too_much(), sendmsg(side[1], &message, 0)))                                                                 \
	X(sendmmsg, sendmmsg(side[0], &messages, 1, 0), sendmmsg(-1, &messages, 1, 0),                                 \
	  (too_much(), sendmmsg(side[1], &messages, 1, 0)))                                                            \
	X(poll, poll(&ready, 1, -1), poll(nowhere, 1, 0), poll(&quiet, 1, -1))                                         \
	X(__poll_chk, __poll_chk(&ready, 1, -1, FULL), __poll_chk(nowhere, 1, 0, FULL),                                \
	  __poll_chk(&quiet, 1, -1, FULL))                                                                             \
	X(ppoll, ppoll(&ready, 1, NULL, &none), ppoll(&ready, 1, &bad, NULL), ppoll(&quiet, 1, &ages, NULL))           \
	X(__ppoll_chk, __ppoll_chk(&ready, 1, NULL, &none, FULL), __ppoll_chk(&ready, 1, &bad, NULL, FULL),            \
	  __ppoll_chk(&quiet, 1, &ages, NULL, FULL))                                                                   \
	X(select, select(side[0] + 1, &set, NULL, NULL, NULL), select(-1, &set, NULL, NULL, &zero_us),                 \
	  select(0, NULL, NULL, NULL, NULL) * 10 + FD_ISSET(side[0], &set))                                            \
	X(pselect, pselect(side[0] + 1, &set, NULL, NULL, NULL, &none), pselect(-1, &set, NULL, NULL, &past, NULL),    \
	  pselect(0, NULL, NULL, NULL, &ages, NULL))                                                                   \
	X(epoll_wait, epoll_wait(epoll_ready, (struct epoll_event *)buffer, 1, -1),                                    \
	  epoll_wait(epoll_ready, (struct epoll_event *)buffer, 0, -1),                                                \
	  epoll_wait(epoll_quiet, (struct epoll_event *)buffer, 1, -1))                                                \
	X(epoll_pwait, epoll_pwait(epoll_ready, (struct epoll_event *)buffer, 1, -1, &none),                           \
	  epoll_pwait(-1, (struct epoll_event *)buffer, 1, -1, &none),                                                 \
	  epoll_pwait(epoll_quiet, (struct epoll_event *)buffer, 1, -1, &none))                                        \
	X(epoll_pwait2, epoll_pwait2(epoll_ready, (struct epoll_event *)buffer, 1, NULL, &none),                       \
	  epoll_pwait2(epoll_ready, (struct epoll_event *)buffer, 1, &bad, &none),                                     \
	  epoll_pwait2(epoll_quiet, (struct epoll_event *)buffer, 1, &ages, &none))                                    \
	X(pthread_mutex_lock, pthread_mutex_lock(&mutex), (pthread_mutex_lock(&taken), pthread_mutex_lock(&taken)),    \
	  NONE)                                                                                                        \
	X(pthread_mutex_trylock, pthread_mutex_trylock(&mutex),                                                        \
	  (pthread_mutex_lock(&taken), pthread_mutex_trylock(&taken)), NONE)                                           \
	X(pthread_mutex_timedlock, pthread_mutex_timedlock(&mutex, &past),                                             \
	  (pthread_mutex_lock(&mutex), pthread_mutex_timedlock(&mutex, &bad)), NONE)                                   \
	X(pthread_mutex_timedlock_2, pthread_mutex_timedlock(&mutex, &bad),                                            \
	  (pthread_mutex_lock(&mutex), pthread_mutex_timedlock(&mutex, &past)), NONE)                                  \
	X(pthread_mutex_clocklock, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past),                            \
	  pthread_mutex_clocklock(&mutex, CLOCK_BOOTTIME, &past), NONE)                                                \
	X(pthread_mutex_clocklock_2, pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &bad),                            \
	  (pthread_mutex_lock(&mutex), pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past)), NONE)                 \
	X(pthread_mutex_unlock, (pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)),                            \
	  pthread_mutex_unlock(&taken), NONE)                                                                          \
	X(mtx_lock, mtx_lock(&mutex_c11), NONE, NONE)                                                                  \
	X(mtx_trylock, mtx_trylock(&mutex_c11), (mtx_lock(&mutex_c11), mtx_trylock(&mutex_c11)), NONE)                 \
	X(mtx_timedlock, mtx_timedlock(&mutex_c11, &past), (mtx_lock(&mutex_c11), mtx_timedlock(&mutex_c11, &past)),   \
	  NONE)                                                                                                        \
	X(mtx_timedlock_2, mtx_timedlock(&mutex_c11, &bad), (mtx_lock(&mutex_c11), mtx_timedlock(&mutex_c11, &bad)),   \
	  NONE)                                                                                                        \
	X(mtx_unlock, (mtx_lock(&mutex_c11), mtx_unlock(&mutex_c11)), NONE, NONE)                                      \
	X(pthread_rwlock_rdlock, pthread_rwlock_rdlock(&rwlock),                                                       \
	  (pthread_rwlock_wrlock(&written), pthread_rwlock_rdlock(&written)), NONE)                                    \
	X(pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock(&rwlock),                                                 \
	  (pthread_rwlock_wrlock(&written), pthread_rwlock_tryrdlock(&written)), NONE)                                 \
	X(pthread_rwlock_init, pthread_rwlock_init(&remade, NULL), NONE, NONE)                                         \
	X(pthread_rwlock_destroy, (pthread_rwlock_init(&remade, NULL), pthread_rwlock_destroy(&remade)), NONE, NONE)   \
	X(pthread_rwlock_wrlock, pthread_rwlock_wrlock(&rwlock),                                                       \
	  (pthread_rwlock_wrlock(&written), pthread_rwlock_wrlock(&written)), NONE)                                    \
	X(pthread_rwlock_timedrdlock, pthread_rwlock_timedrdlock(&rwlock, &past),                                      \
	  pthread_rwlock_timedrdlock(&rwlock, &bad), NONE)                                                             \
	X(pthread_rwlock_timedwrlock, pthread_rwlock_timedwrlock(&rwlock, &past),                                      \
	  pthread_rwlock_timedwrlock(&rwlock, &bad), NONE)                                                             \
	X(pthread_rwlock_timedwrlock_2, NONE,                                                                          \
	  (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_timedwrlock(&rwlock, &past)), NONE)                          \
	X(pthread_rwlock_clockrdlock, pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past),                     \
	  pthread_rwlock_clockrdlock(&rwlock, CLOCK_BOOTTIME, &past), NONE)                                            \
	X(pthread_rwlock_clockwrlock, pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past),                     \
	  pthread_rwlock_clockwrlock(&rwlock, CLOCK_BOOTTIME, &past), NONE)                                            \
	X(pthread_rwlock_unlock, (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock)), NONE, NONE)         \
	X(pthread_cond_timedwait, (pthread_mutex_lock(&mutex), pthread_cond_timedwait(&condition, &mutex, &past)),     \
	  pthread_cond_timedwait(&condition, &mutex, &bad), NONE)                                                      \
	X(pthread_cond_clockwait,                                                                                      \
	  (pthread_mutex_lock(&mutex), pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past)),            \
	  pthread_cond_clockwait(&condition, &mutex, CLOCK_BOOTTIME, &past), NONE)                                     \
	X(pthread_cond_signal, pthread_cond_signal(&condition), NONE, NONE)                                            \
	X(pthread_cond_broadcast, pthread_cond_broadcast(&condition), NONE, NONE)                                      \
	X(cnd_timedwait, (mtx_lock(&mutex_c11), cnd_timedwait(&condition_c11, &mutex_c11, &past)),                     \
	  cnd_timedwait(&condition_c11, &mutex_c11, &bad), NONE)                                                       \
	X(cnd_signal, cnd_signal(&condition_c11), NONE, NONE)                                                          \
	X(cnd_broadcast, cnd_broadcast(&condition_c11), NONE, NONE)                                                    \
	X(pthread_barrier_wait, pthread_barrier_wait(&barrier), NONE, NONE)                                            \
	X(sem_wait, sem_wait(&permits), NONE, sem_wait(&empty))                                                        \
	X(sem_timedwait, sem_timedwait(&permits, &past), sem_timedwait(&permits, &bad),                                \
	  sem_timedwait(&empty, &ages_on))                                                                             \
	X(sem_timedwait_2, sem_timedwait(&permits, &past), sem_timedwait(&empty, &past), NONE)                         \
	X(sem_clockwait, sem_clockwait(&permits, CLOCK_MONOTONIC, &past),                                              \
	  sem_clockwait(&permits, CLOCK_BOOTTIME, &past), sem_clockwait(&empty, CLOCK_REALTIME, &ages_on))             \
	X(sem_clockwait_2, NONE, sem_clockwait(&permits, CLOCK_MONOTONIC, &bad), NONE)                                 \
	X(sem_post, sem_post(&permits), NONE, NONE)                                                                    \
	X(pthread_create, posix_created(NULL), posix_created(&huge), NONE)                                             \
	X(thrd_create, c11_created(), NONE, NONE)                                                                      \
	X(thrd_join, NONE, c11_joined(), NONE)                                                                         \
	X(pthread_timedjoin_np, NONE, pthread_timedjoin_np(helper, NULL, &past), NONE)                                 \
	X(pthread_clockjoin_np, NONE, pthread_clockjoin_np(helper, NULL, CLOCK_MONOTONIC, &past), NONE)                \
	X(pthread_setname_np, pthread_setname_np(pthread_self(), "twin"),                                              \
	  pthread_setname_np(pthread_self(), "0123456789abcdef"), NONE)                                                \
	X(prctl, prctl(PR_SET_NAME, "twin"), prctl(-1, 0, 0, 0, 0), NONE)                                              \
	X(sleep, sleep(0), NONE, sleep(100000) > 0)                                                                    \
	X(usleep, usleep(1), NONE, usleep(900000000))                                                                  \
	X(nanosleep, nanosleep(&instant, NULL), nanosleep(&bad, NULL), nanosleep(&ages, NULL))                         \
	X(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &instant, NULL),                                        \
	  clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), clock_nanosleep(CLOCK_MONOTONIC, 0, &ages, NULL))           \
	X(thrd_sleep, thrd_sleep(&instant, NULL), thrd_sleep(&bad, NULL), thrd_sleep(&ages, NULL))                     \
	X(pause, NONE, NONE, pause())                                                                                  \
	X(sigsuspend, NONE, NONE, sigsuspend(&none))                                                                   \
	X(sigwait, pended(by_sigwait), NONE, NONE)                                                                     \
	X(sigwaitinfo, pended(by_sigwaitinfo), NONE, sigwaitinfo(&second, NULL))                                       \
	X(sigtimedwait, pended(by_sigtimedwait), sigtimedwait(&second, &info, &bad),                                   \
	  sigtimedwait(&second, NULL, &ages))                                                                          \
	X(wait, reap(wait, true), wait(NULL), reap(wait, false))                                                       \
	X(waitpid, reap(by_waitpid, true), waitpid(-1, NULL, 0), reap(by_waitpid, false))                              \
	X(waitpid_2, reap(by_waitpid_hurried, false), waitpid(-1, NULL, WNOHANG), NONE)                                \
	X(wait3, reap(by_wait3, true), wait3(NULL, 0, NULL), reap(by_wait3, false))                                    \
	X(wait4, reap(by_wait4, true), wait4(-1, NULL, 0, NULL), reap(by_wait4, false))                                \
	X(waitid, reap(by_waitid, true), waitid(P_ALL, 0, NULL, WEXITED), reap(by_waitid, false))                      \
	X(syscall, syscall(SYS_dup3, side[0], 50, 0) - 50, syscall(-1L),                                               \
	  syscall(SYS_futex, &status, 0, status, NULL, NULL, 0))

/* The same for calls that wait without a request: asked for cancellation alone. */
#define CANCELLED_ROWS(X)                                                                                           \
	X(pthread_cond_wait, (pthread_mutex_lock(&mutex), pthread_cond_wait(&condition, &mutex)), NONE, NONE)       \
	X(cnd_wait, (mtx_lock(&mutex_c11), cnd_wait(&condition_c11, &mutex_c11)), NONE, NONE)                       \
	X(pthread_join, joined(pthread_join(helper, NULL)), NONE, NONE)                                             \
	X(pthread_timedjoin_np_2, joined(pthread_timedjoin_np(helper, NULL, &ages_on)), NONE, NONE)                 \
	X(pthread_clockjoin_np_2, joined(pthread_clockjoin_np(helper, NULL, CLOCK_REALTIME, &ages_on)), NONE, NONE) \
	X(thrd_join_2, joined(thrd_join(helper, NULL)), NONE, NONE)                                                 \
	X(pause_2, pause(), NONE, NONE)                                                                             \
	X(sigsuspend_2, sigsuspend(&none), NONE, NONE)

#endif
