#define _GNU_SOURCE
#include "send.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "own_signal.h"
#include "packets.h"
#include "python_code/frames.h"

static struct kymo_packets* packets;
static uint64_t slots;

bool kymo_open_packets(const char* kind) {
  const char* path = secure_getenv(KYMO_PACKETS_VARIABLE);
  if (path == NULL || strncmp(path, kind, strlen(kind)) != 0) return false;
  path += strlen(kind);
  if (*path != '/') return false;
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct stat status;
  void* memory = MAP_FAILED;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > KYMO_PACKETS_HEADER_BYTES)
    memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return false;
  struct kymo_packets* const found = memory;
  slots = ((uint64_t)status.st_size - KYMO_PACKETS_HEADER_BYTES) / KYMO_SLOT_BYTES;
  if (found->magic != KYMO_PACKETS_MAGIC || found->slots != slots || slots == 0) {
    munmap(memory, (size_t)status.st_size);
    return false;
  }
  packets = found;
  return true;
}

uint64_t kymo_interval_ns(void) { return packets->interval_ns; }

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- Packets ---------------------------------------------------------------------------------------------------- */

struct packet {
  struct kymo_slot* slot; /* null: there was no place */
  char* at;
  char* end;
};

static struct packet claim(uint32_t pid) {
  const uint64_t claimed = (uint64_t)pid << KYMO_SLOT_PID_SHIFT | KYMO_SLOT_CLAIMED;
  /* A slot of a program that was killed, or that the recorder has not read yet, does not block those after it. */
  const unsigned attempts = 32;
  for (unsigned i = 0; i < attempts; ++i) {
    const uint64_t number = __atomic_fetch_add(&packets->next, 1, __ATOMIC_RELAXED);
    struct kymo_slot* const slot =
        (void*)((char*)packets + KYMO_PACKETS_HEADER_BYTES + number % slots * KYMO_SLOT_BYTES);
    uint64_t expected = KYMO_SLOT_FREE;
    if (!__atomic_compare_exchange_n(&slot->state, &expected, claimed, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    slot->number = number;
    char* const data = (char*)(slot + 1);
    return (struct packet){slot, data, data + KYMO_PACKET_BYTES};
  }
  return (struct packet){NULL, NULL, NULL};
}

static void finish(struct packet* packet) {
  struct kymo_slot* const slot = packet->slot;
  slot->bytes = (uint64_t)(packet->at - (char*)(slot + 1));
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->state, (state & ~(uint64_t)KYMO_SLOT_PHASE) | KYMO_SLOT_READY, __ATOMIC_RELEASE);
}

/* The memcpy of a program may be another one: that of AddressSanitizer refuses to read a stack. */
static void copy(char* to, const char* from, size_t count) {
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= count; i += sizeof(uint64_t)) {
    uint64_t word;
    __builtin_memcpy(&word, from + i, sizeof word);
    __builtin_memcpy(to + i, &word, sizeof word);
  }
  for (; i < count; ++i) to[i] = from[i];
}

static void put(struct packet* packet, const void* bytes, size_t count) {
  copy(packet->at, bytes, count);
  packet->at += count;
}

static void put_32(struct packet* packet, uint32_t value) { put(packet, &value, sizeof value); }
static void put_64(struct packet* packet, uint64_t value) { put(packet, &value, sizeof value); }

static void put_who(struct packet* packet, struct kymo_who who) {
  put_32(packet, who.pid);
  put_32(packet, who.tid);
}

/* With zeros up to a multiple of eight bytes, and at least one. */
static void put_text(struct packet* packet, const char* text, size_t length) {
  put(packet, text, length);
  const size_t zeros = 8 - length % 8;
  for (size_t i = 0; i < zeros; ++i) *packet->at++ = 0;
}

static char* begin_record(struct packet* packet, uint32_t type, uint16_t misc) {
  char* const record = packet->at;
  const struct perf_event_header header = {type, misc, 0};
  put(packet, &header, sizeof header);
  return record;
}

