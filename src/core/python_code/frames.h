/* The Python functions that a thread runs, read from the memory of its process.
 *
 * The reader calls nothing of Python, takes no lock, and reads only with a function that cannot fault: in a signal
 * handler that is a load whose fault is caught (own_signal.h), in another process it is process_vm_readv. So what it
 * reads may be in the middle of a change: every pointer is checked by what it must point to. A thread that is in a
 * function that its Python called reads its own frames directly: nothing changes them. It reads only versions of
 * CPython whose layout is known. C and C++ use this header.
 */
#ifndef KYMO_PYTHON_CODE_FRAMES_H
#define KYMO_PYTHON_CODE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a word at any address. False: there is no such memory. */
typedef bool (*kymo_load_word)(void* context, uintptr_t from, uint64_t* into);

struct kymo_memory {
  kymo_load_word load; /* null: all of it is there, for the functions of the calling thread, outside of handlers */
  void* context;
};

/* Where things are: bytes from the begin of their structure. */
struct kymo_python_layout {
  uint16_t interpreters, interpreter_next, threads;           /* runtime, interpreter */
  uint16_t thread_next, thread_id, thread_native_id, current; /* thread state; 0: it has no native id */
  uint16_t c_frame_current, c_frame_previous;                 /* of a _PyCFrame, before 3.13 */
  uint16_t code, previous, instruction, owner;                /* frame; owner of 3.11 is after its is_entry */
  uint16_t first_line, file, name, lines, instructions;       /* code object */
  uint16_t ascii, text;                                       /* the sizes of a text object: ASCII only, and others */
};

struct kymo_python {
  unsigned minor; /* of 3.x; 0: no Python, or not a known one */
  uintptr_t runtime;
  uintptr_t code_type; /* PyCode_Type; 0: not known */
  struct kymo_python_layout at;
};

/* `version` is "3.11.2", `runtime` the address of _PyRuntime. False: this version, or this kind of it, is not known. */
bool kymo_find_python(const char* version, uintptr_t runtime, uintptr_t code_type, struct kymo_memory memory,
                      struct kymo_python* found);

/* The state of a thread: the last one if it is still that of the thread and runs something. 0: it has none.
 * `thread` is its pthread_t; 0: it is found by `tid`, which only Python 3.11 and later know. */
uintptr_t kymo_python_thread(const struct kymo_python* python, struct kymo_memory memory, uintptr_t last,
                             uintptr_t thread, uint32_t tid);

/* The functions of a thread, innermost first, and between them the marks. `code` 0 is a mark: the functions before it
 * were run by the native function that has the address `at` in its frame; if `at` is 0, by the next one of the
 * interpreter. */
struct kymo_python_frame {
  uint64_t code; /* the address of the code object */
  uint64_t at;   /* the instruction, in bytes from the first one; negative: before it */
};
/* Returns how many. `is_cut`: there may be more outside. */
size_t kymo_python_frames(const struct kymo_python* python, struct kymo_memory memory, uintptr_t thread,
                          struct kymo_python_frame* frames, size_t most, bool* is_cut);

struct kymo_python_text {
  uintptr_t at;
  uint32_t length, width; /* characters, and the bytes of each */
};

/* A code object as it is now. */
struct kymo_python_code {
  uint64_t identity; /* of its content: another function at the same address has another one */
  uint32_t first_line;
  struct kymo_python_text name, file;
  uintptr_t lines; /* its table of lines */
  uint32_t lines_bytes;
};
bool kymo_read_python_code(const struct kymo_python* python, struct kymo_memory memory, uintptr_t code,
                           struct kymo_python_code* read);

#ifdef __cplusplus
}
#endif

#endif
