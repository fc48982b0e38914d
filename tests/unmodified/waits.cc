// Waits in every way that `kymo record --with waits` records: `waits HOW`. Exits with 0 if each call did what it must.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "waits: %s\n", what);
  _exit(1);
}

timespec after(milliseconds time, clockid_t clock = CLOCK_REALTIME) {
  timespec at;
  clock_gettime(clock, &at);
  const int64_t ns = at.tv_nsec + std::chrono::nanoseconds(time).count();
  return {at.tv_sec + ns / 1'000'000'000, ns % 1'000'000'000};
}

// ---- A slow lock: the holder sleeps ----

std::mutex log_lock;
std::atomic<bool> is_held{false};

[[gnu::noinline]] void write_line() {
  is_held = true;
  std::this_thread::sleep_for(milliseconds(30));
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void log_result() {
  const std::lock_guard lock(log_lock);
  write_line();
}
void contend() {
  std::thread holder([] {
    pthread_setname_np(pthread_self(), "holder");
    log_result();
  });
  while (!is_held) sched_yield();
  std::thread waiter([] {
    pthread_setname_np(pthread_self(), "waiter");
    log_result();
  });
  waiter.join();
  holder.join();
}

// ---- A mutex that another thread has just taken: its word is set, and its owner is not yet ----

pthread_mutex_t just_taken = PTHREAD_MUTEX_INITIALIZER;

char state_of(int tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '?' : text[end + 2];
}

void hand_over() {
  contend();
  just_taken.__data.__lock = 1;
  just_taken.__data.__nusers = 1;
  std::atomic<int> tid{0};
  std::thread waiter([&] {
    tid = gettid();
    pthread_mutex_lock(&just_taken);
    pthread_mutex_unlock(&just_taken);
  });
  while (tid == 0 || state_of(tid) != 'S') sched_yield();
  usleep(1000);
  pthread_mutex_unlock(&just_taken);
  waiter.join();
}

// ---- Waits that never end ----

std::mutex first_lock, second_lock;
std::atomic<int> held{0};

void take_both(std::mutex& first, std::mutex& second) {
  const std::lock_guard lock(first);
  ++held;
  while (held != 2) usleep(100);
  const std::lock_guard other(second);
}
[[gnu::noinline]] void take_forward() { take_both(first_lock, second_lock); }
[[gnu::noinline]] void take_backward() { take_both(second_lock, first_lock); }
void deadlock() {
  for (void (*take)() : {take_forward, take_backward}) std::thread(take).detach();
  while (held != 2) usleep(100);
  usleep(50'000);
}

// ---- Every kind of call, each longer than 10 µs ----

void wait_in_all_ways() {
  contend();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  std::thread([&] {
    timespec until = after(milliseconds(2));
    check(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT, "a lock that is held times out");
  }).join();
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  timespec until = after(milliseconds(2));
  check(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT, "a condition times out");
  until = after(milliseconds(2), CLOCK_MONOTONIC);
  check(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT, "a condition times out");
  pthread_mutex_unlock(&mutex);
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&shared);
  check(pthread_rwlock_rdlock(&shared) == EDEADLK, "the writer does not wait for itself");
  std::thread([&] {
    timespec end = after(milliseconds(2));
    check(pthread_rwlock_timedrdlock(&shared, &end) == ETIMEDOUT, "a reader waits for a writer");
    end = after(milliseconds(2));
    check(pthread_rwlock_timedwrlock(&shared, &end) == ETIMEDOUT, "a writer waits for a writer");
  }).join();
  pthread_rwlock_unlock(&shared);
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  errno = E2BIG;
  check(sem_wait(&semaphore) == 0 && errno == E2BIG, "a semaphore that is free keeps errno");
  until = after(milliseconds(2));
  check(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, "a semaphore times out");
  usleep(1000);
  int pipe_ends[2];
  check(pipe(pipe_ends) == 0, "pipe");
  pollfd reading{pipe_ends[0], POLLIN, 0};
  check(poll(&reading, 1, 1) == 0, "poll times out");
  timeval time{0, 1000};
  fd_set files;
  FD_ZERO(&files);
  FD_SET(pipe_ends[0], &files);
  check(select(pipe_ends[0] + 1, &files, nullptr, nullptr, &time) == 0, "select times out");
  const int epoll = epoll_create1(0);
  epoll_event event{};
  check(epoll_wait(epoll, &event, 1, 1) == 0, "epoll times out");
  std::thread writer([&] {
    usleep(2000);
    check(write(pipe_ends[1], "a", 1) == 1, "write");
  });
  char byte = 0;
  check(read(pipe_ends[0], &byte, 1) == 1 && byte == 'a', "read waits for the other thread");
  writer.join();
  check(read(-1, &byte, 1) == -1 && errno == EBADF, "an error stays");
}

// ---- Threads that are cancelled in a wait, and that run on ----

std::atomic<int> cleaned{0};
struct Cleaner {
  ~Cleaner() { ++cleaned; }
};

void cancel_waits() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  static int pipe_ends[2];
  check(pipe(pipe_ends) == 0, "pipe");
  void* (*const bodies[])(void*) = {
      [](void*) -> void* {
        pthread_mutex_lock(&mutex);
        struct Unlock : Cleaner {
          ~Unlock() { pthread_mutex_unlock(&mutex); }
        } unlock;
        while (true) pthread_cond_wait(&condition, &mutex);
      },
      [](void*) -> void* {
        const Cleaner cleaner;
        while (true) sem_wait(&semaphore);
      },
      [](void*) -> void* {
        const Cleaner cleaner;
        char byte;
        while (true) check(read(pipe_ends[0], &byte, 1) == 1, "read");
      },
      // A free semaphore is a cancellation point too.
      [](void*) -> void* {
        const Cleaner cleaner;
        sem_t own;
        sem_init(&own, 0, 0);
        while (true) sem_post(&own), sem_wait(&own);
      },
  };
  for (void* (*body)(void*) : bodies) {
    pthread_t thread;
    check(pthread_create(&thread, nullptr, body, nullptr) == 0, "thread");
    usleep(3000);
    pthread_cancel(thread);
    void* result = nullptr;
    check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "the thread was cancelled");
  }
  check(cleaned == 4, "all cleaned up");
  check(pthread_mutex_trylock(&mutex) == 0, "the lock is free");
}

