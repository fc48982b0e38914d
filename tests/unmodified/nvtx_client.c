/* A program that annotates itself with NVTX and knows nothing of Kymo. Its first argument says what it does; it prints
 * the results of NVTX's functions that tests compare. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtOpenCL.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static nvtxEventAttributes_t attributes(void) {
  nvtxEventAttributes_t made;
  memset(&made, 0, sizeof made);
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return made;
}

static nvtxEventAttributes_t named(const char* text) {
  nvtxEventAttributes_t made = attributes();
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  made.message.ascii = text;
  return made;
}

static nvtxEventAttributes_t registered(nvtxStringHandle_t string) {
  nvtxEventAttributes_t made = attributes();
  made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  made.message.registered = string;
  return made;
}

static void core(void) {
  const int outer = nvtxRangePushA("outer"), inner = nvtxRangePushW(L"inner \u00e4");
  const int inner_end = nvtxRangePop(), outer_end = nvtxRangePop(), extra = nvtxRangePop();
  printf("depths %d %d %d %d %d\n", outer, inner, inner_end, outer_end, extra);
  nvtxMarkA("mark {0} {{");
  nvtxMarkW(L"wide mark");
  const nvtxRangeId_t range = nvtxRangeStartA("started");
  nvtxRangeEnd(range);
  printf("range %s\n", range != 0 ? "has an id" : "has no id");
}

static void domains(void) {
  const nvtxDomainHandle_t one = nvtxDomainCreateA("one"), two = nvtxDomainCreateW(L"two");
  printf("same domain %d\n", one == nvtxDomainCreateA("one"));
  const nvtxStringHandle_t string = nvtxDomainRegisterStringA(one, "registered");
  nvtxEventAttributes_t event = registered(string);
  nvtxDomainNameCategoryA(one, 7, "loading");
  const int a = nvtxRangePushA("default"), b = nvtxDomainRangePushEx(one, &event);
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0x00ff8000;
  event.category = 7;
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  event.payload.iValue = -5;
  const int c = nvtxDomainRangePushEx(one, &event), d = nvtxDomainRangePop(one), e = nvtxDomainRangePop(one),
            f = nvtxRangePop();
  printf("depths %d %d %d %d %d %d\n", a, b, c, d, e, f);
  event = named("number {value}");
  event.category = 9;
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 0.5;
  nvtxDomainMarkEx(two, &event);
  event = named("across");
  nvtxDomainRangeEnd(NULL, nvtxDomainRangeStartEx(two, &event));
  nvtxDomainDestroy(two);
  nvtxDomainDestroy(NULL);
}

/* Ranges of two domains that do not nest. */
static void interleave(void) {
  const nvtxDomainHandle_t one = nvtxDomainCreateA("one"), two = nvtxDomainCreateA("two");
  nvtxEventAttributes_t first = named("first"), second = named("second");
  nvtxDomainRangePushEx(one, &first);
  nvtxDomainRangePushEx(two, &second);
  nvtxDomainRangePop(one);
  nvtxDomainRangePop(two);
}

static void call_plugin(const char* path, const char* what, int unload) {
  void* plugin = dlopen(path, RTLD_NOW);
  if (plugin == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  int (*call)(const char*) = (int (*)(const char*))dlsym(plugin, "plugin_push");
  printf("plugin depth %d\n", call(what));
  if (unload) dlclose(plugin);
}

static void plugins(const char* one, const char* two) {
  printf("program depth %d\n", nvtxRangePushA("in the program"));
  call_plugin(one, "in plugin one", 1);
  call_plugin(two, "in plugin two", 1);
  call_plugin(one, "in plugin one again", 0);
  for (int i = 0; i < 4; ++i) printf("pop %d\n", nvtxRangePop());
}

static void* thread_main(void* range) {
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "worker");
  for (int i = 0; i < 1000; ++i) {
    nvtxRangePushA("work");
    nvtxRangePop();
  }
  nvtxRangeEnd(*(nvtxRangeId_t*)range);
  return NULL;
}

static void threads(int count) {
  pthread_t all[64];
  nvtxRangeId_t ranges[64];
  for (int i = 0; i < count; ++i) {
    ranges[i] = nvtxRangeStartA("over threads");
    pthread_create(&all[i], NULL, thread_main, &ranges[i]);
  }
  for (int i = 0; i < count; ++i) pthread_join(all[i], NULL);
}

