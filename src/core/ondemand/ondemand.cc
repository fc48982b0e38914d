// The calls of kymo/ondemand.h, and the agent of the process.
//
// KYMO_DAEMON or KINETO_USE_DAEMON start the agent in any program that links Kymo's on-demand part. This file also
// handles the agent when the program forks and when it ends.
#include "kymo/ondemand.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>

#include "base/environment.h"
#include "base/text.h"
#include "collect/own_session.h"
#include "convert/formats/export.h"
#include "kymo/error.h"
#include "ondemand/agent.h"
#include "ondemand/clients.h"
#include "ondemand/iterations.h"
#include "ondemand/link.h"
#include "ondemand/output_file.h"
#include "ondemand/recorder.h"
#include "ondemand/trace_output.h"

namespace kymo::ondemand {

// ---- Traces and memory profiles that the program's code requests itself

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

std::string whole_path(const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); }

void require_nothing_runs(const CodeCalls& calls) {
  if (calls.running == Running::Trace)
    throw Error(base::format("a trace is already running, into {}; stop it first", calls.file->path()));
  if (calls.running == Running::Memory) throw Error("a memory profile is already running; stop it first");
}

void begin_recording(CodeCalls& calls, const std::string& path, bool with_heap, void (Clients::*start)()) {
  require_nothing_runs(calls);
  calls.has_memory = false;
  calls.file.reset();
  calls.file.emplace(path, AllowedFolders{});
  try {
    the_recorder().begin(RecorderOwner::Code, calls.file->part(), requested_session_options(), with_heap);
    (all_clients().*start)();
  } catch (...) {
    the_recorder().end(RecorderOwner::Code);
    calls.file.reset();
    throw;
  }
}

// Returns what a client has thrown: the file is complete nevertheless.
std::exception_ptr end_recording(CodeCalls& calls, void (Clients::*stop)()) {
  calls.running = Running::Nothing;
  std::exception_ptr thrown;
  try {
    (all_clients().*stop)();
  } catch (...) {
    thrown = std::current_exception();
  }
  the_recorder().end(RecorderOwner::Code);
  return thrown;
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
  if (!path.ends_with(".kymo") && !convert::is_export_path(path))
    throw InvalidArgument(base::format("cannot write a trace to \"{}\": use .kymo, .json, .pftrace or .csv", path));
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  begin_recording(calls, whole_path(path), calls.flags.memory, &Clients::start);
  calls.running = Running::Trace;
}

void stop() {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.running != Running::Trace) throw Error("no trace is running; start one first");
  calls.file->keep();
  const std::exception_ptr thrown = end_recording(calls, &Clients::stop);
  write_trace(*calls.file, std::nullopt);
  calls.file.reset();
  start_flight();
  if (thrown) std::rethrow_exception(thrown);
}

void start_memory_profile() {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  const std::string folder = std::filesystem::temp_directory_path();
  begin_recording(calls, base::format("{}/kymo-memory-{}.kymo", folder, getpid()), true,
                  &Clients::start_memory_profile);
  calls.running = Running::Memory;
  calls.has_memory = true;
}

void stop_memory_profile() {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.running != Running::Memory) throw Error("no memory profile is running; start one first");
  const std::exception_ptr thrown = end_recording(calls, &Clients::stop_memory_profile);
  start_flight();
  if (thrown) std::rethrow_exception(thrown);
}

void export_memory_profile(const std::string& path) {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (!calls.has_memory) throw Error("there is no memory profile to export; make one with start_memory_profile()");
  check_memory_name(path);
  const std::string whole = whole_path(path);
  OutputFile file(whole, {}, Existing::Replace);
  if (calls.running == Running::Memory) collect::flush_session();
  // Export a copy: the recording may continue, and may be exported again in another format.
  std::filesystem::copy_file(calls.file->part(), file.part(), std::filesystem::copy_options::overwrite_existing);
  write_memory_profile(file);
}

// ---- The agent of the process

