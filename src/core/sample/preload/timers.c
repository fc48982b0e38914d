/* libkymo_sample.so: samples a program from within: all programs where the kernel refuses performance events, and
 * Python, whose functions only the thread itself can read at the moment of a sample.
 *
 * LD_PRELOAD puts it into programs that `kymo record` starts. In Python, one performance event of the process sends a
 * signal to the thread that used the CPU, and another one to a thread that has waited. Otherwise each thread has a
 * timer on its own CPU clock. No signal interrupts a sleep or a system call: the clock stands still there, and an event
 * sends its signal when the system call returns. The handler copies the registers, the stack and the Python frames into
 * memory of the recorder (packets.h), which unwinds the copy. docs/sampling.md describes the limits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "own_signal.h"
#include "packets.h"
#include "send.h"

/* Of glibc, and of other C libraries. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*) __attribute__((weak));
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((weak));

extern void* __libc_stack_end __attribute__((weak));
extern const char* gnu_get_libc_version(void) __attribute__((weak));

static bool is_on;
static bool is_by_event; /* beside the kernel's samples: one of the process, instead of timers of the threads */
static int event = -1, waits = -1;
static bool is_of_kernel; /* the event is also of system calls */
static bool are_waits_off;
static pid_t own_pid;
static uint32_t process;
static pthread_key_t at_thread_end;

static bool is_elsewhere; /* in another PID namespace than the recorder, where numbers mean other processes */

static __thread struct {
  uint32_t tid; /* for the recorder */
  bool has_timer;
  int timer; /* the kernel's number */
  uintptr_t stack_low, stack_high;
  uint64_t counted_ns; /* of its CPU time: its samples stand for so much */
} self __attribute__((tls_model("initial-exec")));

static struct kymo_who who(void) { return (struct kymo_who){process, self.tid}; }

static uint32_t find_tid(void);

static uint64_t cpu_ns(clockid_t clock) {
  struct timespec time;
  return clock_gettime(clock, &time) == 0 ? (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec : 0;
}

/* A long system call is many intervals, and one signal; so may be a wait, which is none. */
static uint64_t intervals_since_last(void) {
  const uint64_t interval = kymo_interval_ns(), now = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + interval / 2;
  const uint64_t count = now > self.counted_ns ? (now - self.counted_ns) / interval : 0;
  self.counted_ns += count * interval;
  return count;
}

/* After at most 100 waits at once, and 500 a second, the event of the waits is off until the program has used the CPU
 * for a while. */
static bool is_permitted(bool is_wait) {
  const uint64_t each = 2000000, most = 200000000;
  static uint64_t used_until;
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
  uint64_t used = __atomic_load_n(&used_until, __ATOMIC_RELAXED);
  if (used < now - most) used = now - most;
  if (is_wait) __atomic_store_n(&used_until, used + each, __ATOMIC_RELAXED);
  const bool is_over = used + (is_wait ? each : most / 2) > now;
  if (is_over == is_wait && waits >= 0 && __atomic_exchange_n(&are_waits_off, is_wait, __ATOMIC_RELAXED) != is_wait)
    ioctl(waits, is_wait ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
  return !is_wait || !is_over;
}

static void on_sample(siginfo_t* info, void* context) {
  if (is_by_event ? !is_on : !self.has_timer) return; /* it was deleted a moment ago */
  if (self.tid == 0) self.tid = find_tid();           /* made without pthread_create */
  uint64_t count = 1;
  if (is_of_kernel && !is_permitted((count = intervals_since_last()) == 0)) return;
  if (!is_by_event && info->si_overrun > 0) count += (uint64_t)info->si_overrun;
  kymo_send_sample(who(), count, is_of_kernel, context, self.stack_low, self.stack_high);
}

static void find_stack(void) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = NULL;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    self.stack_low = (uintptr_t)low;
    self.stack_high = (uintptr_t)low + bytes;
  }
  pthread_attr_destroy(&attributes);
}

/* Of the first thread, glibc would read /proc/self/maps, which takes longer than all the rest of the start. Code of the
 * program runs below the place where the kernel has put its arguments. Nothing else is mapped within a few megabytes.
 */
