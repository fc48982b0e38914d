// The CPU samples of a trace (docs/sampling.md), summed up by thread, stack and range.
//
// A sample belongs to the innermost range that was open on its thread at its time. Ranges and samples are recorded by
// different writers, which have the process and the thread id in common. Memory depends on the number of distinct
// stacks; for threads that also have ranges, on the number of samples.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "analyze/memory/stacks.h"
#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::functions {

// What is counted. Only the first is in every trace with samples.
enum class What : uint8_t {
  Cpu,    // time on a processor
  Waits,  // time off the processors, until the thread could run; often only a part of the waits has a stack
};

struct SampledStack {
  memory::StackId stack = 0;
  uint32_t range = 0;  // a number of Samples::ranges; 0: in no range
  uint64_t count = 0;
  uint64_t weight = 0;  // nanoseconds
};

struct SampledThread {
  const convert::Place* place = nullptr;
  uint64_t period_ns = 0;                 // the time that a sample stands for
  uint64_t samples = 0;                   // that are counted
  uint64_t on_ns = 0;                     // its CPU time; 0: not known
  uint64_t off_ns = 0, preempted_ns = 0;  // preempted: a part of it
  std::vector<SampledStack> stacks;
};

struct Samples {
  What what = What::Cpu;
  std::unique_ptr<convert::Places> places;
  std::unique_ptr<memory::Stacks> stacks = std::make_unique<memory::Stacks>();  // names are looked up on request
  std::deque<std::string> ranges{""};
  std::vector<SampledThread> threads;  // those with samples, or time on or off the CPU
  bool is_part = false;                // only samples in ranges with one name are counted, and only their threads
  bool has_part = true;                // there are such ranges, also if they have no samples
  uint64_t samples = 0;
  uint64_t without_stack = 0;  // of waits
  // Of Cpu, if records of context switches were lost:
  uint64_t lost_cpu_ns = 0;  // CPU time that the kernel counted, beside that of the threads
  uint64_t unknown_ns = 0;   // of the lives of the threads: they ran or not; 0 if the time above is known
  std::vector<trace::Problem> problems;
};

// True if a writer of the trace has samples. Reads no events.
bool has_samples(const trace::Reader& reader);
bool has_samples(const trace::WriterInfo& writer);

// True if a recorder was asked for stacks of this kind, also if there were none.
bool was_requested(const trace::Reader& reader, What what);

// Never throws for a damaged trace. Waits are counted only if stacks of them were recorded, and without the times in
// which a thread could have run. With a range, only samples inside of a range with this name, at any depth, are
// counted: the name of a row of kymo stats ("step {}"), a text ("step 7"), or a pattern (base/wildcard.h).
Samples read_samples(const trace::Reader& reader, What what = What::Cpu, const std::string& range = {});

}  // namespace kymo::functions