static void end_record(struct packet* packet, char* record) {
  const uint16_t bytes = (uint16_t)(packet->at - record);
  memcpy(record + offsetof(struct perf_event_header, size), &bytes, sizeof bytes);
}

/* All records but samples end with whom and when they are about. */
static void end_event(struct packet* packet, char* record, struct kymo_who who, uint64_t time) {
  put_who(packet, who);
  put_64(packet, time);
  end_record(packet, record);
}

/* ---- Programs --------------------------------------------------------------------------------------------------- */

enum { kLongestText = 4096, kRecordBytes = kLongestText + 128 };

struct loaded {
  struct packet* packet;
  struct kymo_who who;
  uint64_t time;
  bool is_first;
};

/* The build id in the notes of a loaded file. */
static size_t build_id_of(const struct dl_phdr_info* info, const char** id) {
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_NOTE) continue;
    const char* note = (const char*)(info->dlpi_addr + part->p_vaddr);
    const char* const end = note + part->p_memsz;
    while ((size_t)(end - note) >= sizeof(ElfW(Nhdr))) {
      const ElfW(Nhdr)* const header = (const void*)note;
      const size_t name = (header->n_namesz + 3u) & ~(size_t)3, content = (header->n_descsz + 3u) & ~(size_t)3;
      const size_t left = (size_t)(end - note) - sizeof *header;
      if (name > left || content > left - name) break;
      if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && memcmp(header + 1, "GNU", 4) == 0) {
        *id = (const char*)(header + 1) + name;
        return header->n_descsz;
      }
      note += sizeof *header + name + content;
    }
  }
  return 0;
}

static int send_file(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct loaded* const loaded = data;
  char own[kLongestText];
  const char* path = info->dlpi_name;
  size_t length = strlen(path);
  if (loaded->is_first && length == 0) {
    const ssize_t found = readlink("/proc/self/exe", own, sizeof own - 1);
    length = found > 0 ? (size_t)found : 0;
    path = own;
  } else if (strncmp(path, "linux-", 6) == 0) {
    path = "[vdso]";
    length = strlen(path);
  }
  loaded->is_first = false;
  if (length == 0 || length >= kLongestText) return 0;
  const char* id = NULL;
  size_t id_bytes = build_id_of(info, &id);
  if (id_bytes > 20) id_bytes = 20; /* what fits into a record */
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    struct packet* const packet = loaded->packet;
    if (packet->end - packet->at < kRecordBytes) {
      finish(packet);
      *packet = claim(loaded->who.pid);
      if (packet->slot == NULL) return 1;
    }
    const uint64_t page = 4096, in_page = part->p_vaddr & (page - 1);
    const uint16_t has_build_id = 1 << 14;
    char* const record = begin_record(packet, PERF_RECORD_MMAP2, id_bytes != 0 ? has_build_id : 0);
    put_who(packet, loaded->who);
    put_64(packet, info->dlpi_addr + part->p_vaddr - in_page);
    put_64(packet, (part->p_memsz + in_page + page - 1) / page * page);
    put_64(packet, part->p_offset - in_page);
    char file[24] = {0};
    file[0] = (char)id_bytes;
    if (id_bytes != 0) memcpy(file + 4, id, id_bytes);
    put(packet, file, sizeof file);
    put_32(packet, PROT_READ | PROT_EXEC);
    put_32(packet, MAP_PRIVATE);
    put_text(packet, path, length);
    end_event(packet, record, loaded->who, loaded->time);
  }
  return 0;
}

static size_t read_text(const char* path, char* into, size_t bytes) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t count = read(file, into, bytes);
  close(file);
  return count > 0 ? (size_t)count : 0;
}

/* The words of the command line, each with a zero, as in /proc/self/cmdline. */
static size_t join(int argc, char* const* argv, char* into, size_t bytes) {
  size_t length = 0;
  for (int i = 0; i < argc && argv[i] != NULL; ++i) {
    const size_t word = strlen(argv[i]) + 1;
    if (word > bytes - length) break;
    copy(into + length, argv[i], word);
    length += word;
  }
  return length;
}