static void find_first_stack(void) {
  if (&__libc_stack_end == NULL || __libc_stack_end == NULL) {
    find_stack();
    return;
  }
  const uintptr_t most = 8 << 20, begin_of_arguments = 64;
  self.stack_high = (uintptr_t)__libc_stack_end + begin_of_arguments;
  self.stack_low = self.stack_high - most;
}

/* The kernel looks at timers only when its clock ticks. A thread is hit by a tick in proportion to its time, so the
 * first of them must find the timer expired, or one of as many ticks as an interval has. Then short threads are sampled
 * in proportion to their time. */
static uint64_t first_interval(uint64_t interval) {
  struct timespec now, tick;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t mixed = ((uint64_t)now.tv_nsec << 20 ^ self.tid) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15u;
  uint64_t tick_ns = 1;
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0 && tick.tv_nsec > 0)
    tick_ns = (uint64_t)tick.tv_nsec;
  const uint64_t ticks = (interval + tick_ns / 2) / tick_ns;
  return 1 + (ticks > 1 ? (mixed >> 16) % ticks * tick_ns : 0);
}

/* The numbers that the recorder knows this process and this thread by. It has opened the way here by its own /proc. */
static void find_numbers(void) {
  char text[64];
  const uint32_t own_pid = (uint32_t)getpid();
  const ssize_t length = readlink("/proc/self", text, sizeof text - 1);
  text[length > 0 ? length : 0] = '\0';
  const unsigned long found = strtoul(text, NULL, 10);
  process = found != 0 ? (uint32_t)found : own_pid;
  is_elsewhere = process != own_pid;
  self.tid = process;
}

static uint32_t find_tid(void) {
  const uint32_t own_tid = (uint32_t)syscall(SYS_gettid);
  if (!is_elsewhere) return own_tid;
  char text[64];
  const ssize_t length = readlink("/proc/thread-self", text, sizeof text - 1);
  text[length > 0 ? length : 0] = '\0';
  const char* const last = strrchr(text, '/');
  const unsigned long found = last != NULL ? strtoul(last + 1, NULL, 10) : 0;
  return found != 0 ? (uint32_t)found : own_tid;
}

/* Before Linux 6.1, the signal of an event interrupts system calls, or ends a program that blocks it. */
static bool is_event_safe(void) {
  struct utsname system;
  if (uname(&system) != 0) return false;
  char* end;
  const long major = strtol(system.release, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  return major > 6 || (major == 6 && minor >= 1);
}

/* All threads of the process have it, and no program that it executes. */
static int open_event(uint64_t what, uint64_t period) {
#if defined(PERF_ATTR_SIZE_VER7)
  struct perf_event_attr one;
  memset(&one, 0, sizeof one);
  one.size = sizeof one;
  one.type = PERF_TYPE_SOFTWARE;
  one.config = what;
  one.sample_period = period;
  one.exclude_kernel = !is_of_kernel;
  one.exclude_hv = 1;
  one.sigtrap = one.remove_on_exec = one.inherit = one.inherit_thread = 1;
  const int low = (int)syscall(SYS_perf_event_open, &one, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  /* Programs expect the lowest numbers for their own files, and daemons close many of them. */
  const int high = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, 1000) : -1;
  if (high < 0) return low;
  close(low);
  return high;
#else
  return -1;
#endif
}

/* System calls and waits only for users who may sample the kernel. */
static bool open_events(void) {
  if (!is_event_safe()) return false;
  own_pid = getpid();
  are_waits_off = false;
  self.counted_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  is_of_kernel = true;
  event = open_event(PERF_COUNT_SW_TASK_CLOCK, kymo_interval_ns());
  if (event >= 0) waits = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
  if (event >= 0) return true;
  is_of_kernel = false;
  event = open_event(PERF_COUNT_SW_TASK_CLOCK, kymo_interval_ns());
  return event >= 0;
}

/* The program may have closed it, and have another file with this number. */
static void close_event(int* file) {
  char path[64], name[64];
  const int length = snprintf(path, sizeof path, "/proc/self/fd/%d", *file);
  if (*file < 0 || length <= 0) return;
  const ssize_t found = readlink(path, name, sizeof name - 1);
  name[found > 0 ? found : 0] = '\0';
  if (strstr(name, "perf_event") != NULL) close(*file);
  *file = -1;
}

static void close_events(void) {
  close_event(&event);
  close_event(&waits);
}

static void start_sampling(void) {
  if (self.has_timer) return;
  self.tid = find_tid();
  kymo_unblock_own_signal();
  if (is_by_event) return;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kymo_own_signal();
  event.sigev_value.sival_ptr = kymo_timer_mark();
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &self.timer) != 0) return;
  self.has_timer = true;
  const uint64_t second = 1000000000, interval = kymo_interval_ns(), first = first_interval(interval);
  const struct itimerspec spec = {{(time_t)(interval / second), (long)(interval % second)},
                                  {(time_t)(first / second), (long)(first % second)}};
  syscall(SYS_timer_settime, self.timer, 0, &spec, NULL);
}

