/* Uses the CPU in functions that a test can name: busy MODE MILLISECONDS, of CPU time.
 *
 *   one        in one thread: busy_outer calls busy_inner
 *   threads    in two threads with names, in a function each
 *   fork       in a child
 *   forever    until a signal; prints its pid first
 *   deep       200 calls deep, with large frames
 *   short      in 400 threads, one after the other, each for 0.3 ms
 *   sleep      sleeps for the time instead, in busy_sleep
 *   crowd      in four threads for each processor, which also yield; after 2000 switches of them for each processor,
 *              another one waits 30 times for a mutex, in busy_lock
 *   clock      asks for the time, in busy_clock
 *   coroutine  on a stack of its own, in busy_coroutine
 *   signal     in the handler of a signal that interrupts busy_raise, in busy_handler */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone, used))

static volatile unsigned long sum;

static long cpu_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Long enough that the clock is a small part. */
FUNCTION void busy_inner(void) {
  unsigned long at = sum;
  for (int i = 0; i < 200000; ++i) at = at * 31 + (unsigned long)i;
  sum = at;
}

FUNCTION void busy_outer(long milliseconds) {
  for (const long end = cpu_milliseconds() + milliseconds; cpu_milliseconds() < end;) busy_inner();
  __asm__ volatile("");
}

FUNCTION void* worker_one(void* milliseconds) {
  pthread_setname_np(pthread_self(), "worker-one");
  busy_outer(*(long*)milliseconds);
  __asm__ volatile("");
  return NULL;
}

FUNCTION void* worker_two(void* milliseconds) {
  pthread_setname_np(pthread_self(), "worker-two");
  busy_outer(*(long*)milliseconds);
  __asm__ volatile("");
  return NULL;
}

FUNCTION void child_work(long milliseconds) {
  busy_outer(milliseconds);
  __asm__ volatile("");
}

FUNCTION int deep_work(int depth, long milliseconds) {
  volatile char frame[100];
  frame[0] = (char)depth;
  if (depth == 0)
    busy_outer(milliseconds);
  else
    frame[1] = (char)deep_work(depth - 1, milliseconds);
  return frame[0] + frame[1];
}

FUNCTION void* short_worker(void* ignored) {
  struct timespec now, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  end.tv_nsec += 300000; /* a new thread has used no second yet */
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec);
  return ignored;
}

FUNCTION void busy_sleep(long milliseconds) {
  usleep((unsigned)(milliseconds * 1000));
  __asm__ volatile("");
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static atomic_int turn; /* odd: the mutex is held until busy_lock waits for it */
static atomic_int is_crowded = 1;
enum { kWaits = 30, kMostCrowd = 1024, kSwitches = 2000 };

FUNCTION void busy_lock(void) {
  pthread_mutex_lock(&held);
  pthread_mutex_unlock(&held);
}

/* Sleeps nowhere else, so whoever sees it sleep knows where it is. */
FUNCTION void* lock_worker(void* tid) {
  atomic_store((atomic_int*)tid, gettid());
  for (int i = 0; i < kWaits; ++i) {
    while (atomic_load(&turn) != 2 * i + 1) sched_yield();
    busy_lock();
    atomic_store(&turn, 2 * i + 2);
  }
  return NULL;
}

static char state_of(int tid) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE* const file = fopen(path, "r");
  if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
  if (file != NULL) fclose(file);
  return state;
}

FUNCTION void* crowd_worker(void* ignored) {
  while (atomic_load(&is_crowded) != 0) {
    unsigned long at = 0;
    for (int i = 0; i < 10000; ++i) at = at * 31 + (unsigned long)i;
    sum = at;
    sched_yield();
  }
  return ignored;
}

/* Of threads that could go on. */
static long switches(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void busy_crowd(void) {
  static atomic_int tid;
  pthread_t waiter, crowd[kMostCrowd];
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  const long count = 4 * processors < kMostCrowd ? 4 * processors : kMostCrowd;
  for (long i = 0; i < count; ++i) pthread_create(&crowd[i], NULL, crowd_worker, NULL);
  while (switches() < kSwitches * processors) sched_yield();
  pthread_create(&waiter, NULL, lock_worker, &tid);
  for (int i = 0; i < kWaits; ++i) {
    pthread_mutex_lock(&held);
    atomic_store(&turn, 2 * i + 1);
    while (state_of(atomic_load(&tid)) != 'S') sched_yield();
    pthread_mutex_unlock(&held);
    while (atomic_load(&turn) != 2 * i + 2) sched_yield();
  }
  pthread_join(waiter, NULL);
  atomic_store(&is_crowded, 0);
  for (long i = 0; i < count; ++i) pthread_join(crowd[i], NULL);
}

FUNCTION void busy_clock(long milliseconds) {
  struct timespec now;
  for (const long end = cpu_milliseconds() + milliseconds; cpu_milliseconds() < end;)
    for (int i = 0; i < 10000; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
}

static long budget; /* a coroutine and a handler have no other argument */

FUNCTION void busy_coroutine(void) {
  busy_outer(budget);
  __asm__ volatile("");
}

FUNCTION int run_coroutine(void) {
  static ucontext_t caller, coroutine;
  static char stack[1 << 16];
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = sizeof stack;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, busy_coroutine, 0);
  return swapcontext(&caller, &coroutine);
}

FUNCTION void busy_handler(int number) {
  (void)number;
  busy_outer(budget);
  __asm__ volatile("");
}

FUNCTION int busy_raise(void) {
  signal(SIGUSR1, busy_handler);
  return raise(SIGUSR1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* mode = argv[1];
  long milliseconds = atol(argv[2]);
  budget = milliseconds;
  if (strcmp(mode, "one") == 0) busy_outer(milliseconds);
  if (strcmp(mode, "deep") == 0) return deep_work(200, milliseconds) == 12345;
  if (strcmp(mode, "sleep") == 0) busy_sleep(milliseconds);
  if (strcmp(mode, "crowd") == 0) busy_crowd();
  if (strcmp(mode, "clock") == 0) busy_clock(milliseconds);
  if (strcmp(mode, "coroutine") == 0) return run_coroutine();
  if (strcmp(mode, "signal") == 0) return busy_raise();
  if (strcmp(mode, "threads") == 0) {
    pthread_t one, two;
    pthread_create(&one, NULL, worker_one, &milliseconds);
    pthread_create(&two, NULL, worker_two, &milliseconds);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
  }
  if (strcmp(mode, "short") == 0) {
    busy_outer(milliseconds);
    for (int i = 0; i < 400; ++i) {
      pthread_t thread;
      pthread_create(&thread, NULL, short_worker, NULL);
      pthread_join(thread, NULL);
    }
  }
  if (strcmp(mode, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      child_work(milliseconds);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  if (strcmp(mode, "forever") == 0) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;) busy_outer(1000);
  }
  return 0;
}
