// A program whose library allocates before main, and whose threads ask the C library for their stacks first of all, as
// those of a JVM and of Rust do: early [THREADS].
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void* ask(void* result) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return result;
  pthread_attr_destroy(&attributes);
  return NULL;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    void* result = NULL;
    if (pthread_create(&thread, NULL, ask, &thread) != 0 || pthread_join(thread, &result) != 0 || result != NULL)
      return 1;
  }
  puts("asked");
  return 0;
}
