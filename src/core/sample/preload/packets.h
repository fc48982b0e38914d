/* The memory that the sampled programs of a recording share with the recorder: slots for packets.
 *
 * A packet is one or more records in the format of the kernel's performance events (sample/perf_record.h), so that the
 * recorder treats the samples of a timer as those of the kernel. A writer claims a free slot, fills it, and marks it as
 * ready; the recorder frees it. Nothing waits: if there is no free slot, the loss is counted. A program that is killed
 * while it writes leaves its slot claimed; the recorder frees it when the process is gone.
 *
 * The memory is a sealed memfd of the recorder: it can neither shrink nor stay behind. Programs open it by its path in
 * /proc. This header is C, because the preloaded library is.
 */
#ifndef KYMO_SAMPLE_PRELOAD_PACKETS_H
#define KYMO_SAMPLE_PRELOAD_PACKETS_H

#include <stdint.h>

#define KYMO_PACKETS_MAGIC 0x31534b504f4d594bull
#define KYMO_PACKETS_VARIABLE "KYMO_SAMPLE_PACKETS"
/* Before the path, if the kernel samples too: it is only for programs that are Python. */
#define KYMO_PACKETS_OF_PYTHON "python:"

enum {
  KYMO_PACKETS_HEADER_BYTES = 4096,
  KYMO_SLOT_BYTES = 32768,
};

/* At the begin of the memory. The slots come after KYMO_PACKETS_HEADER_BYTES. */
struct kymo_packets {
  uint64_t magic;
  uint64_t slots;
  uint64_t interval_ns; /* of CPU time, between two samples of a thread */
  uint64_t next;        /* the number of the next packet; atomic */
  uint64_t lost;        /* samples for which there was no slot; atomic */
};

/* The lowest bits of a state; the rest is the process that claimed the slot. */
enum { KYMO_SLOT_FREE = 0, KYMO_SLOT_CLAIMED = 1, KYMO_SLOT_READY = 2, KYMO_SLOT_PHASE = 3, KYMO_SLOT_PID_SHIFT = 2 };

struct kymo_slot {
  uint64_t state;  /* atomic */
  uint64_t number; /* packets are handled in this order */
  uint64_t bytes;  /* of the records that follow */
  uint64_t reserved;
};

enum { KYMO_PACKET_BYTES = KYMO_SLOT_BYTES - 32 };

/* What the kernel's records do not have. */
enum {
  KYMO_RECORD_COMMAND = 1000,        /* pid, tid, the words of the command line, each with a zero */
  KYMO_RECORD_UNLOAD = 1001,         /* a file was unloaded; nothing but who and when */
  KYMO_RECORD_PYTHON = 1002,         /* struct kymo_python_begin and the frames of the next sample in this packet */
  KYMO_RECORD_PYTHON_CODE = 1003,    /* struct kymo_python_definition, name, file and a part of the table of lines */
  KYMO_RECORD_PYTHON_UNKNOWN = 1004, /* the text of a version whose layout is not known */
};

/* The frames are struct kymo_python_frame (python_code/frames.h), with the identity of their code instead of its
 * address. */
struct kymo_python_begin {
  uint64_t interpreter_begin, interpreter_end; /* the native function of the interpreter */
  uint32_t frames, is_cut;
};

struct kymo_python_definition {
  uint64_t identity;
  uint32_t minor, first_line;       /* of Python 3, of the function */
  uint32_t name_length, name_width; /* characters, and bytes of each */
  uint32_t file_length, file_width;
  uint32_t lines, lines_begin, lines_bytes; /* the table of lines: all of it, and the part that is here */
  uint32_t reserved;
};

#endif
