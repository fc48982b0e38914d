// A program that uses signals in many ways, for the sampler inside programs: nothing of it may be disturbed.
//
// Prints one line for each thing that was not as without Kymo, and ends with 1 then.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("%s\n", what);
}

static volatile sig_atomic_t profiled, others, last_other;
static void on_profile(int number) {
  (void)number;
  ++profiled;
}
static void on_other(int number) {
  ++others;
  last_other = number;
}

static unsigned long long cpu_ms(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (unsigned long long)time.tv_sec * 1000 + (unsigned long long)time.tv_nsec / 1000000;
}

__attribute__((noinline)) static void guest_work(unsigned long long ms) {
  static volatile unsigned long long sum;
  const unsigned long long end = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + ms;
  while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 1000; ++i) sum = sum * 31 + 1;
  __asm__ volatile("");
}

// Blocks all signals, uses the CPU, and waits for all signals.
__attribute__((noinline)) static void* wait_for_signals(void* ready) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number)
    expect(sigismember(&now, number) == 1, "a signal that was blocked is not");
  guest_work(60);
  __atomic_store_n((int*)ready, 1, __ATOMIC_RELEASE);
  int number = 0;
  expect(sigwait(&all, &number) == 0 && number == SIGUSR1, "sigwait returned another signal");
  siginfo_t info;
  const struct timespec moment = {0, 50000000};
  errno = 0;
  expect(sigtimedwait(&all, &info, &moment) == -1 && errno == EAGAIN, "sigtimedwait found a signal");
  return NULL;
}

__attribute__((noinline)) static void test_waiting(void) {
  int ready = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_signals, &ready);
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(1000);
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, NULL);
}

__attribute__((noinline)) static void test_signalfd(void) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const int file = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  guest_work(40);
  struct signalfd_siginfo info;
  expect(read(file, &info, sizeof info) == -1 && errno == EAGAIN, "signalfd has a signal");
  close(file);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

// Handlers for all signals, as some programs have them.
__attribute__((noinline)) static void test_handlers(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_other;
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) sigaction(number, &action, NULL);
  guest_work(60);
  expect(others == 0, "a handler of the program got a signal that nobody sent");
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    struct sigaction now;
    expect(sigaction(number, NULL, &now) == 0 && now.sa_handler == on_other, "sigaction does not return the handler");
    others = 0;
    raise(number);
    expect(others == 1 && last_other == number, "a signal of the program did not reach its handler");
    signal(number, SIG_DFL);
  }
}

// The program's own profiler.
__attribute__((noinline)) static void test_profiler(void) {
  signal(SIGPROF, on_profile);
  const struct itimerval every = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_PROF, &every, NULL);
  guest_work(100);
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &never, NULL);
  expect(profiled > 0, "SIGPROF did not arrive");
}

// Calls that SA_RESTART does not restart.
__attribute__((noinline)) static void test_sleeping(void) {
  for (int i = 0; i < 100; ++i) {
    guest_work(1);
    const struct timespec moment = {0, 1000000};
    expect(nanosleep(&moment, NULL) == 0, "nanosleep was interrupted");
    expect(poll(NULL, 0, 1) == 0, "poll was interrupted");
  }
}

static ucontext_t main_context, other_context;
__attribute__((noinline)) static void coroutine(void) { guest_work(60); }

__attribute__((noinline)) static void test_coroutine(void) {
  const size_t bytes = 64 << 10;
  char* const stack = malloc(bytes);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = bytes;
  other_context.uc_link = &main_context;
  makecontext(&other_context, coroutine, 0);
  swapcontext(&main_context, &other_context);
  free(stack);
}

static void on_alternate_stack(int number) {
  (void)number;
  guest_work(40);
}

__attribute__((noinline)) static void test_alternate_stack(void) {
  stack_t stack = {.ss_sp = malloc(256 << 10), .ss_size = 256 << 10};
  sigaltstack(&stack, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alternate_stack;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
  guest_work(20);
  stack_t now;
  expect(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack.ss_sp, "the alternate stack is another one");
}

__attribute__((noinline)) static void test_children(void) {
  const pid_t child = fork();
  if (child == 0) {
    guest_work(50);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child ended in another way");
  // A signal that is blocked and pending during exec would end the new program.
  for (int i = 0; i < 20; ++i) {
    const pid_t other = fork();
    if (other == 0) {
      sigset_t all;
      sigfillset(&all);
      sigprocmask(SIG_SETMASK, &all, NULL);
      guest_work(5);
      execl("/bin/true", "true", NULL);
      _exit(1);
    }
    waitpid(other, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "another program ended in another way");
  }
}

int main(void) {
  test_waiting();
  test_signalfd();
  test_handlers();
  test_profiler();
  test_sleeping();
  test_coroutine();
  test_alternate_stack();
  test_children();
  printf("%d failures\n", failures);
  return failures != 0;
}