/* The first call of all threads at the same time. */
static pthread_barrier_t barrier;
static void* first_call(void* unused) {
  pthread_barrier_wait(&barrier);
  nvtxRangePushA("first");
  nvtxRangePop();
  return unused;
}
static void race(int count) {
  pthread_t all[64];
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&all[i], NULL, first_call, NULL);
  for (int i = 0; i < count; ++i) pthread_join(all[i], NULL);
}

/* A thread gets its name from another thread. */
static uint32_t worker_tid;
static void* named_by_another(void* unused) {
  nvtxRangePushA("before the name");
  nvtxRangePop();
  worker_tid = (uint32_t)syscall(SYS_gettid);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  nvtxRangePushA("after the name");
  nvtxRangePop();
  return unused;
}
static void names(void) {
  pthread_t worker;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&worker, NULL, named_by_another, NULL);
  pthread_barrier_wait(&barrier);
  nvtxNameOsThreadW(worker_tid, L"first name");
  nvtxNameOsThreadA(worker_tid, "named by main");
  pthread_barrier_wait(&barrier);
  pthread_join(worker, NULL);
}

static void forks(void) {
  nvtxRangePushA("before fork");
  const pid_t child = fork();
  if (child == 0) {
    const int depth = nvtxRangePushA("in the child");
    printf("child depth %d\n", depth);
    fflush(stdout);
    nvtxRangePop();
    _exit(nvtxRangePop() == 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  printf("child %d, parent depth %d\n", status, nvtxRangePop());
}

/* Runs until it is killed, and says when a tool begins and ends to listen. The tool was not there when the names were
 * created, and a library with NVTX was there and is gone. */
static void serve(const char* plugin) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("server");
  nvtxEventAttributes_t event = registered(nvtxDomainRegisterStringA(domain, "request"));
  void* const library = dlopen(plugin, RTLD_NOW);
  ((int (*)(const char*))dlsym(library, "plugin_push"))("in the plugin");
  dlclose(library);
  int before = 1;
  for (;;) {
    const int listening = nvtxDomainRangePushEx(domain, &event) >= 0;
    usleep(500);
    nvtxDomainRangePop(domain);
    if (listening == before) continue;
    before = listening;
    printf(listening ? "active\n" : "dormant\n");
    fflush(stdout);
  }
}

/* A training loop that runs until it is killed. */
static void steps(const char* with) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("loop");
  nvtxEventAttributes_t event = registered(nvtxDomainRegisterStringA(domain, "step"));
  for (;;) {
    if (strcmp(with, "text") == 0)
      nvtxRangePushA("step");
    else
      nvtxDomainRangePushEx(domain, &event);
    nvtxRangePushA("work");
    usleep(500);
    nvtxRangePop();
    if (strcmp(with, "text") == 0)
      nvtxRangePop();
    else
      nvtxDomainRangePop(domain);
  }
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "core";
  if (strcmp(what, "core") == 0) core();
  if (strcmp(what, "domains") == 0) domains();
  if (strcmp(what, "interleave") == 0) interleave();
  if (strcmp(what, "plugins") == 0) plugins(words[2], words[3]);
  if (strcmp(what, "threads") == 0) threads(atoi(words[2]));
  if (strcmp(what, "race") == 0) race(atoi(words[2]));
  if (strcmp(what, "names") == 0) names();
  if (strcmp(what, "fork") == 0) forks();
  if (strcmp(what, "exec") == 0) {
    nvtxRangePushA("before exec");
    nvtxRangePop();
    execl(words[0], words[0], "core", (char*)NULL);
  }
  if (strcmp(what, "kill") == 0) {
    for (int i = 0; i < 100; ++i) {
      nvtxRangePushA("work");
      nvtxRangePop();
    }
    nvtxRangePushA("open at the end");
    kill(getpid(), SIGKILL);
  }
  if (strcmp(what, "own") == 0) { /* chooses the tool itself */
    setenv("NVTX_INJECTION64_PATH", words[2], 1);
    core();
  }
  if (strcmp(what, "serve") == 0) serve(words[2]);
  if (strcmp(what, "steps") == 0) steps(words[2]);
  if (strcmp(what, "none") == 0) printf("no calls\n");
  return 0;
}
