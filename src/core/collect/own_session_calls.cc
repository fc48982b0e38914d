// What a program can do with its running session: dump, copy, flush, ask.
#include <unistd.h>

#include "collect/own_session_state.h"
#include "kymo/error.h"
#include "record/flush.h"

namespace kymo::collect {
namespace {

// Null: none runs in this process.
std::shared_ptr<Collector> running_collector() {
  OwnSession& session = own();
  const std::lock_guard lock(session.mutex);
  return session.running && session.pid == getpid() ? session.collector : nullptr;
}

std::shared_ptr<Collector> flight_collector() {
  std::shared_ptr<Collector> collector = running_collector();
  if (!collector) throw Error("no flight recorder runs in this process: start a Session with flight_seconds");
  return collector;
}

}  // namespace

void dump_session(const std::string& path) {
  const std::shared_ptr<Collector> collector = flight_collector();
  record::run_flush(this_process());
  collector->dump(path);
}

void begin_flight_copy(const std::string& path) { flight_collector()->begin_copy(path); }

void end_flight_copy() {
  const std::shared_ptr<Collector> collector = flight_collector();
  record::run_flush(this_process());
  collector->end_copy();
}

void state_window(const trace::Window& window, uint64_t late_ns) {
  if (const std::shared_ptr<Collector> collector = running_collector()) collector->state_window(window, late_ns);
}

void flush_session() {
  const std::shared_ptr<Collector> collector = running_collector();
  if (!collector) return;
  record::run_flush(this_process());
  collector->flush();
}

std::string session_path() {
  const std::lock_guard lock(own().mutex);
  return own().path;
}

bool session_taken() {
  const record::Process* shared = record::process();
  return shared != nullptr && (shared->external.load() || shared->session.load() != nullptr);
}

bool recorded_from_outside() {
  return this_process().external.load(std::memory_order_relaxed) || (own().by_environment && own().running);
}

}  // namespace kymo::collect
