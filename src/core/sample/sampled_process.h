// One sampled process in the trace: its own writer, with a track for each thread and these classes of events:
//
//   "sample"      Sample {node}: the thread was on a processor, with this stack
//   "on CPU"      Sample {ns}: since the last one, the thread was on a processor for so long
//   "off CPU"     Sample {ns, preempted}: from then on, the thread was on no processor for so long
//   "off CPU"     Sample {ns, preempted, node}: the same, with the stack that it had then
//   "wake-up"     Sample {pid, tid}: this other thread ended the wait, also by its own end, or created this one
//   "ready"       Sample {ns}: for so long, the thread was ready at the ends of its waits until then
//   "stack node"  Instant {node, parent, address}, as of the heap recorder (docs/heap.md)
//   "module"      Instant {path, base, size, build_id}, also as there
//   "symbol"      Instant {address, name}: the function with this address in stack nodes, if it is in no file
//   "symbol"      Instant {address, name, file, line}: the same of a Python function
//
// It is written only if it has events: many processes run another program at once. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sample/address_space.h"
#include "sample/kernel_names.h"
#include "sample/outbox.h"
#include "sample/perf_record.h"
#include "sample/python_functions.h"
#include "sample/python_process.h"
#include "sample/stack_finder.h"
#include "trace/model.h"
#include "unwind/stack_tree.h"
#include "unwind/walk.h"

namespace kymo::sample {

// The program that a process runs. Empty: not known.
struct Command {
  std::string path;
  std::vector<std::string> words;
  uint64_t read_ns = 0;                // when it was read from /proc; 0: it is certain
  std::vector<std::string> variables;  // of its environment: those that describe the run, NAME=VALUE
};

// Of a process that may have ended.
Command command_of(uint32_t pid);

struct SampleTotals {
  uint64_t samples = 0;
  uint64_t waits = 0;        // with a stack, in the trace
  uint64_t all_waits = 0;    // also those without a stack, but not of threads that could go on
  uint64_t lost = 0;         // samples
  uint64_t lost_others = 0;  // records about context switches, threads and files
  uint64_t throttled = 0;    // how often the kernel paused
  uint64_t processes = 0, threads = 0;
  uint64_t unnamed = 0;                   // addresses without a name in the trace, because there were too many
  uint64_t running = 0;                   // processes that still run at the end of the recording
  uint64_t on_ns = 0, off_ns = 0;         // of all threads
  std::set<std::string> unknown_pythons;  // versions whose functions cannot be read
};

// What all processes of a recording share.
struct SharedState {
  Outbox outbox;
  CodeFiles files;
  KernelNames kernel;
  StackFinder stacks{kernel};
  SampleTotals totals;
  std::string session;
  std::string rate;      // "1 kHz"
  std::string by;        // who samples
  std::string also;      // what else has samples
  std::string wake_ups;  // SamplerOptions::wake_ups
  bool has_wake_ups = false;
  std::string unseen;  // SamplerOptions::unseen
  // By recorded thread: when it was last woken, and the thread that woke it.
  struct WakeUp {
    uint64_t time = 0;
    uint32_t by_pid = 0, by_tid = 0;  // 0: an interrupt, or a program that is not recorded
    bool is_end = false;              // it did so by its end, so the time is a little earlier
  };
  std::unordered_map<uint32_t, WakeUp> last_wake_ups;
  // By process: its last thread or child that ended, and when. The kernel does not record what that wakes.
  std::unordered_map<uint32_t, WakeUp> last_ends;
  uint64_t piece_ns = 0;                        // SamplerOptions::piece_ns
  bool is_complete = true;                      // RecordSource::is_complete
  std::optional<trace::WriterId> first_writer;  // of the first process in the file
  trace::Origin first_origin;
};

class SampledProcess {
 public:
  // `command` is what it runs, as far as it is known.
  SampledProcess(uint32_t pid, uint32_t parent_pid, AddressSpace code, Command command, SharedState& shared);
  SampledProcess(const SampledProcess&) = delete;
  SampledProcess& operator=(const SampledProcess&) = delete;