// ---- Waits in a child, and in signal handlers ----

void fork_children() {
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      is_held = false;
      contend();
      exit(7);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child ended well");
  }
}

void wait_in_handlers() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int error = errno;
    const timespec time{0, 50'000};
    nanosleep(&time, nullptr);
    errno = error;
  };
  sigaction(SIGUSR1, &action, nullptr);
  const pthread_t main = pthread_self();
  std::atomic<bool> is_done{false};
  std::thread sender([&] {
    while (!is_done) pthread_kill(main, SIGUSR1), usleep(200);
  });
  for (int i = 0; i < 300; ++i) {
    const timespec time{0, 100'000};
    check(nanosleep(&time, nullptr) == 0 || errno == EINTR, "a signal interrupts");
  }
  is_done = true;
  sender.join();
}

// ---- Calls before main and after it ----

struct Early {
  Early() { usleep(500); }
  ~Early() { usleep(500); }
} early;
thread_local struct Late {
  bool is_used = false;
  ~Late() {
    if (is_used) usleep(500);
  }
} late;

}  // namespace

int main(int count, char** words) {
  const std::string how = count > 1 ? words[1] : "";
  late.is_used = true;
  if (how == "all") wait_in_all_ways();
  if (how == "cancel") cancel_waits();
  if (how == "fork") fork_children();
  if (how == "handlers") wait_in_handlers();
  if (how == "lock") contend();
  if (how == "handover") hand_over();
  if (how == "deadlock") deadlock(), _exit(0);
  if (how == "killed") deadlock(), raise(SIGKILL);
  std::thread([] { late.is_used = true; }).join();
}
