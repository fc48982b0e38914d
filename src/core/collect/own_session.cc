#include "collect/own_session.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "base/say.h"
#include "base/text.h"
#include "collect/collector.h"
#include "collect/folders.h"
#include "collect/options.h"
#include "collect/own_session_state.h"
#include "collect/recover.h"
#include "collect/refusals.h"
#include "collect/relatives.h"
#include "collect/unrecorded.h"
#include "record/cut_guard.h"
#include "record/flush.h"
#include "record/process.h"
#include "record/refusal.h"

namespace kymo::collect {

OwnSession& own() {
  static OwnSession* const session = new OwnSession;
  return *session;
}

record::Process& this_process() {
  record::Process* shared = record::process();
  if (shared == nullptr)
    throw NotAvailable("another version of Kymo is loaded in this process, and the two cannot share it");
  return *shared;
}

namespace {

void on_dump_signal(int) { own().dump_asked.store(true); }

// For a process that gets no segment or no thread: the trace shows at least that the process existed.
void say_unrecorded(trace::Writer& file, OwnSession& session, const std::string& why) {
  write_unrecorded(file,
                   {to_hex(session.id.bytes), static_cast<uint64_t>(getpid()), static_cast<uint64_t>(getppid()), why});
  session.said_unrecorded = true;
}

void set_path(record::SegmentOptions& options, const std::string& path) {
  if (path.size() < sizeof options.file_path) std::strcpy(options.file_path, path.c_str());
}

// Needs the mutex, or a process with one thread.
void start_collector(OwnSession& session, trace::Writer::Mode mode) {
  record::Process& shared = this_process();
  auto output = std::make_unique<Output>(session.path, mode, flight_options(session.options), to_hex(session.id.bytes));
  shared.options = record::SegmentOptions(segment_options(session.options, session.id));
  shared.options.home = session.home;
  if (!output->is_flight()) {  // a flight recorder has another file after each dump
    shared.options.file_device = output->file().device();
    shared.options.file_inode = output->file().inode();
  }
  set_path(shared.options, session.path);
  record::SegmentHeader* header = shared.segment.load(std::memory_order_acquire);
  const bool had_segment = header != nullptr;
  if (const record::Outcome made = record::ensure_segment(shared); !made) {
    if (session.running || session.joins) say_unrecorded(output->file(), session, made.why());
    throw NotAvailable(base::format("no shared memory to record into: {}", made.why()));
  }
  if (!session.running) shared.options.home = session.home = record::home_of(segment_folder().c_str());
  header = shared.segment.load(std::memory_order_acquire);
  if (had_segment) {
    // The segment of an earlier session: the size of its rings does not change; everything else is set for the new
    // session.
    std::copy(std::begin(session.id.bytes), std::end(session.id.bytes), std::begin(header->session));
    const SessionId writer = new_session_id();
    std::copy(std::begin(writer.bytes), std::end(writer.bytes), std::begin(header->writer));
    header->policy.store(static_cast<uint32_t>(shared.options.policy), std::memory_order_relaxed);
    header->file_device = shared.options.file_device;
    header->file_inode = shared.options.file_inode;
    std::memcpy(header->file_path, shared.options.file_path, sizeof header->file_path);
  }
  auto relatives = std::make_shared<Relatives>(session.path, session.id);
  session.collector = std::make_shared<Collector>(
      std::move(output), [relatives, refusals = session.refusals, &shared](Collector& collector, bool is_last) {
        if (refusals) {
          for (const Refusal& refusal : refusals->take()) collector.add_refused(refusal.pid, refusal.why);
          if (is_last) refusals->close();
        }
        // A search costs time for each other program. So only a process that may have relatives searches.
        if (own().has_forked.load() || own().by_environment.load()) relatives->look(collector, is_last);
        if (!record::was_cut(shared.mapping)) return;
        for (auto& source : collector.sources())
          if (source->is_own()) source->lose_segment();
      });
  session.dump_asked.store(false);
  session.collector->watch_for_dumps(session.dump_asked);
  session.collector->add(std::make_unique<Source>(*header, origin_of(*header), Source::From::Now));
  session.pid = getpid();
  record::start_recording(shared);
  try {
    session.collector->start();
  } catch (const NotAvailable& error) {
    record::stop_recording(shared);
    // Otherwise its data goes to the collector of another process.
    if (!session.running && !session.joins) say_unrecorded(session.collector->output().file(), session, error.what());
    session.collector.reset();
    throw;
  }
}

// The parent's collector thread does not exist in the child. So its object is abandoned here, not joined.
void after_fork_in_child() noexcept {
  OwnSession& session = own();
  if (session.pid == getpid()) return;  // a handler of the program ran before us and has recorded
  new (&session.mutex) std::mutex;
  if (session.refusals) session.refusals->close();
  // Never destroyed: its destructor would join the thread. The other references went away with their threads.
  for (auto* held : {&session.collector, &session.unfinished}) {
    if (!*held) continue;
    auto* const kept = new std::shared_ptr<Collector>(std::move(*held));
    (*kept)->abandon();
  }
}

// The child may not write the trace: it has dropped its rights, or the file does not exist any more. It still records,
// and the collector of one of its ancestors takes its data while that one runs. False: there is no segment.
bool record_for_relatives(OwnSession& session) noexcept {
  record::Process& shared = *record::process();
  if (const record::Outcome made = record::ensure_segment(shared); !made) {
    // The child has inherited this memory. The parent's collector reports the count, if it still runs.
    record::SegmentHeader* const parent = shared.parent_mapping.header;
    if (parent == nullptr || session.said_unrecorded) return false;
    parent->unrecorded_children.fetch_add(1);
    if (parent->closed.load() != 0) base::say_to_user("not recording: ", made.why());
    return false;
  }
  record::SegmentHeader* header = shared.segment.load(std::memory_order_acquire);
  header->needs_collector.store(1, std::memory_order_release);
  header->collector_attached.store(1, std::memory_order_relaxed);
  session.pid = getpid();
  record::start_recording(shared);
  return true;
}

// A flight recorder has another trace file after each dump, so its inode is not known.
bool leads_to_trace(const std::string& path) {
  const record::SegmentOptions& options = record::process()->options;
  return is_file(path, options.file_device, options.file_inode);
}

// False after a chroot: then the path does not lead to the trace.
bool sees_the_same_files(const record::Home& home) {
  struct stat root;
  return stat("/", &root) == 0 && root.st_dev == home.root_device && root.st_ino == home.root_inode;
}

// In a forked child, at its first record: the session continues, with the child's own collector.
bool restart_in_child() noexcept {
  OwnSession& session = own();
  after_fork_in_child();
  session.said_unrecorded = false;
  try {
    // If the path leads to another file (chroot, a moved file), data written there would not be in the trace.
    if (!leads_to_trace(session.path)) return record_for_relatives(session);
    start_collector(session, trace::Writer::Mode::Append);
    return true;
  } catch (const std::exception&) {
    return record_for_relatives(session);
  }
}

// The segment keeps the data that the file could not take, until the file takes it.
void finish_earlier(OwnSession& session) {
  if (!session.unfinished) return;
  session.unfinished->stop();
  session.unfinished.reset();
}

void stop_session(OwnSession& session) {
  record::Process& shared = this_process();
  if (session.pid == getpid()) record::run_flush(shared);
  record::stop_recording(shared);
  shared.restart.store(nullptr, std::memory_order_release);
  shared.session.store(nullptr, std::memory_order_release);
  session.running = false;
  if (session.options.dump_signal != 0) sigaction(session.options.dump_signal, &session.old_action, nullptr);
  session.refusals.reset();
  if (session.pid != getpid() || !session.collector) return;  // a child that recorded nothing
  session.unfinished = std::move(session.collector);
  finish_earlier(session);
}

}  // namespace

bool is_file(const std::string& path, uint64_t device, uint64_t inode) {
  struct stat status;
  return inode == 0 || (stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode);
}

void follow_forks() {
  static const int registered = pthread_atfork(
      nullptr, [] { own().has_forked.store(true); }, after_fork_in_child);
  (void)registered;
}

void start_session(const std::string& path, const SessionOptions& wanted, StartMode mode, const SessionId* joined,
                   Tidy tidy) {
  const SessionOptions options = checked(wanted);
  OwnSession& session = own();
  const std::lock_guard lock(session.mutex);
  record::Process& shared = this_process();
  finish_earlier(session);
  void* nobody = nullptr;
  if (!shared.session.compare_exchange_strong(nobody, &session))
    throw Error(base::format("a session is running already{}; close it first",
                             session.running ? base::format(", into {}", session.path) : ""));
  follow_forks();
  try {
    session.path = absolute_path(path);
    session.options = options;
    session.id = joined != nullptr ? *joined : new_session_id();
    session.home = {};
    if (tidy == Tidy::Yes) remove_spent_segments();
    shared.restart.store(restart_in_child, std::memory_order_release);
    LeftOver replaced(mode == StartMode::Create ? path : "");
    start_collector(session, mode == StartMode::Create ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    replaced.remove();
  } catch (...) {
    shared.restart.store(nullptr, std::memory_order_release);
    shared.session.store(nullptr, std::memory_order_release);
    session.collector.reset();
    throw;
  }
  session.running = true;
  if (options.dump_signal != 0) {
    struct sigaction action {};
    action.sa_handler = on_dump_signal;
    action.sa_flags = SA_RESTART;
    sigaction(options.dump_signal, &action, &session.old_action);
  }
}

EnvironmentSession start_environment_session(const std::string& path, const SessionOptions& options) {
  OwnSession& session = own();
  EnvironmentSession started{};
  started.id = new_session_id();
  try {
    session.refusals = std::make_shared<Refusals>(started.id);
  } catch (const Error&) {  // processes that cannot record report this only on standard error
  }
  try {
    start_session(path, options, StartMode::Append, &started.id);
  } catch (...) {
    session.refusals.reset();
    throw;
  }
  session.by_environment = true;
  const record::SegmentOptions& made = this_process().options;
  started.file_device = made.file_device;
  started.file_inode = made.file_inode;
  started.home = session.home;
  return started;
}

void join_environment_session(const std::string& path, const SessionOptions& options,
                              const EnvironmentSession& joined) {
  OwnSession& session = own();
  record::Process& shared = this_process();
  std::string reason = "its path leads to another file in this process";
  session.joins = true;
  if (is_file(path, joined.file_device, joined.file_inode)) {
    try {
      start_session(path, options, StartMode::Append, &joined.id);
      session.by_environment = true;
      return;
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  const std::lock_guard lock(session.mutex);
  void* nobody = nullptr;
  if (!shared.session.compare_exchange_strong(nobody, &session)) return;
  follow_forks();
  session.path = path;
  session.options = checked(options);
  session.id = joined.id;
  session.home = joined.home;
  shared.options = record::SegmentOptions(segment_options(session.options, session.id));
  shared.options.home = joined.home;
  shared.options.file_device = joined.file_device;
  shared.options.file_inode = joined.file_inode;
  set_path(shared.options, path);
  if (!record_for_relatives(session)) {
    shared.session.store(nullptr, std::memory_order_release);
    session.joins = false;
    if (!session.said_unrecorded) record::send_refusal(session.id.bytes, reason.c_str());
    throw NotAvailable(reason);
  }
  shared.restart.store(restart_in_child, std::memory_order_release);
  session.running = true;
  session.by_environment = true;
}

bool close_session(Ending ending) {
  OwnSession& session = own();
  const std::lock_guard lock(session.mutex);
  if (!session.running) return true;
  if (ending == Ending::Forget && session.collector) session.collector->forget_flight();
  const std::shared_ptr<Collector> collector = session.pid == getpid() ? session.collector : nullptr;
  stop_session(session);
  return collector == nullptr || ending == Ending::Forget || !sees_the_same_files(session.home) ||
         collector->output().is_at_path();
}

void drop_unfinished_session() noexcept {
  OwnSession& session = own();
  const std::lock_guard lock(session.mutex);
  session.unfinished.reset();
}

// Runs after the program's own destructors, which may still record. Writes the remaining data to the file and removes
// the segment.
__attribute__((destructor(101))) void at_exit() {
  record::Process* shared = record::process();
  if (shared == nullptr || shared->external.load()) return;
  bool complete = true;
  const bool says = own().by_environment;
  try {
    const bool is_there = close_session();
    finish_earlier(own());
    if (says && !is_there) base::say_to_user(kNotThere, own().path);
  } catch (const std::exception& error) {
    complete = false;  // the segment keeps the data that the file could not take, for `kymo recover`
    if (says) base::say_to_user("the trace is not complete: ", error.what());
  }
  record::SegmentHeader* const header = shared->segment.load();
  // The process that collects for it removes the segment, unless that process has ended.
  if (header != nullptr && header->needs_collector.load() != 0 && header->closed.load() == 0) return;
  if (complete && header != nullptr && shared->session.load() == nullptr) unlink(shared->segment_path);
}

}  // namespace kymo::collect
