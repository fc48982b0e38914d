/* libkymo_sample.so: samples a program from within: all programs where the kernel refuses performance events, and
 * Python, whose functions only the thread itself can read at the moment of a sample.
 *
 * LD_PRELOAD puts it into programs that `kymo record` starts. In Python, one performance event of the process sends a
 * signal to the thread that used the CPU. Otherwise each thread has a timer on its own CPU clock. Neither signal
 * interrupts a sleep or a system call: the clock stands still there, and the event is only of the program's own code.
 * The handler copies the registers, the stack and the Python frames into memory of the recorder (packets.h), which
 * unwinds the copy. docs/sampling.md describes the limits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static int event = -1;
static uint32_t process;
static pthread_key_t at_thread_end;

static bool is_elsewhere; /* in another PID namespace than the recorder, where numbers mean other processes */

static __thread struct {
  uint32_t tid; /* for the recorder */
  bool has_timer;
  int timer; /* the kernel's number */
  uintptr_t stack_low, stack_high;
} self __attribute__((tls_model("initial-exec")));

static struct kymo_who who(void) { return (struct kymo_who){process, self.tid}; }

static uint32_t find_tid(void);

static void on_sample(siginfo_t* info, void* context) {
  if (is_by_event ? !is_on : !self.has_timer) return; /* it was deleted a moment ago */
  if (self.tid == 0) self.tid = find_tid(); /* made without pthread_create */
  const uint64_t count = 1 + (!is_by_event && info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0);
  kymo_send_sample(who(), count, context, self.stack_low, self.stack_high);
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
static bool open_event(void) {
#if defined(PERF_ATTR_SIZE_VER7)
  struct perf_event_attr what;
  memset(&what, 0, sizeof what);
  what.size = sizeof what;
  what.type = PERF_TYPE_SOFTWARE;
  what.config = PERF_COUNT_SW_TASK_CLOCK;
  what.sample_period = kymo_interval_ns();
  /* A signal from within the kernel could arrive after exec, and would end the new program. */
  what.exclude_kernel = what.exclude_hv = 1;
  what.sigtrap = what.remove_on_exec = what.inherit = what.inherit_thread = 1;
  if (!is_event_safe()) return false;
  event = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  /* Programs expect the lowest numbers for their own files, and daemons close many of them. */
  const int high = event >= 0 ? fcntl(event, F_DUPFD_CLOEXEC, 1000) : -1;
  if (high >= 0) {
    close(event);
    event = high;
  }
#endif
  return event >= 0;
}

/* The program may have closed it, and have another file with this number. */
static void close_event(void) {
  char path[64], name[64];
  const int length = snprintf(path, sizeof path, "/proc/self/fd/%d", event);
  if (event < 0 || length <= 0) return;
  const ssize_t found = readlink(path, name, sizeof name - 1);
  name[found > 0 ? found : 0] = '\0';
  if (strstr(name, "perf_event") != NULL) close(event);
  event = -1;
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

static uint64_t cpu_ns(clockid_t clock) {
  struct timespec time;
  return clock_gettime(clock, &time) == 0 ? (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec : 0;
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
    close_event();
    is_on = open_event();
  } else {
    kymo_send_fork(who(), parent);
  }
  start_sampling();
}

/* The kernel samples the program too, and reports its threads. They add what they see in their own code. */
static void start_beside_kernel(void) {
  if (dlsym(RTLD_DEFAULT, "_PyRuntime") == NULL || !kymo_open_packets(KYMO_PACKETS_OF_PYTHON)) return;
  find_numbers();
  if (!kymo_find_own_python(who())) return;
  find_first_stack();
  is_by_event = true;
  is_on = kymo_install_handler(KYMO_BY_PERF, on_sample) && open_event();
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
  close_event();
  end_thread(NULL);
}

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

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*function)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  struct beginning* const beginning = is_on ? malloc(sizeof *beginning) : NULL;
  if (beginning == NULL) return next(thread, attributes, function, argument);
  *beginning = (struct beginning){function, NULL, argument, kymo_is_own_signal_blocked()};
  const int failure = next(thread, attributes, run, beginning);
  if (failure != 0) free(beginning);
  return failure;
}

__attribute__((visibility("default"))) int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
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

__attribute__((visibility("default"))) int dlclose(void* handle) {
  static int (*next)(void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "dlclose");
  const int failure = next(handle);
  const int error = errno;
  if (is_on && !is_by_event && failure == 0 && was_unloaded()) kymo_send_unload((struct kymo_who){process, find_tid()});
  errno = error;
  return failure;
}
