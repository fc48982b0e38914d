/* What `kymo record --with waits` adds to locks that are free: the C library's functions, found beside those that the
 * program calls, in turns. Run it as `kymo record --no-sample --with waits -o FILE -- bench_locks [threads]`; with
 * `threads`, the process has a second one, so that the C library uses atomic operations. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 41, kCalls = 100000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void* pause_for_ever(void* nothing) {
  while (1) pause();
  return nothing;
}

#define KYMO_MEASURE(name, plain, seen)                                                            \
  do {                                                                                             \
    double best_plain = 1e9, best_seen = 1e9;                                                      \
    for (int round = 0; round < kRounds; ++round) {                                                \
      double start = now_ns();                                                                     \
      for (int i = 0; i < kCalls; ++i) plain;                                                      \
      double middle = now_ns();                                                                    \
      for (int i = 0; i < kCalls; ++i) seen;                                                       \
      double end = now_ns();                                                                       \
      if ((middle - start) / kCalls < best_plain) best_plain = (middle - start) / kCalls;          \
      if ((end - middle) / kCalls < best_seen) best_seen = (end - middle) / kCalls;                \
    }                                                                                              \
    printf("%-11s %6.2f ns alone, %6.2f ns: %+.2f ns\n", name, best_plain, best_seen, best_seen - best_plain); \
  } while (0)

int main(int count, char** words) {
  void* library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL) return 1;
  int (*lock)(pthread_mutex_t*) = (int (*)(pthread_mutex_t*))dlsym(library, "pthread_mutex_lock");
  int (*lock_to_read)(pthread_rwlock_t*) = (int (*)(pthread_rwlock_t*))dlsym(library, "pthread_rwlock_rdlock");
  int (*lock_to_write)(pthread_rwlock_t*) = (int (*)(pthread_rwlock_t*))dlsym(library, "pthread_rwlock_wrlock");
  int (*wait_for)(sem_t*) = (int (*)(sem_t*))dlsym(library, "sem_wait");
  if (lock == NULL || lock_to_read == NULL || lock_to_write == NULL || wait_for == NULL) return 1;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_t thread;
  if (count > 1 && pthread_create(&thread, NULL, pause_for_ever, words) != 0) return 1;
  usleep(30000); /* something to record */
  KYMO_MEASURE("mutex", (lock(&mutex), pthread_mutex_unlock(&mutex)),
               (pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)));
  KYMO_MEASURE("read lock", (lock_to_read(&shared), pthread_rwlock_unlock(&shared)),
               (pthread_rwlock_rdlock(&shared), pthread_rwlock_unlock(&shared)));
  KYMO_MEASURE("write lock", (lock_to_write(&shared), pthread_rwlock_unlock(&shared)),
               (pthread_rwlock_wrlock(&shared), pthread_rwlock_unlock(&shared)));
  KYMO_MEASURE("semaphore", (sem_post(&semaphore), wait_for(&semaphore)), (sem_post(&semaphore), sem_wait(&semaphore)));
  return 0;
}