static void end_thread(void* ignored) {
  (void)ignored;
  if (!self.has_timer) return;
  self.has_timer = false;
  syscall(SYS_timer_delete, self.timer);
  kymo_send_exit(who(), cpu_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* Timers are not inherited. The memory of the recorder is. */
static void after_fork(void) {
  if (!is_on) return;
  const uint32_t parent = process;
  self.has_timer = false;
  find_numbers();
  kymo_forget_sent_code();
  if (is_by_event) {
    close_events();
    is_on = open_events();
  } else {
    kymo_send_fork(who(), parent);
  }
  start_sampling();
}

/* The kernel samples the program too, and reports its threads. They add what they see in their own code. */
static void start_beside_kernel(void) {
  if (_PyRuntime == NULL || !kymo_open_packets(KYMO_PACKETS_OF_PYTHON)) return;
  find_numbers();
  if (!kymo_find_own_python(who())) return;
  find_first_stack();
  is_by_event = true;
  is_on = kymo_install_handler(KYMO_BY_PERF, on_sample) && open_events();
}

static void start_alone(int argc, char** argv) {
  if (!kymo_open_packets("") || pthread_key_create(&at_thread_end, end_thread) != 0 ||
      !kymo_install_handler(KYMO_BY_TIMERS, on_sample))
    return;
  find_numbers();
  find_first_stack();
  kymo_send_program(who(), argc, argv);
  kymo_find_own_python(who());
  is_on = true;
}

/* Only glibc passes the arguments. */
__attribute__((constructor)) static void start(int argc, char** argv) {
  const int error = errno;
  if (gnu_get_libc_version == NULL) argc = 0;
  start_alone(argc, argv);
  if (!is_on) start_beside_kernel();
  if (is_on) {
    if (__register_atfork != NULL)
      __register_atfork(NULL, NULL, after_fork, NULL);
    else if (pthread_atfork != NULL)
      pthread_atfork(NULL, NULL, after_fork);
    start_sampling();
  }
  errno = error;
}

/* Its threads end with it. */
__attribute__((destructor)) static void stop(void) {
  if (!is_on) return;
  is_on = false;
  close_events();
  end_thread(NULL);
}

/* ---- Other programs in this process ----------------------------------------------------------------------------- */

/* A signal that an event has sent from within the kernel could arrive after exec, and would end the new program. A
 * child that shares our memory until its exec has no events. */
static bool switch_events(unsigned long how) {
  if (!is_on || !is_of_kernel || getpid() != own_pid) return false;
  ioctl(event, how, 0);
  if (waits >= 0) ioctl(waits, how, 0);
  are_waits_off = false;
  return true;
}

#define KYMO_EXPORT __attribute__((visibility("default")))
#define KYMO_EXEC(name, parameters, arguments)                  \
  KYMO_EXPORT int name parameters {                             \
    static int(*next) parameters;                               \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
    const bool was_on = switch_events(PERF_EVENT_IOC_DISABLE);  \
    const int failure = next arguments;                         \
    const int error = errno;                                    \
    if (was_on) switch_events(PERF_EVENT_IOC_ENABLE);           \
    errno = error;                                              \
    return failure;                                             \
  }
KYMO_EXEC(execv, (const char* path, char* const words[]), (path, words))
KYMO_EXEC(execve, (const char* path, char* const words[], char* const variables[]), (path, words, variables))
KYMO_EXEC(execvp, (const char* file, char* const words[]), (file, words))
KYMO_EXEC(execvpe, (const char* file, char* const words[], char* const variables[]), (file, words, variables))
KYMO_EXEC(fexecve, (int file, char* const words[], char* const variables[]), (file, words, variables))
KYMO_EXEC(execveat, (int folder, const char* path, char* const words[], char* const variables[], int flags),
          (folder, path, words, variables, flags))

/* With the words one by one. `execute` may use `words` and `list`, which is behind them. */
#define KYMO_EXEC_LIST(name, execute)                                   \
  KYMO_EXPORT int name(const char* path, const char* first, ...) {      \
    size_t count = 1;                                                   \
    va_list list;                                                       \
    va_start(list, first);                                              \
    while (va_arg(list, const char*) != NULL) ++count;                  \
    va_end(list);                                                       \
    char* words[count + 1];                                             \
    words[0] = (char*)first;                                            \
    va_start(list, first);                                              \
    for (size_t i = 1; i <= count; ++i) words[i] = va_arg(list, char*); \
    const int failure = execute;                                        \
    va_end(list);                                                       \
    return failure;                                                     \
  }
KYMO_EXEC_LIST(execl, execv(path, words))
KYMO_EXEC_LIST(execlp, execvp(path, words))
KYMO_EXEC_LIST(execle, execve(path, words, va_arg(list, char* const*)))

/* ---- New threads ------------------------------------------------------------------------------------------------ */

struct beginning {
  void* (*function)(void*);
  int (*c11_function)(void*);
  void* argument;
  bool is_own_signal_blocked; /* a thread inherits it */
};

static struct beginning begin(void* data) {
  const struct beginning copy = *(struct beginning*)data;
  free(data);
  kymo_set_own_signal_blocked(copy.is_own_signal_blocked);
  find_stack();
  if (!is_by_event) pthread_setspecific(at_thread_end, &at_thread_end);
  start_sampling();
  return copy;
}

/* Jumps on, so that this function is in no stack. */
static void* run(void* data) {
  const struct beginning beginning = begin(data);
  return beginning.function(beginning.argument);
}

static int run_c11(void* data) {
  const struct beginning beginning = begin(data);
  return beginning.c11_function(beginning.argument);
}

KYMO_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                               void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  struct beginning* const beginning = is_on ? malloc(sizeof *beginning) : NULL;
  if (beginning == NULL) return next(thread, attributes, function, argument);
  *beginning = (struct beginning){function, NULL, argument, kymo_is_own_signal_blocked()};
  const int failure = next(thread, attributes, run, beginning);
  if (failure != 0) free(beginning);
  return failure;
}

KYMO_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  static int (*next)(thrd_t*, thrd_start_t, void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "thrd_create");
  struct beginning* const beginning = is_on ? malloc(sizeof *beginning) : NULL;
  if (beginning == NULL) return next(thread, function, argument);
  *beginning = (struct beginning){NULL, function, argument, kymo_is_own_signal_blocked()};
  const int failure = next(thread, run_c11, beginning);
  if (failure != thrd_success) free(beginning);
  return failure;
}

/* ---- Code ------------------------------------------------------------------------------------------------------- */

static int read_unloads(struct dl_phdr_info* info, size_t size, void* unloads) {
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
    *(unsigned long long*)unloads = info->dlpi_subs;
  const int is_enough = 1; /* it is the same for all files */
  return is_enough;
}

/* Most calls only count down: what uses the library is not done yet. */
static bool was_unloaded(void) {
  static unsigned long long known;
  unsigned long long unloads = 0; /* since the program started */
  dl_iterate_phdr(read_unloads, &unloads);
  return __atomic_exchange_n(&known, unloads, __ATOMIC_RELAXED) != unloads;
}

KYMO_EXPORT int dlclose(void* handle) {
  static int (*next)(void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "dlclose");
  const int failure = next(handle);
  const int error = errno;
  if (is_on && !is_by_event && failure == 0 && was_unloaded()) kymo_send_unload((struct kymo_who){process, find_tid()});
  errno = error;
  return failure;
}