void kymo_send_program(struct kymo_who who, int argc, char* const* argv) {
  struct packet packet = claim(who.pid);
  if (packet.slot == NULL) return; /* the recorder then reads /proc */
  const uint64_t time = now_ns();
  char text[kLongestText];
  enum { kNameBytes = 16 };
  text[0] = text[kNameBytes] = '\0';
  prctl(PR_GET_NAME, text);
  size_t length = strlen(text);
  const uint16_t is_exec = 1 << 13;
  char* record = begin_record(&packet, PERF_RECORD_COMM, is_exec);
  put_who(&packet, who);
  put_text(&packet, text, length);
  end_event(&packet, record, who, time);
  length = argc > 0 ? join(argc, argv, text, sizeof text) : read_text("/proc/self/cmdline", text, sizeof text);
  record = begin_record(&packet, KYMO_RECORD_COMMAND, 0);
  put_who(&packet, who);
  put_64(&packet, length);
  put_text(&packet, text, length);
  end_event(&packet, record, who, time);
  struct loaded loaded = {&packet, who, time, true};
  dl_iterate_phdr(send_file, &loaded);
  if (packet.slot != NULL) finish(&packet);
}

static void send_task(uint32_t type, struct kymo_who who, uint32_t parent_pid, uint64_t cpu_ns) {
  struct packet packet = claim(who.pid);
  if (packet.slot == NULL) return;
  const uint64_t time = now_ns();
  char* const record = begin_record(&packet, type, 0);
  put_32(&packet, who.pid);
  put_32(&packet, parent_pid);
  put_32(&packet, who.tid);
  put_32(&packet, parent_pid);
  put_64(&packet, time);
  put_64(&packet, cpu_ns); /* more than the kernel says */
  end_event(&packet, record, who, time);
  finish(&packet);
}

void kymo_send_fork(struct kymo_who child, uint32_t parent_pid) { send_task(PERF_RECORD_FORK, child, parent_pid, 0); }
void kymo_send_exit(struct kymo_who who, uint64_t cpu_ns) { send_task(PERF_RECORD_EXIT, who, 0, cpu_ns); }

static bool is_unload_pending; /* there was no slot for it */

static void put_unload(struct packet* packet, struct kymo_who who) {
  end_event(packet, begin_record(packet, KYMO_RECORD_UNLOAD, 0), who, now_ns());
}

void kymo_send_unload(struct kymo_who who) {
  struct packet packet = claim(who.pid);
  if (packet.slot == NULL) {
    __atomic_store_n(&is_unload_pending, true, __ATOMIC_RELAXED);
    return;
  }
  put_unload(&packet, who);
  finish(&packet);
}

/* ---- Python ----------------------------------------------------------------------------------------------------- */

static struct kymo_python python; /* python.minor is 0: none */
static uintptr_t interpreter_begin, interpreter_end;
static __thread uintptr_t python_thread __attribute__((tls_model("initial-exec")));

/* The code that the recorder knows, by identity. What has no place here is sent again. */
enum { kSentPlaces = 4096, kMostPythonFrames = 768 };
static uint64_t sent_code[kSentPlaces];

static bool load(void* none, uintptr_t from, uint64_t* into) {
  (void)none;
  return kymo_load(from, into);
}
static const struct kymo_memory memory = {load, NULL};

void kymo_forget_sent_code(void) { memset(sent_code, 0, sizeof sent_code); }

static void send_unknown_python(struct kymo_who who, const char* version) {
  struct packet packet = claim(who.pid);
  if (packet.slot == NULL) return;
  char* const record = begin_record(&packet, KYMO_RECORD_PYTHON_UNKNOWN, 0);
  put_text(&packet, version, strcspn(version, " "));
  end_event(&packet, record, who, now_ns());
  finish(&packet);
}

