// The records that the kernel writes into the ring of a performance event: from bytes to values.
//
// A pure function of its input. The bytes are checked like any other input: a record that does not match its layout
// gives nothing. The views in a Record point into the bytes that were decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "sample/wake_ups.h"

namespace kymo::sample {

// Why there is a sample.
enum class Cause : uint8_t {
  Clock,   // the thread used the CPU for a while
  Wait,    // the thread stops running: what it did last
  WakeUp,  // another thread is woken
};

// What the samples of events contain: perf_event_attr::sample_type, and the number of registers of each sample.
struct RecordLayout {
  uint64_t sample_type = 0;
  unsigned registers = 0;
  // The numbers of the events that are not of the clock, ascending. If there are some, samples state their event.
  // Those of wake-ups have only whom and when they are about, and these data.
  std::vector<std::pair<uint64_t, Cause>> events = {};
  WakeUpEvent wake_up = {};
};

enum class RecordKind : uint8_t {
  Sample,
  Map,            // a file was mapped
  Name,           // a thread has a new name, or its process runs another program
  Fork,           // a new thread or process
  Exit,           // of a thread
  SwitchIn,       // a thread runs again on a processor
  SwitchOut,      // a thread does not run any more
  Lost,           // the ring was full
  Damaged,        // records that could not be read
  Command,        // the words of the command line of a new program
  Python,         // the Python functions of the next sample of this thread
  PythonCode,     // one of them: its name, file and lines
  PythonUnknown,  // the process is a Python whose functions cannot be read
  Unload,         // files were unmapped: of a timer, because the kernel reports only what takes their place
  Throttle,       // the kernel stopped sampling for a while, because it took too much time
  Unthrottle,     // and goes on
  Other,
};

// 64-bit numbers at any address.
class Words {
 public:
  Words() = default;
  explicit Words(base::Bytes bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size() / sizeof(uint64_t); }
  uint64_t operator[](size_t index) const { return base::load<uint64_t>(bytes_.data() + index * sizeof(uint64_t)); }

 private:
  base::Bytes bytes_;
};

struct Record {
  RecordKind kind = RecordKind::Other;
  uint64_t time = 0;  // of the clock of the event; 0: the record has none
  uint32_t pid = 0, tid = 0;

  uint32_t parent_pid = 0;    // Fork
  uint32_t parent_tid = 0;    // the same: the thread that created it
  bool is_exec = false;       // Name: the process runs another program now
  bool is_preempted = false;  // SwitchOut: it could have gone on
  uint64_t lost = 0;          // Lost, Damaged: the number of records
  uint64_t lost_samples = 0;  // Lost: how many of them can be samples
  uint64_t lost_since = 0;    // Lost: until then, nothing was; 0: not known
  std::string_view text;      // Name: the name; Map: the path; Command: the words, each with a zero;
                              // PythonUnknown: the version
  uint64_t cpu_ns = 0;        // Exit: the CPU time of the thread; 0: not known

  // Map
  uint64_t begin = 0, length = 0, file_offset = 0;
  uint64_t inode = 0;    // 0: not known
  base::Bytes build_id;  // empty: not known
  bool is_code = false;

  base::Bytes python;  // Python, PythonCode: see python_functions.h

  // Sample
  bool is_inside = false;     // taken by the thread itself, which the kernel samples too
  bool is_of_kernel = false;  // taken in the kernel; of a thread itself: it stands for its time there too
  Cause cause = Cause::Clock;
  uint64_t instruction = 0;
  uint32_t woken = 0;  // WakeUp: the other thread; 0: not known. If an interrupt wakes it, pid and tid are 0
  // Of an event of the kernel: CPU time since its last sample, in ns. Of a timer: how many of its expirations the
  // sample stands for; 0: none, it says only where the thread is.
  uint64_t period = 0;
  Words chain;          // return addresses, and the kernel's marks between its own and those of the program
  Words registers;      // of the program, in ascending order of their numbers; empty: none
  base::Bytes stack;    // of the program, from its stack pointer on
  bool is_cut = false;  // the stack goes on after these bytes
};

// `bytes` is one record with its header.
std::optional<Record> decode_record(base::Bytes bytes, const RecordLayout& layout);

// Where the records of a sampler come from: performance events of the kernel, or timers inside the programs.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Waits until there is much to read, for wake(), or for this time.
  virtual void wait(int milliseconds) = 0;
  // From any thread: ends wait(), now and from now on.
  virtual void wake() = 0;
  // Hands over what has arrived, in its order. The views in a record are valid during the call.
  using Handle = std::function<void(const Record&)>;
  virtual void read(bool is_last, const Handle& handle) = 0;

  // Of all processes together, until now. Nothing: not counted.
  struct Counts {
    uint64_t page_faults = 0, cpu_ns = 0;
    uint64_t without_wake_ups_ns = 0;  // there were too many
    uint64_t lost = 0;                 // records for which a ring had no space
  };
  virtual std::optional<Counts> counts() const = 0;
  // True if each change of a process is reported: code that is loaded, names, ends. Otherwise, /proc has to be read.
  virtual bool is_complete() const = 0;
};

}  // namespace kymo::sample
