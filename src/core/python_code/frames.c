#include "python_code/frames.h"

#include <string.h>

/* From CPython's headers, on 64-bit systems. */
static const struct kymo_python_layout known[] = {
    {32, 0, 8, 8, 176, 0, 24, 0, 0, 32, 24, 104, 0, 40, 104, 112, 120, 0, 48, 72},       /* 3.9 */
    {32, 0, 8, 8, 176, 0, 24, 0, 8, 32, 24, 96, 0, 40, 104, 112, 120, 0, 48, 72},        /* 3.10 */
    {40, 0, 16, 8, 152, 160, 56, 8, 16, 32, 48, 56, 69, 72, 112, 128, 136, 184, 48, 72}, /* 3.11 */
    {40, 0, 72, 8, 136, 144, 56, 0, 8, 0, 8, 56, 70, 68, 112, 128, 136, 192, 40, 56},    /* 3.12 */
};
enum { kFirstMinor = 9, kFirstWithFrames = 11, kFirstWithShims = 12, kFirstWithOffsets = 13, kLastMinor = 13 };
enum { kCFrame310 = 48 }; /* in the thread state of 3.10 */
enum { kOwnedByCStack = 3 };

/* _Py_DebugOffsets of 3.13, in words. */
enum {
  kVersion = 1,
  kFreeThreaded = 2,
  kInterpretersHead = 5,
  kInterpreterNext = 8,
  kThreadsHead = 9,
  kThreadNext = 21,
  kCurrentFrame = 23,
  kThreadId = 24,
  kNativeThreadId = 25,
  kPrevious = 29,
  kExecutable = 30,
  kInstruction = 31,
  kOwner = 33,
  kFileName = 35,
  kQualifiedName = 37,
  kLineTable = 38,
  kFirstLine = 39,
  kCodeAdaptive = 43,
  kAsciiSize = 70,
};
enum { kOfferedWords = 71 };

enum {
  kType = 8,
  kSizeOfObject = 16,
  kBytes = 32,
  kTextLength = 16,
  kTextHash = 24,
  kTextState = 32,
  kUtf8OfText = 16
};
enum { kMostThreads = 4096, kMostInterpreters = 256, kMostFrames = 4096 };
enum { kMostText = 4096, kMostLines = 4 << 20 };

static bool load_word(struct kymo_memory memory, uintptr_t from, uint64_t* into) {
  if (memory.load != NULL) return memory.load(memory.context, from, into);
  memcpy(into, (const void*)from, sizeof *into);
  return true;
}

static uint64_t word(struct kymo_memory memory, uintptr_t at) {
  uint64_t value = 0;
  return load_word(memory, at, &value) ? value : 0;
}

static unsigned number_in(const char** text) {
  unsigned number = 0;
  for (; **text >= '0' && **text <= '9' && number < 1000; ++*text) number = number * 10 + (unsigned)(**text - '0');
  return number;
}

static bool read_offsets(uintptr_t runtime, struct kymo_memory memory, unsigned minor, struct kymo_python_layout* at) {
  uint64_t words[kOfferedWords];
  for (size_t i = 0; i < kOfferedWords; ++i)
    if (!load_word(memory, runtime + i * sizeof(uint64_t), &words[i])) return false;
  if (memcmp(words, "xdebugpy", sizeof(uint64_t)) != 0 || words[kVersion] >> 24 != 3 ||
      (words[kVersion] >> 16 & 0xff) != minor || words[kFreeThreaded] != 0)
    return false;
  uint16_t* const into[] = {&at->interpreters,
                            &at->interpreter_next,
                            &at->threads,
                            &at->thread_next,
                            &at->current,
                            &at->thread_id,
                            &at->thread_native_id,
                            &at->previous,
                            &at->code,
                            &at->instruction,
                            &at->owner,
                            &at->file,
                            &at->name,
                            &at->lines,
                            &at->first_line,
                            &at->instructions,
                            &at->ascii};
  const uint8_t from[] = {kInterpretersHead, kInterpreterNext, kThreadsHead, kThreadNext,   kCurrentFrame, kThreadId,
                          kNativeThreadId,   kPrevious,        kExecutable,  kInstruction,  kOwner,        kFileName,
                          kQualifiedName,    kLineTable,       kFirstLine,   kCodeAdaptive, kAsciiSize};
  for (size_t i = 0; i < sizeof from; ++i) {
    if (words[from[i]] > UINT16_MAX) return false;
    *into[i] = (uint16_t)words[from[i]];
  }
  at->text = (uint16_t)(at->ascii + kUtf8OfText);
  return true;
}

