// Samples programs: a thread reads the records of a source and turns them into chunks of a trace.
//
// The records are handled in the order of their times, so that a file is known before the first sample in it. The
// thread that owns the trace file calls write() often. docs/sampling.md describes what is recorded.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sample/perf_record.h"
#include "sample/sampled_process.h"

namespace kymo::sample {

// How long a few events of a thread wait for more, before they are written together. A flight recorder removes whole
// pieces.
inline constexpr uint64_t kPieceNs = 500'000'000;

struct SamplerOptions {
  uint64_t hertz = 1000;
  std::string session;                    // of the recording
  std::vector<std::string> command_line;  // of the program that is started; empty for a running process
  std::string by = {};                    // who samples, for `kymo info`
  uint64_t piece_ns = kPieceNs;
  std::string also = {};      // what has samples besides the CPU: "some waits"
  std::string wake_ups = {};  // "recorded", or why not
  std::string unseen = {};    // what else was not recorded, and why
};

// "1 kHz", "250 Hz"
std::string rate_text(uint64_t hertz);

class Sampler {
 public:
  // Starts the thread. Throws kymo::NotAvailable if the system has no thread left.
  Sampler(std::unique_ptr<RecordSource> source, SamplerOptions options);
  ~Sampler();  // stops

  // For a process that already runs: what it has loaded, and the names of its threads. Call it before others.
  void add_running(pid_t pid);

  // For the thread that owns the file. Throws kymo::Error if the file cannot be written; the next call continues.
  void write(trace::Writer& file) { shared_.outbox.write(file); }
  // Another file follows: writes everything until now into this one. From then on, everything is stated again.
  void end_file(trace::Writer& file);

  // Reads the rest, ends all processes, and looks up the names of their code, which takes some seconds at most. write()
  // is needed after it.
  void stop();

  SampleTotals totals();

 private:
  void run();
  void read(bool is_last);
  void end_dead_processes(uint64_t now);
  void handle(const Record& record);
  void woken(const Record& record);
  SampledProcess& process(const Record& record);
  void begin_program(const Record& record);
  void fork(const Record& record);
  void exit(const Record& record);
  void lose(trace::LossCause cause, uint64_t count, const Record& record, const char* detail = "");

  std::unique_ptr<RecordSource> source_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  std::mutex mutex_;  // protects what follows
  SharedState shared_;
  std::vector<std::string> first_words_;  // of the program that is started, until it was seen
  uint64_t looked_for_dead_ns_ = 0;
  std::map<uint32_t, std::unique_ptr<SampledProcess>> processes_;
};

}  // namespace kymo::sample