  AddressSpace& code() { return code_; }
  const Command& command() const { return command_; }
  uint32_t parent_pid() const { return parent_pid_; }

  // The words of the command line, each with a zero.
  void set_command(std::string_view words);
  // This is another program in the process of `before`, which ends now. What a shell does between fork and exec is of
  // no interest, unless it takes long enough for a sample: then only its time is kept.
  void follow(SampledProcess& before, uint64_t time);
  // A new thread, which is ready from then on. It may be the first one of the process.
  void create(const Record& record);
  // The thread runs from then on.
  void begin(uint32_t tid, uint64_t time);

  void map(const Record& record);
  // Files were unmapped. Needed only where the kernel does not report what is mapped.
  void unload(uint64_t time);
  void name(uint32_t tid, std::string_view name);
  std::string name_of(uint32_t tid) const;  // empty: not known
  void sample(const Record& record);        // of any cause
  // What the threads of a Python send: their functions are a part of the next sample.
  void python(const Record& record);
  // Of threads that still wait after all records were read, from outside: one that waits does not change what it has.
  void read_waiting_python();
  bool has_thread(uint32_t tid) const { return threads_.contains(tid); }
  void switched(const Record& record);
  // Records of context switches were lost from one time to another: what threads did then is not known.
  void lost_switches(uint64_t since, uint64_t until);
  void lose(trace::LossCause cause, uint64_t count, uint32_t tid, uint64_t time, const char* detail = "");
  // `cpu_ns` is its CPU time, if the context switches are not reported.
  void exit(uint32_t tid, uint64_t time, uint64_t cpu_ns = 0);

  // Hands over what is older than a moment, or everything.
  void flush(uint64_t now, bool everything);
  // The file is new, or lost what it contained: everything is stated again.
  void restate();
  // Its end, or that of the recording. `runs_on`: the process runs another program from then on.
  void finish(uint64_t time, bool runs_on = false);
  bool has_samples() const { return own_.samples != 0; }
  bool has_threads() const { return !threads_.empty(); }

