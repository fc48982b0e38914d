/* Plays NCCL: loads the profiler that NCCL_PROFILER_PLUGIN names and calls it as a communicator of two ranks would. One
 * GPU produces no events, and NCCL refuses two ranks on one GPU, so the calls are made by hand.
 *
 *   nccl_client collectives | many N | late | unknown | version4 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      uint64_t sequence;
      const char* function;
      const void *send, *receive;
      size_t count;
      int root;
      const char* type;
      uint8_t channels, warps;
      const char *algorithm, *protocol;
      void* group;
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* type;
      size_t count;
      int peer;
      uint8_t channels;
      void* group;
    } point;
    struct {
      int pid;
      uint8_t channel;
      int peer, steps, chunk, is_send;
    } proxy;
    struct {
      int step;
    } step;
    struct {
      uint8_t channel;
      uint64_t timer;
    } kernel;
  };
} event;

typedef struct {
  const char* name;
  int (*init)(void**, uint64_t, int*, const char*, int, int, int, void*);
  int (*start)(void*, void**, event*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
} profiler5;
typedef struct {
  const char* name;
  int (*init)(void**, int*, const char*, uint64_t, int, int, int, void*);
  int (*start)(void*, void**, event*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
} profiler4;

static const profiler5* plugin;
static void* context;

static void* started(event made) {
  void* handle = NULL;
  plugin->start(context, &handle, &made);
  return handle;
}
static void* collective(const char* function, uint64_t sequence, uint8_t channels) {
  event made = {.type = 1 << 1, .rank = 1};
  made.collective.sequence = sequence;
  made.collective.function = function;
  made.collective.count = 1000;
  made.collective.type = "ncclFloat32";
  made.collective.channels = channels;
  made.collective.algorithm = "RING";
  made.collective.protocol = "LL128";
  return started(made);
}
static void* kernel(void* parent, uint8_t channel) {
  event made = {.type = 1 << 6, .parent = parent};
  made.kernel.channel = channel;
  return started(made);
}

/* NCCL's thread: one channel sends a piece in three states, and then both channels of the kernel stop. */
static void* proxy(void* parent) {
  event made = {.type = 1 << 3, .parent = parent};
  made.proxy.peer = 3;
  made.proxy.channel = 1;
  made.proxy.is_send = 1;
  void* operation = started(made);
  event piece = {.type = 1 << 4, .parent = operation};
  void* step = started(piece);
  const int states[] = {8, 20, 9};
  for (int i = 0; i < 3; ++i) plugin->state(step, states[i], NULL);
  plugin->stop(step);
  plugin->stop(operation);
  void *first = kernel(parent, 0), *second = kernel(parent, 1);
  plugin->state(first, 22, NULL);
  plugin->stop(first);
  plugin->stop(second);
  return NULL;
}

int main(int count, char** words) {
  const char* path = getenv("NCCL_PROFILER_PLUGIN");
  const char* what = count > 1 ? words[1] : "";
  if (path == NULL) {
    puts("no plugin is configured");
    return 0;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  int mask = -1;
  if (strcmp(what, "version4") == 0) {
    const profiler4* old = dlsym(library, "ncclProfiler_v4");
    old->init(&context, &mask, "old", 7, 1, 2, 0, NULL);
    event made = {.type = 1 << 1};
    memset((char*)&made + 1, 0xee, 7); /* in version 4 these bytes are padding */
    made.collective.function = "Broadcast";
    made.collective.channels = 0;
    void* handle = NULL;
    old->start(context, &handle, &made);
    old->stop(handle);
    old->finalize(context);
    return 0;
  }
  plugin = dlsym(library, "ncclProfiler_v5");
  if (plugin == NULL || plugin->init(&context, 0xabc, &mask, "world", 1, 2, 1, NULL) != 0) {
    puts("no profiler");
    return 0;
  }
  printf("mask %d\n", mask);
  if (strcmp(what, "collectives") == 0) {
    void* handle = collective("AllReduce", 5, 2);
    plugin->stop(handle);
    pthread_t thread;
    pthread_create(&thread, NULL, proxy, handle);
    pthread_join(thread, NULL);
    event made = {.type = 1 << 2};
    made.point.function = "Send";
    made.point.type = "ncclBfloat16";
    made.point.count = 10;
    made.point.peer = 1;
    plugin->stop(started(made));
  } else if (strcmp(what, "many") == 0) {
    for (int i = 0; i < atoi(words[2]); ++i) plugin->stop(collective("AllGather", (uint64_t)i, 1)); /* never stops */
  } else if (strcmp(what, "late") == 0) {
    void* handle = collective("ReduceScatter", 1, 1);
    plugin->stop(handle);
    plugin->stop(kernel(handle, 0));
    plugin->stop(handle); /* it has ended */
    plugin->stop(kernel(handle, 0));
    plugin->stop(NULL);
    plugin->state(NULL, 9, NULL);
    plugin->state(handle, 9, NULL);
  } else if (strcmp(what, "unknown") == 0) {
    event made = {.type = (uint64_t)1 << 40};
    printf("handle %d\n", started(made) != NULL);
    made.type = 1 << 5;
    printf("handle %d\n", started(made) != NULL);
    event empty = {.type = 1 << 1};
    plugin->stop(started(empty)); /* without any text */
  }
  plugin->finalize(context);
  return 0;
}