bool kymo_find_python(const char* version, uintptr_t runtime, uintptr_t code_type, struct kymo_memory memory,
                      struct kymo_python* found) {
  const char* at = version;
  const unsigned major = number_in(&at);
  if (major != 3 || *at != '.') return false;
  ++at;
  const unsigned minor = number_in(&at);
  /* Layouts change until the first release: "3.12.0a1". */
  if (*at++ != '.') return false;
  number_in(&at);
  if (minor < kFirstMinor || minor > kLastMinor || *at == 'a' || *at == 'b' || *at == 'r') return false;
  struct kymo_python python;
  memset(&python, 0, sizeof python);
  python.minor = minor;
  python.runtime = runtime;
  python.code_type = code_type;
  if (minor >= kFirstWithOffsets) {
    if (!read_offsets(runtime, memory, minor, &python.at)) return false;
  } else {
    python.at = known[minor - kFirstMinor];
  }
  *found = python;
  return true;
}

static bool is_of(const struct kymo_python* python, struct kymo_memory memory, uintptr_t state, uintptr_t thread,
                  uint32_t tid) {
  if (thread != 0) return word(memory, state + python->at.thread_id) == thread;
  return python->at.thread_native_id != 0 && word(memory, state + python->at.thread_native_id) == tid;
}

/* Of a state: what it runs. 0: nothing. */
static uintptr_t innermost(const struct kymo_python* python, struct kymo_memory memory, uintptr_t state) {
  const uintptr_t current = word(memory, state + python->at.current);
  const bool is_in_c_frame = python->minor >= kFirstWithFrames && python->minor < kFirstWithOffsets;
  return is_in_c_frame && current != 0 ? word(memory, current + python->at.c_frame_current) : current;
}

uintptr_t kymo_python_thread(const struct kymo_python* python, struct kymo_memory memory, uintptr_t last,
                             uintptr_t thread, uint32_t tid) {
  if (last != 0 && is_of(python, memory, last, thread, tid) && innermost(python, memory, last) != 0) return last;
  uintptr_t idle = 0;
  uintptr_t interpreter = word(memory, python->runtime + python->at.interpreters);
  for (unsigned i = 0; i < kMostInterpreters && interpreter != 0; ++i) {
    uintptr_t state = word(memory, interpreter + python->at.threads);
    for (unsigned j = 0; j < kMostThreads && state != 0; ++j) {
      if (is_of(python, memory, state, thread, tid)) {
        if (innermost(python, memory, state) != 0) return state;
        idle = state;
      }
      state = word(memory, state + python->at.thread_next);
    }
    interpreter = word(memory, interpreter + python->at.interpreter_next);
  }
  return idle;
}

static void add_frame(struct kymo_python_frame* frames, size_t* count, uint64_t code, uint64_t at) {
  frames[*count].code = code;
  frames[*count].at = at;
  ++*count;
}