namespace {

// In a forked child.
void forget_code_calls() noexcept {
  CodeCalls& calls = code_calls();
  new (&calls.mutex) std::mutex;
  calls.running = Running::Nothing;
  calls.has_memory = false;
  if (calls.file) calls.file->forget();  // it belongs to the parent
  calls.file.reset();
}

// The program ends: drops results that were not exported.
void drop_code_calls() noexcept {
  CodeCalls& calls = code_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.running == Running::Nothing) calls.file.reset();
}

constexpr int kExitMilliseconds = 2000;
constexpr int kChildWaitsMilliseconds = 20;

// Never destroyed, like the agent, because the agent's thread may outlive the program's last destructors.
struct TheAgent {
  std::mutex mutex;
  Agent* agent = nullptr;
  bool locked_for_fork = false;
  bool is_ending = false;
};
TheAgent& the_agent() {
  static TheAgent* const held = new TheAgent;
  return *held;
}

AgentOptions options_by_environment() {
  AgentOptions options;
  // Does nothing in a program that has more rights than the user who starts it and sets its environment.
  if (const char* daemon = base::environment("KYMO_DAEMON")) options.daemon = daemon;
  options.asks_peers = base::environment("KINETO_USE_DAEMON") != nullptr;
  return options;
}

void before_fork() {
  TheAgent& held = the_agent();
  held.mutex.lock();
  held.locked_for_fork = held.agent != nullptr && held.agent->lock_for_fork();
}

void after_fork_in_parent() {
  TheAgent& held = the_agent();
  if (held.locked_for_fork) held.agent->unlock_after_fork();
  held.locked_for_fork = false;
  held.mutex.unlock();
}

void after_fork_in_child() noexcept {
  TheAgent& held = the_agent();
  new (&held.mutex) std::mutex;
  Agent* parents = std::exchange(held.agent, nullptr);
  stepped_iterations().wait_no_more();
  all_clients().after_fork_in_child();
  the_recorder().after_fork_in_child();
  renew_flight_in_child();
  forget_code_calls();
  if (parents == nullptr) return;
  AgentOptions options = parents->options();
  parents->abandon_in_child(std::exchange(held.locked_for_fork, false));
  options.wait_first_ms = kChildWaitsMilliseconds;
  try {
    held.agent = new Agent(options);
    held.agent->start();
  } catch (const std::exception&) {  // no thread could be started: the child continues without an agent
    held.agent = nullptr;
  }
}

void start_agent() {
  const AgentOptions options = options_by_environment();
  if (daemon_sockets(options.daemon).empty() && !options.asks_peers) return;
  TheAgent& held = the_agent();
  const std::lock_guard lock(held.mutex);
  if (held.agent != nullptr || held.is_ending) return;
  // Register the session's handlers first: in a child, they must run before ours.
  collect::follow_forks();
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;
  held.agent = new Agent(options);
  held.agent->start();
}

__attribute__((constructor(104))) void start_by_environment() {
  const base::Check address = check_address(options_by_environment().daemon);
  // The user asked for it, and it is not possible: report it.
  if (!address) fprintf(stderr, "kymo: KYMO_DAEMON is ignored: %s\n", address.reason().c_str());
  init();
}

// Runs before the session's own end and after the program's own destructors.
__attribute__((destructor(104))) void end_agent() {
  TheAgent& held = the_agent();
  Agent* agent = nullptr;
  {
    const std::lock_guard lock(held.mutex);
    held.is_ending = true;
    agent = std::exchange(held.agent, nullptr);
  }
  if (agent != nullptr) agent->stop(kExitMilliseconds);
  drop_code_calls();
}

Agent* running_agent() {
  TheAgent& held = the_agent();
  const std::lock_guard lock(held.mutex);
  return held.agent;
}

}  // namespace

void init() noexcept {
  try {
    start_agent();
  } catch (const std::exception&) {  // no thread or file available: the program continues without an agent
  }
}

void register_client(Client& client) {
  all_clients().add(client);
  if (Agent* agent = running_agent()) agent->clients_changed();
}

void unregister_client(Client& client) {
  if (Agent* agent = running_agent()) agent->finish_job(kExitMilliseconds);
  all_clients().remove(client);
}

}  // namespace kymo::ondemand

// Makes sure that a program that links Kymo statically contains the code above; never called.
extern "C" void kymo_link_ondemand(void) {}