 private:
  struct KernelSample {
    uint64_t time = 0;
    unwind::Registers at;  // of the program
    std::vector<uint64_t> stack, ends;
    unwind::Node root = unwind::kNoStack;
  };
  struct Thread {
    uint32_t track = 0;
    std::string name;
    bool is_stated = false;
    unwind::StackTree tree;
    trace::EventBatch batch;
    uint64_t sequence = 0;
    uint64_t oldest = 0, latest = 0;  // the times of the first event of the batch, and of the last event
    uint64_t out_since = 0;           // on no processor since then; 0: on one, or not known
    uint64_t in_since = 0;
    uint64_t on_ns = 0;  // on a processor, not yet in the batch
    bool was_preempted = false;
    std::optional<uint64_t> ready_ns;  // so much of its time in the kernel's queue is in the trace; nothing: not known
    bool may_have_ended = false;       // records were lost since it was last seen
    std::optional<unwind::Node> wait_root;    // how its stack ended when it stopped running; none: not known
    std::vector<uint64_t> wait_stack;         // not a node: the tree may be stated again during the wait
    std::vector<uint64_t> wait_ends;          // StackFinder::ends()
    unwind::Registers wait_at{};              // of the program
    std::vector<uint64_t> python_wait_stack;  // the same stack with Python's functions
    std::optional<unwind::Node> python_wait_root;
    uint64_t python_read_ns = 0;        // if it waited until then; 0: they were not read
    uint64_t waits = 0, all_waits = 0;  // in the batch
    // The last wait in the batch, while its stack has no functions of Python: its first point, and what these are
    // before it; the nodes that name the stack.
    struct {
      size_t points = SIZE_MAX, ints = 0, text = 0;
      std::vector<size_t> nodes;
      unwind::Node root = unwind::kNoStack;
    } native_wait;
    std::optional<PythonStack> python;  // of its next sample
    // It takes its own samples. Those of the kernel only say which functions of the kernel a system call runs, or what
    // a thread did that has ended since.
    bool is_inside = false;
    uint64_t last_inside = 0;  // its time
    unsigned missed = 0;       // samples of the kernel in its code since then
    uint64_t counted = 0;      // samples of the kernel since then that are in the batch
    std::deque<KernelSample> pending;
  };
  Thread& thread(uint32_t tid);
  void introduce();
  void write_origin(bool is_end);
  bool is_command_own() const;
  void find_command_line();
  void hand_over(uint32_t tid, Thread& thread);
  std::span<const uint64_t> stack_of(const Record& record, unwind::Node& root);
  unwind::Node node_of(Thread& thread, std::span<const uint64_t> stack, unwind::Node root, uint64_t time);
  void hand_over_all();
  bool is_stated_between(uint64_t begin, uint64_t end) const;
  void map_code(MappedFile mapped, uint64_t time);
  bool map_new_code(const std::vector<MappedFile>& mapped, uint64_t time);
  bool read_maps_again(uint64_t time);
  void state_made_names(Thread& thread, uint64_t time);
  void state_module(Thread& thread, const LoadedFile& file, uint64_t time);
  void read_name(uint32_t tid);
  void on_cpu(Thread& thread, uint64_t ns, uint64_t time);
  void state_on_cpu(Thread& thread, uint64_t time);
  void state_ready(uint32_t tid, Thread& thread);
  void clock_sample(const Record& record, Thread& thread);
  void inside_sample(const Record& record, Thread& thread);
  void count_samples(Thread& thread, uint64_t time, uint64_t count, std::span<const uint64_t> stack,
                     std::span<const uint64_t> ends, unwind::Node root, const std::optional<PythonStack>& python = {});
  void lose_beyond_most(const Record& record, uint64_t count);
  void keep_kernel_sample(const Record& record, Thread& thread);
  void count_pending(Thread& thread);
  void name_native_wait(Thread& thread, const PythonStack& python);
  void state_symbol(Thread& thread, uint64_t time, uint64_t address, std::string_view name);
  void state_python(Thread& thread, uint64_t time, uint64_t address);
  void state_file(Thread& thread, uint64_t address, uint64_t time);
  void point(Thread& thread, uint64_t time, trace::PointKind kind, uint32_t class_id,
             std::initializer_list<uint64_t> values);
  void off_cpu(Thread& thread, uint64_t from, uint64_t to, bool is_new = true);
  void waited(uint32_t tid, Thread& thread, uint64_t from, uint64_t to);
  void take_waiting_python(Thread& thread, uint64_t until);

  const uint32_t pid_, parent_pid_;
  AddressSpace code_;
  Command command_;
  SharedState& shared_;
  trace::WriterId id_;
  trace::Origin origin_;
  bool is_introduced_ = false;
  bool is_counted_ = false;  // in the totals: another program of this process may be
  // Before exec: when the process was created, and what it did since then.
  SharedState::WakeUp created_;
  uint64_t carried_on_ns_ = 0, carried_ready_ns_ = 0;
  uint64_t ready_ns_ = 0;  // of all threads
  uint64_t maps_read_ns_ = 0;
  std::map<uint32_t, Thread> threads_;
  uint32_t next_track_ = 1;
  std::map<uint64_t, uint64_t> stated_files_;  // their first address, and the one after their last
  std::set<uint64_t> stated_names_;            // by address
  std::set<uint64_t> made_;                    // addresses in no file, in stacks
  PythonFunctions python_;
  bool is_inside_ = false;  // new threads will take their own samples
  std::optional<PythonProcess> python_process_;
  unsigned looked_for_python_ = 0;  // times
  SampleTotals own_;
};

}  // namespace kymo::sample