static inline __attribute__((always_inline)) size_t read_frames(const struct kymo_python* python,
                                                                struct kymo_memory memory, uintptr_t thread,
                                                                struct kymo_python_frame* frames, size_t most,
                                                                bool* is_cut) {
  const struct kymo_python_layout* const at = &python->at;
  size_t count = 0;
  uintptr_t frame = innermost(python, memory, thread);
  uintptr_t c_frame = 0; /* of the innermost native function of the interpreter */
  if (python->minor == 10)
    c_frame = word(memory, thread + kCFrame310);
  else if (python->minor == 11)
    c_frame = word(memory, thread + at->current);
  *is_cut = false;
  unsigned steps = 0;
  for (; frame != 0 && steps < kMostFrames && count + 2 <= most; ++steps) {
    const uintptr_t code = word(memory, frame + at->code);
    const uint64_t instruction = word(memory, frame + at->instruction);
    const uint64_t owner = python->minor >= kFirstWithFrames ? word(memory, frame + at->owner - at->owner % 8) : 0;
    const unsigned shift = at->owner % 8 * 8;
    if (python->minor >= kFirstWithShims && (owner >> shift & 0xff) == kOwnedByCStack) {
      add_frame(frames, &count, 0, frame);
    } else {
      if (code == 0 || (python->code_type != 0 && word(memory, code + kType) != python->code_type)) break;
      uint64_t offset;
      if (python->minor >= kFirstWithFrames)
        offset = instruction - (code + at->instructions);
      else
        offset = (uint64_t)((int64_t)(int32_t)instruction * (python->minor == 10 ? 2 : 1));
      add_frame(frames, &count, code, offset);
      if (python->minor < kFirstWithFrames) {
        add_frame(frames, &count, 0, c_frame);
        if (c_frame != 0) c_frame = word(memory, c_frame + at->c_frame_previous);
      } else if (python->minor < kFirstWithShims && (owner >> (shift - 8) & 0xff) != 0) { /* is_entry */
        add_frame(frames, &count, 0, c_frame);
        c_frame = word(memory, c_frame + at->c_frame_previous);
      }
    }
    frame = word(memory, frame + at->previous);
  }
  *is_cut = frame != 0;
  return count;
}

size_t kymo_python_frames(const struct kymo_python* python, struct kymo_memory memory, uintptr_t thread,
                          struct kymo_python_frame* frames, size_t most, bool* is_cut) {
  const struct kymo_memory own = {NULL, NULL}; /* a copy of its own, which calls nothing */
  return memory.load == NULL ? read_frames(python, own, thread, frames, most, is_cut)
                             : read_frames(python, memory, thread, frames, most, is_cut);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

static bool read_text(const struct kymo_python* python, struct kymo_memory memory, uintptr_t object,
                      struct kymo_python_text* text, uint64_t* identity) {
  uint64_t length, state;
  if (object == 0 || !load_word(memory, object + kTextLength, &length) ||
      !load_word(memory, object + kTextState, &state))
    return false;
  const unsigned kind = (unsigned)(state >> 2 & 7); /* bit fields, the same in all versions */
  const bool is_compact = (state >> 5 & 1) != 0, is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return false;
  if (length > kMostText) length = kMostText;
  text->at = object + (is_ascii ? python->at.ascii : python->at.text);
  text->length = (uint32_t)length;
  text->width = kind;
  const uint64_t hash = word(memory, object + kTextHash);
  *identity = mix(mix(*identity, object), hash);
  if (hash != UINT64_MAX) return true;
  for (uint64_t i = 0; i + sizeof(uint64_t) <= length * kind; i += sizeof(uint64_t))
    *identity = mix(*identity, word(memory, text->at + i));
  return true;
}

bool kymo_read_python_code(const struct kymo_python* python, struct kymo_memory memory, uintptr_t code,
                           struct kymo_python_code* read) {
  const struct kymo_python_layout* const at = &python->at;
  if (python->code_type != 0 && word(memory, code + kType) != python->code_type) return false;
  memset(read, 0, sizeof *read);
  read->first_line = (uint32_t)word(memory, code + at->first_line);
  read->identity = mix(code, read->first_line);
  if (!read_text(python, memory, word(memory, code + at->name), &read->name, &read->identity) ||
      !read_text(python, memory, word(memory, code + at->file), &read->file, &read->identity))
    return false;
  const uintptr_t lines = word(memory, code + at->lines);
  const uint64_t bytes = lines != 0 ? word(memory, lines + kSizeOfObject) : 0;
  if (bytes > kMostLines) return false;
  read->lines = lines + kBytes;
  read->lines_bytes = (uint32_t)bytes;
  read->identity = mix(mix(read->identity, lines), bytes);
  const uint64_t most = 64; /* what a function of another content differs in */
  for (uint64_t i = 0; i + sizeof(uint64_t) <= bytes && i < most; i += sizeof(uint64_t))
    read->identity = mix(read->identity, word(memory, read->lines + i));
  if (read->identity == 0) read->identity = 1;
  return true;
}