bool kymo_find_own_python(struct kymo_who who) {
  if (_PyRuntime == NULL) return false;
  const uintptr_t runtime = (uintptr_t)_PyRuntime;
  const char* (*version)(void);
  *(void**)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
  if (version == NULL) return false;
  /* Until now, its code is only loaded: this function puts together a constant text. */
  const char* const text = version();
  struct kymo_python found;
  if (!kymo_permit_loads()) return false;
  if (!kymo_find_python(text, runtime, (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type"), memory, &found)) {
    send_unknown_python(who, text);
    return false;
  }
  void* const function = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  Dl_info info;
  const ElfW(Sym)* symbol = NULL;
  if (function != NULL && dladdr1(function, &info, (void**)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL) {
    interpreter_begin = (uintptr_t)info.dli_saddr;
    interpreter_end = interpreter_begin + symbol->st_size;
  }
  python = found;
  return true;
}

/* As far as it can be read. */
static void put_from(struct packet* packet, uintptr_t from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    uint64_t value = 0;
    kymo_load(from + i, &value);
    put(packet, &value, bytes - i < sizeof value ? bytes - i : sizeof value);
  }
}

static bool send_code(struct kymo_who who, const struct kymo_python_code* code) {
  const uint32_t name_bytes = code->name.length * code->name.width, file_bytes = code->file.length * code->file.width;
  const uint32_t others = 256;
  if (name_bytes + file_bytes + others > KYMO_PACKET_BYTES) return false;
  uint32_t sent = 0;
  do {
    struct packet packet = claim(who.pid);
    if (packet.slot == NULL) return false;
    const uint32_t most = KYMO_PACKET_BYTES - name_bytes - file_bytes - others, left = code->lines_bytes - sent;
    const struct kymo_python_definition definition = {code->identity,
                                                      python.minor,
                                                      code->first_line,
                                                      code->name.length,
                                                      code->name.width,
                                                      code->file.length,
                                                      code->file.width,
                                                      code->lines_bytes,
                                                      sent,
                                                      left < most ? left : most,
                                                      0};
    char* const record = begin_record(&packet, KYMO_RECORD_PYTHON_CODE, 0);
    put(&packet, &definition, sizeof definition);
    put_from(&packet, code->name.at, name_bytes);
    put_from(&packet, code->file.at, file_bytes);
    put_from(&packet, code->lines + sent, definition.lines_bytes);
    end_event(&packet, record, who, now_ns());
    finish(&packet);
    sent += definition.lines_bytes;
  } while (sent < code->lines_bytes);
  return true;
}

/* The functions that the thread runs, before its sample. Code that is new to the recorder goes before both. */
static void put_python(struct packet* packet, struct kymo_who who) {
  python_thread = kymo_python_thread(&python, memory, python_thread, (uintptr_t)pthread_self(), 0);
  if (python_thread == 0) return;
  char* const record = begin_record(packet, KYMO_RECORD_PYTHON, 0);
  char* const begin_at = packet->at;
  struct kymo_python_frame* const frames = (void*)(begin_at + sizeof(struct kymo_python_begin));
  bool is_cut = false, is_new = false;
  const size_t count = kymo_python_frames(&python, memory, python_thread, frames, kMostPythonFrames, &is_cut);
  if (count == 0) {
    packet->at = record;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    struct kymo_python_code code;
    if (frames[i].code == 0) continue;
    const uintptr_t address = frames[i].code;
    frames[i].code = ~(uint64_t)0; /* it could not be read */
    if (!kymo_read_python_code(&python, memory, address, &code)) continue;
    frames[i].code = code.identity;
    uint64_t* const place = &sent_code[code.identity % kSentPlaces];
    if (__atomic_load_n(place, __ATOMIC_RELAXED) == code.identity) continue;
    is_new = true;
    if (send_code(who, &code)) __atomic_store_n(place, code.identity, __ATOMIC_RELAXED);
  }
  const struct kymo_python_begin begin = {interpreter_begin, interpreter_end, (uint32_t)count, is_cut};
  put(packet, &begin, sizeof begin);
  packet->at += count * sizeof *frames;
  end_event(packet, record, who, now_ns());
  if (is_new) packet->slot->number = __atomic_fetch_add(&packets->next, 1, __ATOMIC_RELAXED);
}

/* ---- Samples ---------------------------------------------------------------------------------------------------- */

struct registers {
  uint64_t values[4]; /* as of a performance event: in ascending order of their numbers */
  unsigned count;
  uint64_t sp, pc;
};

static struct registers registers_of(const ucontext_t* at) {
#if defined(__x86_64__)
  const greg_t* const all = at->uc_mcontext.gregs;
  const uint64_t sp = (uint64_t)all[REG_RSP], pc = (uint64_t)all[REG_RIP];
  return (struct registers){{(uint64_t)all[REG_RBP], sp, pc}, 3, sp, pc};
#elif defined(__aarch64__)
  const mcontext_t* const all = &at->uc_mcontext;
  return (struct registers){{all->regs[29], all->regs[30], all->sp, all->pc}, 4, all->sp, all->pc};
#else
  (void)at;
  return (struct registers){{0}, 0, 0, 0};
#endif
}

/* A stack that is not the thread's own: of a coroutine, or an alternate one. Nothing says where it ends. */
static size_t copy_unknown(char* into, uintptr_t from, size_t bytes) {
  const size_t page = 4096;
  enum { kParts = KYMO_SLOT_BYTES / 4096 + 1 };
  struct iovec parts[kParts]; /* one for each page: only whole parts are copied */
  unsigned count = 0;
  for (size_t done = 0; done < bytes && count < kParts; ++count) {
    const size_t in_page = page - (from + done) % page, left = bytes - done;
    parts[count] = (struct iovec){(void*)(from + done), in_page < left ? in_page : left};
    done += parts[count].iov_len;
  }
  struct iovec target = {into, bytes};
  const long copied = syscall(SYS_process_vm_readv, getpid(), &target, 1ul, parts, (unsigned long)count, 0ul);
  return copied > 0 ? (size_t)copied : 0;
}

void kymo_send_sample(struct kymo_who who, uint64_t count, bool has_kernel, const ucontext_t* at, uintptr_t stack_low,
                      uintptr_t stack_high) {
  struct packet packet = claim(who.pid);
  if (packet.slot == NULL) {
    __atomic_fetch_add(&packets->lost, count, __ATOMIC_RELAXED);
    return;
  }
  /* First: its addresses have the new meaning. */
  if (__atomic_exchange_n(&is_unload_pending, false, __ATOMIC_RELAXED)) put_unload(&packet, who);
  if (python.minor != 0 && kymo_may_load(at)) put_python(&packet, who);
  const struct registers registers = registers_of(at);
  const uint16_t mode = has_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  char* const record = begin_record(&packet, PERF_RECORD_SAMPLE, mode);
  put_64(&packet, registers.pc);
  put_who(&packet, who);
  put_64(&packet, now_ns());
  put_64(&packet, count);
  put_64(&packet, registers.count != 0 ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
  put(&packet, registers.values, registers.count * sizeof(uint64_t));
  char* const size = packet.at;
  put_64(&packet, 0);
  const size_t most = (size_t)(packet.end - packet.at - 2 * (ptrdiff_t)sizeof(uint64_t)) & ~(size_t)7;
  size_t bytes = 0;
  bool is_cut = true;
  if (count == 0) {
    is_cut = false;
  } else if (registers.sp >= stack_low && registers.sp < stack_high) {
    bytes = (stack_high - registers.sp) & ~(uintptr_t)7;
    is_cut = bytes > most;
    if (is_cut) bytes = most;
    copy(packet.at, (const char*)registers.sp, bytes);
  } else if (registers.sp != 0) {
    bytes = copy_unknown(packet.at, registers.sp, most) & ~(size_t)7;
  }
  packet.at += bytes;
  /* As the kernel does it: if all of the space is used, the stack goes on. */
  const uint64_t space = bytes + (is_cut ? 0 : sizeof(uint64_t));
  if (!is_cut) put_64(&packet, 0);
  memcpy(size, &space, sizeof space);
  if (space != 0) put_64(&packet, bytes);
  end_record(&packet, record);
  finish(&packet);
}
