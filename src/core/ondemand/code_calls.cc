#include "ondemand/code_calls.h"

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <new>
#include <optional>

#include "base/text.h"
#include "collect/options.h"
#include "collect/own_session.h"
#include "kymo/error.h"
#include "kymo/ondemand.h"
#include "ondemand/clients.h"
#include "ondemand/flight.h"
#include "ondemand/memory_output.h"
#include "ondemand/output_file.h"
#include "ondemand/recorder.h"
#include "ondemand/trace_output.h"

namespace kymo::ondemand {
namespace {

enum class Running : uint8_t { Nothing, Trace, Memory };

struct CodeCalls {
  std::mutex mutex;
  Running running = Running::Nothing;
  TraceFlags flags;
  std::optional<OutputFile> file;  // of the trace, or of the last memory profile's recording
  bool has_memory = false;         // file.part() is a memory profile
};
CodeCalls& code_calls() {
  static CodeCalls* const calls = new CodeCalls;
  return *calls;
}

SessionOptions code_session_options() {
  SessionOptions options = collect::options_from_environment();
  options.flight_bytes = 0;
  options.flight_seconds = 0;
  if (options.policy == Policy::Overwrite) options.policy = Policy::Block;
  return options;
}

std::string whole_path(const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); }

void require_nothing_runs(const CodeCalls& calls) {
  if (calls.running == Running::Trace)
    throw Error(base::format("a trace is already running, into {}; stop it first", calls.file->path()));
  if (calls.running == Running::Memory) throw Error("a memory profile is already running; stop it first");
}

}  // namespace

void prepare(bool report_input_shapes, bool profile_memory, bool with_stack, bool with_flops, bool with_modules) {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  require_nothing_runs(calls);
  calls.flags = {report_input_shapes, profile_memory, with_stack, with_flops, with_modules};
  all_clients().prepare(calls.flags);
}

void start(const std::string& path) {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  require_nothing_runs(calls);
  calls.has_memory = false;
  calls.file.emplace(whole_path(path), AllowedFolders{});
  try {
    the_recorder().begin(RecorderOwner::Code, calls.file->part(), code_session_options(), calls.flags.memory);
    all_clients().start();
  } catch (...) {
    the_recorder().end(RecorderOwner::Code);
    calls.file.reset();
    throw;
  }
  calls.running = Running::Trace;
}

void stop() {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.running != Running::Trace) throw Error("no trace is running; start one first");
  calls.running = Running::Nothing;
  std::exception_ptr thrown;
  try {
    all_clients().stop();
  } catch (...) {
    thrown = std::current_exception();  // the trace is still written
  }
  calls.file->keep();
  the_recorder().end(RecorderOwner::Code);
  write_trace(*calls.file, std::nullopt);
  calls.file.reset();
  start_flight();
  if (thrown) std::rethrow_exception(thrown);
}

void start_memory_profile() {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  require_nothing_runs(calls);
  calls.has_memory = false;
  calls.file.reset();
  const std::string folder = std::filesystem::temp_directory_path();
  calls.file.emplace(base::format("{}/kymo-memory-{}.kymo", folder, getpid()), AllowedFolders{});
  try {
    the_recorder().begin(RecorderOwner::Code, calls.file->part(), code_session_options(), true);
    all_clients().start_memory_profile();
  } catch (...) {
    the_recorder().end(RecorderOwner::Code);
    calls.file.reset();
    throw;
  }
  calls.running = Running::Memory;
  calls.has_memory = true;
}

void stop_memory_profile() {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.running != Running::Memory) throw Error("no memory profile is running; start one first");
  calls.running = Running::Nothing;
  std::exception_ptr thrown;
  try {
    all_clients().stop_memory_profile();
  } catch (...) {
    thrown = std::current_exception();
  }
  the_recorder().end(RecorderOwner::Code);
  start_flight();
  if (thrown) std::rethrow_exception(thrown);
}

void export_memory_profile(const std::string& path) {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (!calls.has_memory) throw Error("there is no memory profile to export; make one with start_memory_profile()");
  check_memory_name(path);
  const std::string whole = whole_path(path);
  OutputFile file(whole, {});
  if (calls.running == Running::Memory) collect::flush_session();
  // Export a copy: the recording may continue, and may be exported again in another format.
  std::filesystem::copy_file(calls.file->part(), file.part(), std::filesystem::copy_options::overwrite_existing);
  write_memory_profile(file);
}

void forget_code_calls() noexcept {
  CodeCalls& calls = code_calls();
  new (&calls.mutex) std::mutex;
  calls.running = Running::Nothing;
  calls.has_memory = false;
  if (calls.file) calls.file->forget();  // it belongs to the parent
  calls.file.reset();
}

void drop_code_calls() noexcept {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.running == Running::Nothing) calls.file.reset();
}

}  // namespace kymo::ondemand
