#include "edge/log.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/hash.h"
#include "kymo/error.h"
#include "kymo/kymo.h"

// Defined only if the program was built with AddressSanitizer.
extern "C" {
__attribute__((weak)) void* __asan_get_current_fake_stack(void);
__attribute__((weak)) void* __asan_addr_is_in_fake_stack(void* fake_stack, void* address, void** begin, void** end);
}

namespace kymo::edge {

thread_local constinit ThreadState this_thread __attribute__((tls_model("initial-exec"))){};

namespace {

uint64_t next_unique() noexcept {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The recorder decides which clock kymo_ticks() is; the variable that says so is its own.
bool ticks_are_counter() noexcept {
  const uint64_t before = record::counter(), ticks = kymo_ticks();
  return before <= ticks && ticks <= record::counter();
}

constexpr uintptr_t kNotFar = 256 << 10;  // the limit on a stack with unknown bounds

bool is_in_fake_stack(const void* object) noexcept {
  if (__asan_get_current_fake_stack == nullptr || __asan_addr_is_in_fake_stack == nullptr) return false;
  void* const fake = __asan_get_current_fake_stack();
  return fake != nullptr && __asan_addr_is_in_fake_stack(fake, const_cast<void*>(object), nullptr, nullptr) != nullptr;
}

void ask_for_bounds() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    this_thread.stack_low = reinterpret_cast<uintptr_t>(low);
    this_thread.stack_high = this_thread.stack_low + size;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

uint64_t number_of_this_thread() noexcept {
  if (this_thread.number == 0) this_thread.number = next_unique();
  return this_thread.number;
}

// Not inlined, so that its frame is below all variables of its caller.
[[gnu::noinline]] bool is_on_this_stack(const void* object) noexcept {
  if (this_thread.stack_high == 0) ask_for_bounds();
  const auto at = reinterpret_cast<uintptr_t>(object);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (is_in_fake_stack(object)) return true;
  if (at < frame) return false;  // stacks grow downwards
  const bool known = frame >= this_thread.stack_low && frame < this_thread.stack_high;
  return known ? at < this_thread.stack_high : at - frame < kNotFar;
}

// ---- Names ---------------------------------------------------------------------------------------------------------

uint32_t Names::look_up(std::string_view name, Recent& recent) noexcept try {
  if (texts_.size() * 2 >= table_.size()) enlarge();
  const size_t mask = table_.size() - 1;
  size_t at = base::hash(base::as_bytes(name)) & mask;
  while (table_[at] != kNone && texts_[table_[at]] != name) at = (at + 1) & mask;
  if (table_[at] == kNone) {
    const uint32_t number = texts_.size();
    if (texts_.append(name) == nullptr) return kNone;
    table_[at] = number;
  }
  const std::string& text = texts_[table_[at]];
  recent = {name.data(), text.data(), name.size(), table_[at]};
  return table_[at];
} catch (const std::bad_alloc&) {
  return kNone;
}

void Names::enlarge() {
  std::vector<uint32_t> larger(table_.empty() ? 64 : table_.size() * 2, kNone);
  for (uint32_t number = 0; number < texts_.size(); ++number) {
    size_t at = base::hash(base::as_bytes(texts_[number])) & (larger.size() - 1);
    while (larger[at] != kNone) at = (at + 1) & (larger.size() - 1);
    larger[at] = number;
  }
  table_ = std::move(larger);
}

// ---- All logs ------------------------------------------------------------------------------------------------------

// A fork holds its lock and those of all logs, so that the child can use them.
class Log::All {
 public:
  static All& instance() {
    static auto& one = *new All;
    return one;
  }

  void add(Log* log) {
    const std::lock_guard lock(mutex_);
    logs_.push_back(log);
  }
  void remove(Log* log) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(logs_, log);
  }

 private:
  All() {
    pthread_atfork([] { instance().lock(); }, [] { instance().unlock(); },
                   [] {
                     for (Log* const log : instance().logs_) log->leave_to_parent();
                     this_thread.current = this_thread.own = nullptr;
                     instance().unlock();
                   });
  }

  void lock() {
    mutex_.lock();
    for (Log* const log : logs_) log->mutex_.lock();
  }
  void unlock() {
    for (Log* const log : logs_) log->mutex_.unlock();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<Log*> logs_;
};

Log::Log(LogOptions options, EdgeProfiler* profiler)
    : id_(next_unique()),
      owner_(number_of_this_thread()),
      options_(std::move(options)),
      reads_counter_(ticks_are_counter()),
      profiler_(profiler),
      begin_(base::read_clock_pair(kymo_ticks)) {
  All::instance().add(this);
}

Log::~Log() { All::instance().remove(this); }

// In a forked child. The log is never destroyed there: the parent's operations that are open still refer to it.
void Log::leave_to_parent() noexcept {
  profiler_.store(nullptr, std::memory_order_release);
  on_.store(false, std::memory_order_seq_cst);
  open_after_end_ = UINT64_MAX;
  keep();
}

void Log::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

// ---- Threads --------------------------------------------------------------------------------------------------------

ThreadRecorder* Log::find_recorder(bool make) noexcept {
  if (this_thread.making) return nullptr;
  const uint64_t number = number_of_this_thread();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& recorder : recorders_) {
      if (recorder->number() != number) continue;
      this_thread.known[id_ % ThreadState::kKnown] = {id_, recorder.get()};
      return recorder.get();
    }
  }
  return make ? make_recorder() : nullptr;
}

ThreadRecorder* Log::make_recorder() noexcept try {
  if (!on() || this_thread.making) return nullptr;
  struct Making {
    Making() { this_thread.making = true; }
    ~Making() { this_thread.making = false; }
  } const making;
  const uint64_t number = number_of_this_thread();
  auto made = std::make_unique<ThreadRecorder>(options_, number, number == owner_);
  const std::lock_guard lock(mutex_);
  if (!on()) return nullptr;
  recorders_.push_back(std::move(made));
  this_thread.known[id_ % ThreadState::kKnown] = {id_, recorders_.back().get()};
  return recorders_.back().get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Place Log::here() noexcept {
  ThreadRecorder* const recorder = this->recorder();
  if (recorder == nullptr || !recorder->enter(*this)) return {};
  recorder->settle();
  const Place place{recorder, recorder->innermost()};
  recorder->leave();
  return place;
}

// ---- The end --------------------------------------------------------------------------------------------------------

void Log::stop() noexcept {
  const std::lock_guard lock(mutex_);
  if (!on()) return;
  profiler_.store(nullptr, std::memory_order_release);
  on_.store(false, std::memory_order_seq_cst);
  uint64_t open = 0;
  for (const auto& recorder : recorders_) {
    while (recorder->number() != number_of_this_thread() && recorder->busy()) sched_yield();
    open += recorder->operations.size() - recorder->ended;
    recorder->end_counting();
  }
  end_ = base::read_clock_pair(kymo_ticks);
  open_after_end_ = open - ended_elsewhere_;
  if (open_after_end_ != 0) keep();
}

LogContents Log::contents() const {
  const std::lock_guard lock(mutex_);
  LogContents contents{begin_, end_, &options_, {}};
  for (const auto& recorder : recorders_) contents.threads.push_back(recorder.get());
  return contents;
}

void Log::end_elsewhere(RawOperation& operation, uint64_t ticks) noexcept {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    if (operation.over.load(std::memory_order_relaxed)) return;  // it was already ended
    if (on()) {
      operation.ended_elsewhere = true;
      operation.end_ticks.store(ticks, std::memory_order_relaxed);
      ++ended_elsewhere_;
    } else {
      last = --open_after_end_ == 0;
    }
    operation.over.store(true, std::memory_order_release);
  }
  if (last) release();
}

ThreadRecorder::ThreadRecorder(const LogOptions& options, uint64_t number, bool owner)
    : number_(number),
      owner_(owner),
      wants_stacks_(options.stacks),
      always_has_extras_(options.stacks || !options.events.empty()),
      method_(options.stacks ? symbols::chosen_method() : symbols::Method::UnwindTables) {
  thread = static_cast<uint64_t>(syscall(SYS_gettid));
  char name[16] = {};  // max size of a thread name in the kernel
  if (prctl(PR_GET_NAME, name) == 0) thread_name.assign(name, strnlen(name, sizeof name));
  recent_stacks_.fill(kNothing);
  if (options.events.empty()) return;
  try {
    group_.emplace(options.events);
  } catch (const Error& refused) {
    no_counters = refused.what();
  }
}

uint32_t ThreadRecorder::begin_counts() noexcept {
  if (!group_) return kNothing;
  RawCounts* const made = counts.append();
  if (made == nullptr) {
    ++not_kept;
    return kNothing;
  }
  group_->read(made->begin);
  return counts.size() - 1;
}

// Not inlined, as add_stack() skips its frame.
[[gnu::noinline]] RawExtras* ThreadRecorder::add_extras(RawOperation& operation, const OperationFacts& facts,
                                                        const Inputs* inputs) noexcept {
  RawExtras* const made = extras.append();
  if (made == nullptr) {
    ++not_kept;
    return nullptr;
  }
  operation.extras = extras.size() - 1;
  made->sequence = facts.sequence;
  made->forward_thread = facts.forward_thread;
  made->engine_id = facts.engine_id;
  if (inputs != nullptr && inputs->count() != 0) {
    const uint32_t at = inputs->whole() ? this->inputs.append_run(inputs->bytes()) : Blocks<std::byte>::kFull;
    if (at == Blocks<std::byte>::kFull) {
      ++not_kept;
    } else {
      made->inputs_at = at;
      made->inputs_size = static_cast<uint32_t>(inputs->bytes().size());
    }
  }
  if (wants_stacks_) made->stack = add_stack();
  return made;
}

// Not inlined, because its own frame is one of the two that are skipped.
[[gnu::noinline]] uint32_t ThreadRecorder::add_stack() noexcept {
  std::array<uintptr_t, kDeepest> found;
  const std::span<const uintptr_t> frames(found.data(), symbols::capture(found, 2, method_));
  uint64_t hash = frames.size();
  for (const uintptr_t frame : frames) hash = (hash ^ frame) * 0x9e3779b97f4a7c15u;

  uint32_t& recent = recent_stacks_[hash >> 58];
  static_assert(kRecentStacks == 64);
  if (recent != kNothing && std::ranges::equal(addresses.run(stacks[recent].at, stacks[recent].count), frames))
    return recent;  // a loop: the same stack again and again
  const uint32_t at = addresses.append_run(frames);
  RawStack* const made = at == Blocks<uintptr_t>::kFull ? nullptr : stacks.append();
  if (made == nullptr) {
    ++not_kept;
    return kNothing;
  }
  *made = {at, static_cast<uint32_t>(frames.size())};
  return recent = stacks.size() - 1;
}

}  // namespace kymo::edge
