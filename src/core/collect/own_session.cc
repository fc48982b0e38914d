#include "collect/own_session.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/environment.h"
#include "base/hex.h"
#include "base/print.h"
#include "base/text.h"
#include "collect/collector.h"
#include "collect/folders.h"
#include "collect/recover.h"
#include "collect/refusals.h"
#include "collect/relatives.h"
#include "kymo/error.h"
#include "kymo/kymo.h"
#include "record/process.h"
#include "record/refusal.h"
#include "record/segment.h"

namespace kymo::collect {
namespace {

// The only session of this process. Never destroyed: threads may record while the program's last destructors run.
struct OwnSession {
  std::mutex mutex;
  pid_t pid = 0;  // of the process that has the collector; a forked child has none until its first record
  bool running = false;
  bool joins = false;            // the session of a process that has started this one
  bool said_unrecorded = false;  // the trace already says that this process could not record
  std::atomic<bool> by_environment{false};
  std::atomic<bool> has_forked{false};
  std::string path;
  SessionOptions options;
  SessionId id{};
  record::Home home;                      // of the process that started the session
  std::shared_ptr<Refusals> refusals;     // from the processes that this one starts; null without KYMO_TRACE
  std::shared_ptr<Collector> collector;   // shared with callers that use it, because the session may end meanwhile
  std::shared_ptr<Collector> unfinished;  // of an earlier session whose file could not take everything: a full disk
  struct sigaction old_action {};
  std::atomic<bool> dump_asked{false};  // set by a signal
};

OwnSession& own() {
  static OwnSession* const session = new OwnSession;
  return *session;
}

// What all copies of the library in this process share. Throws kymo::NotAvailable if another version of Kymo is loaded.
record::Process& this_process() {
  record::Process* shared = record::process();
  if (shared == nullptr)
    throw NotAvailable("another version of Kymo is loaded in this process, and the two cannot share it");
  return *shared;
}

constexpr const char* kNotThere = "the trace was moved, replaced or deleted while it was written: ";

// The absolute path of the trace of the last session.
std::string path_of_session() {
  const std::lock_guard lock(own().mutex);
  return own().path;
}

void on_dump_signal(int) { own().dump_asked.store(true); }

// For a process that gets no segment or no thread: the trace shows at least that the process existed.
void say_unrecorded(trace::Writer& file, OwnSession& session, const std::string& why) {
  write_unrecorded(
      file, {base::hex(session.id.bytes), static_cast<uint64_t>(getpid()), static_cast<uint64_t>(getppid()), why});
  session.said_unrecorded = true;
}

void set_path(record::SegmentOptions& options, const std::string& path) {
  if (path.size() < sizeof options.file_path) std::strcpy(options.file_path, path.c_str());
}

// Needs the mutex, or a process with one thread.
void start_collector(OwnSession& session, trace::Writer::Mode mode) {
  record::Process& shared = this_process();
  auto output =
      std::make_unique<Output>(session.path, mode, flight_options(session.options), base::hex(session.id.bytes));
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

// True if `path` leads to this file, or if the inode is 0 (not known).
bool is_file(const std::string& path, uint64_t device, uint64_t inode) {
  struct stat status;
  return inode == 0 || (stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode);
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

// ---- What a program can do with its running session: dump, copy, flush, ask ----------------------------------------

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

bool session_taken() {
  const record::Process* shared = record::process();
  return shared != nullptr && (shared->external.load() || shared->session.load() != nullptr);
}

bool recorded_from_outside() {
  return this_process().external.load(std::memory_order_relaxed) || (own().by_environment && own().running);
}

}  // namespace kymo::collect

// ---- The Session of a program: one scope that is recorded ----------------------------------------------------------

namespace kymo {
namespace {

constinit std::atomic<void (*)(int)> give_way{nullptr};

// Active while a session of the program starts.
class GiveWay {
 public:
  GiveWay() {
    if (call_ != nullptr) call_(1);
  }
  ~GiveWay() {
    if (call_ != nullptr) call_(0);
  }
  GiveWay(const GiveWay&) = delete;
  GiveWay& operator=(const GiveWay&) = delete;

 private:
  void (*const call_)(int) = give_way.load(std::memory_order_acquire);
};

}  // namespace

struct Session::Impl {
  bool open = true;
};

Session::Session(const std::string& path, const SessionOptions& options) : impl_(std::make_unique<Impl>()) {
  if (collect::recorded_from_outside()) {
    impl_->open = false;
    return;
  }
  const GiveWay others;
  collect::start_session(path, options, collect::StartMode::Create);
}

Session::~Session() {
  try {
    close();
  } catch (const std::exception&) {  // a caller that needs the error calls close()
  }
}

void Session::close() {
  if (!std::exchange(impl_->open, false)) return;
  const std::string path = collect::path_of_session();
  if (!collect::close_session()) throw Error(collect::kNotThere + path);
}

bool is_recording() noexcept { return kymo_is_recording() != 0; }

void dump(const std::string& path) { collect::dump_session(path); }

}  // namespace kymo

extern "C" void kymo_set_give_way(void (*give_way)(int)) { kymo::give_way.store(give_way, std::memory_order_release); }

// ---- KYMO_TRACE=run.kymo records this program, and the programs it starts, from its start on -----------------------

// Defined in the programs `kymo` and `kymod`, which do not record themselves.
extern "C" __attribute__((weak)) const char kymo_is_kymo_itself;

namespace kymo::collect {
namespace {

// The session of KYMO_TRACE in the first process, which started the trace. Other processes join it.
struct EnvironmentSession {
  SessionId id;
  uint64_t file_device = 0, file_inode = 0;  // of the trace; 0: not known
  record::Home home;
};
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

// In a process that the first one has started. If it cannot write the trace (it has changed its user, or its path leads
// to another file), it still records, and the first process collects its data. Throws kymo::Error if that is
// not possible either; the first process has got a report then.
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

// Set by the first process, for the processes that it starts. They append to its file.
constexpr const char* kRootVariable = "KYMO_TRACE_SESSION";
constexpr size_t kSessionDigits = 2 * sizeof(SessionId::bytes);

std::string with_pid(std::string path) {
  for (size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at))
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

// SESSION:DEVICE:INODE of the trace, then the home of the first process (record::Home).
std::string text_of(const EnvironmentSession& session) {
  const record::Home& home = session.home;
  return base::format("{}:{}:{}:{}:{}:{}:{}:{}:{}", base::hex(session.id.bytes), session.file_device,
                      session.file_inode, home.device, home.inode, home.root_device, home.root_inode, home.mounts,
                      home.network);
}

std::optional<EnvironmentSession> parent_session() {
  const char* text = base::environment(kRootVariable);
  if (text == nullptr) return std::nullopt;
  EnvironmentSession session{};
  if (!base::read_hex(text, session.id.bytes, sizeof session.id.bytes)) return std::nullopt;
  record::Home& home = session.home;
  const int read =
      sscanf(text + kSessionDigits,
             ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64,
             &session.file_device, &session.file_inode, &home.device, &home.inode, &home.root_device, &home.root_inode,
             &home.mounts, &home.network);
  if (read != 8) return std::nullopt;
  return session;
}

// False if the trace was moved or replaced and the first process has ended. Then this process starts its own trace.
bool can_join(const std::string& path, const EnvironmentSession& first) {
  const bool may_have_ended = first.home.network != 0 && first.home.network == record::network_namespace();
  return is_file(path, first.file_device, first.file_inode) || !may_have_ended ||
         record::recorder_listens(first.id.bytes);
}

__attribute__((constructor(102))) void autostart() {
  // Not in a program with more rights than the user who starts it: it would write to any path that the user sets.
  const char* wanted = base::environment("KYMO_TRACE");
  if (wanted == nullptr || *wanted == '\0' || base::environment("KYMO_SESSION") != nullptr) return;
  if (&kymo_is_kymo_itself != nullptr) return;
  if (session_taken()) return;  // by another copy of the library in this process
  try {
    // The path is made absolute once: this program and the programs it starts may change the folder before they use it.
    const std::string pattern = absolute_path(wanted);
    setenv("KYMO_TRACE", pattern.c_str(), 1);
    const std::string path = with_pid(pattern);
    const auto parent = path == pattern ? parent_session() : std::nullopt;
    if (parent && can_join(path, *parent)) {
      join_environment_session(path, options_from_environment(), *parent);
    } else {
      setenv(kRootVariable, text_of(start_environment_session(path, options_from_environment())).c_str(), 1);
    }
  } catch (const std::exception& error) {
    // The user asked for this recording and it is not available. The program continues, and the user gets a message.
    base::say_to_user("not recording: ", error.what());
  }
}

}  // namespace
}  // namespace kymo::collect

extern "C" void kymo_link_collector(void) { kymo_link_sinks(); }
