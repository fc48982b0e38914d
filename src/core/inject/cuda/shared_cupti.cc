#include "inject/cuda/shared_cupti.h"

#include <stdlib.h>
#include <string.h>

#include <utility>

#include "base/clock.h"
#include "inject/cuda/imports.h"

namespace kymo::inject::cuda {
namespace {

constinit std::atomic<SharedCupti*> the_one{nullptr};

// About 1,200 kernels. CUPTI delivers a buffer when all of it is complete, so a long queue on the device holds it back.
constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr size_t kSpareBuffers = 32;

constexpr Result kInvalid = 1;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kFetchTime = 10 * kSecond;  // from the end of a profiler until it has its records

uint64_t monotonic_clock() { return base::monotonic_ns(); }
uint64_t realtime_clock() { return base::realtime_ns(); }  // CUPTI's own one, unless a program chooses another

}  // namespace

uint64_t RecordClock::to_monotonic(uint64_t ticks) const noexcept {
  if (is_monotonic || ticks == 0) return ticks;
  constexpr int64_t kLongestWork = 60 * static_cast<int64_t>(kSecond), kClockError = 1'000'000;
  const uint64_t span = last_ticks > first_ticks ? last_ticks - first_ticks : 0;
  const double ns_per_tick = span != 0 ? static_cast<double>(last_ns - first_ns) / static_cast<double>(span) : 1;
  const double since_now = static_cast<double>(static_cast<int64_t>(ticks - last_ticks)) * ns_per_tick;
  const auto set_ago = static_cast<double>(last_ns - first_ns);
  if (since_now <= kClockError && since_now >= -set_ago - kLongestWork)
    return last_ns - static_cast<uint64_t>(-static_cast<int64_t>(since_now));
  const auto before_set = static_cast<int64_t>(first_ns - ticks);
  return before_set >= 0 && before_set <= kLongestWork ? ticks : 0;
}

void SharedCupti::Calls::set(uint32_t call, bool wanted) noexcept {
  if (call >= kMost) return;
  const uint64_t bit = uint64_t{1} << call % 64;
  wanted ? words_[call / 64].fetch_or(bit) : words_[call / 64].fetch_and(~bit);
}

void SharedCupti::Calls::set_all(bool wanted) noexcept {
  for (auto& word : words_) word.store(wanted ? ~uint64_t{0} : 0);
}

SharedCupti::SharedCupti(const Cupti& real, const Kymo& kymo)
    : real_(real), kymo_(kymo), program_clock_(realtime_clock) {
  spare_.reserve(kSpareBuffers);
  the_one.store(this, std::memory_order_release);
}

// ---- What CUPTI calls

void SharedCupti::on_call(void*, int domain, uint32_t call, const void* data) {
  SharedCupti& self = *the_one.load(std::memory_order_acquire);
  if (const size_t index = index_of(domain); index < self.kymo_calls_.size()) {
    if (self.kymo_calls_[index].has(call)) self.kymo_.on_call(nullptr, domain, call, data);
    if (!self.program_calls_[index].has(call)) return;
  }
  if (const auto callback = self.program_call_.load(std::memory_order_acquire))
    callback(self.program_user_.load(std::memory_order_relaxed), domain, call, data);
}

void SharedCupti::requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  SharedCupti& self = *the_one.load(std::memory_order_acquire);
  *buffer = nullptr;
  *max_records = 0;  // as many as fit
  const auto ask_program = self.program_requested_.load(std::memory_order_acquire);
  if (ask_program != nullptr && self.lent_.load(std::memory_order_acquire) == Lent::On)
    return ask_program(buffer, size, max_records);
  *buffer = self.take_buffer();
  *size = *buffer != nullptr ? kBufferBytes : 0;  // without memory CUPTI counts what it drops
}

void SharedCupti::completed(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) {
  SharedCupti& self = *the_one.load(std::memory_order_acquire);
  if (buffer == nullptr) return;
  if (valid != 0 && self.is_attached_.load(std::memory_order_acquire)) self.kymo_.read(buffer, valid);
  if (!self.is_own(buffer)) {
    if (const auto give = self.program_completed_.load(std::memory_order_acquire))
      give(context, stream, buffer, size, valid);
    return;
  }
  if (valid != 0 && self.is_lent()) self.copy_for_program(context, stream, buffer, valid);
  self.give_back(buffer);
}

// CUPTI had the buffer before the program's profiler started, and has put records for it there.
void SharedCupti::copy_for_program(void* context, uint32_t stream, const uint8_t* buffer, size_t valid) noexcept {
  const auto give = program_completed_.load(std::memory_order_acquire);
  reserve_for_program();
  uint8_t* theirs = nullptr;
  size_t size = 0;
  {
    const std::lock_guard lock(buffers_);
    theirs = std::exchange(reserved_, nullptr);
    size = reserved_bytes_;
  }
  if (theirs == nullptr || give == nullptr) return;
  if (size < valid) valid = 0;
  if (valid != 0) memcpy(theirs, buffer, valid);
  give(context, stream, theirs, size, valid);
}

// libkineto does not flush unless it has given a buffer away, so it gives one as soon as it starts, for what may be in
// ours.
void SharedCupti::reserve_for_program() noexcept {
  const auto ask = program_requested_.load(std::memory_order_acquire);
  {
    const std::lock_guard lock(buffers_);
    if (reserved_ != nullptr || ask == nullptr) return;
  }
  uint8_t* theirs = nullptr;
  size_t size = 0, most = 0;
  ask(&theirs, &size, &most);
  const std::lock_guard lock(buffers_);
  reserved_ = theirs;
  reserved_bytes_ = size;
}

uint8_t* SharedCupti::take_buffer() noexcept {
  const std::lock_guard lock(buffers_);
  uint8_t* buffer = nullptr;
  if (spare_.empty()) {
    buffer = static_cast<uint8_t*>(aligned_alloc(64, kBufferBytes));
  } else {
    buffer = spare_.back();
    spare_.pop_back();
  }
  try {
    if (buffer != nullptr) own_.insert(buffer);
  } catch (...) {  // no memory
    free(std::exchange(buffer, nullptr));
  }
  return buffer;
}

bool SharedCupti::is_own(uint8_t* buffer) noexcept {
  const std::lock_guard lock(buffers_);
  return own_.contains(buffer);
}

void SharedCupti::give_back(uint8_t* buffer) noexcept {
  const std::lock_guard lock(buffers_);
  own_.erase(buffer);
  if (spare_.size() < kSpareBuffers)
    spare_.push_back(buffer);
  else
    free(buffer);
}

// ---- For Kymo

Result SharedCupti::hold_subscriber(const char* name, std::string& other) noexcept {
  if (subscriber_ != nullptr) return 0;
  if (real_.subscribe_named == nullptr) return real_.subscribe(&subscriber_, on_call, nullptr);
  char other_name[kSubscriberNameBytes + 1] = {};
  SubscriberParameters parameters{sizeof(SubscriberParameters), name, other_name, kSubscriberNameBytes};
  const Result result = real_.subscribe_named(&subscriber_, on_call, nullptr, &parameters);
  if (result != 0) subscriber_ = nullptr;
  other = other_name;
  return result;
}

void SharedCupti::hold_buffers() noexcept {
  if (!std::exchange(has_buffers_, true)) real_.register_buffers(requested, completed);
}

void SharedCupti::set_clock(Clock clock) noexcept {
  const std::lock_guard lock(clock_mutex_);
  if (clock_ == clock) return;
  if (real_.register_clock == nullptr || real_.register_clock(clock) != 0) clock = realtime_clock;
  clock_ = clock;
  clock_ticks_ = clock();
  clock_ns_ = base::monotonic_ns();
}

Result SharedCupti::attach(bool can_take_over, std::string& other) {
  const std::lock_guard lock(mutex_);
  Result result = hold_subscriber("Kymo", other);
  // The subscriber may be a profiler of the program that has run before its calls were led here. It uses CUPTI from now
  // on as if it were the one. CUPTI may be detached while no call of the program is in it: not more is possible here.
  if (result == kOtherSubscriber && can_take_over) {
    real_.flush(1);
    real_.finalize();
    result = hold_subscriber("Kymo", other);
  }
  if (result != 0) return result;
  if (clock_ == nullptr) set_clock(is_lent() ? realtime_clock : monotonic_clock);
  hold_buffers();
  is_attached_.store(true, std::memory_order_release);
  return 0;
}

void SharedCupti::release() noexcept {
  real_.finalize();
  subscriber_ = nullptr;
  has_buffers_ = false;
  const std::lock_guard lock(clock_mutex_);
  clock_ = nullptr;
}

void SharedCupti::detach() noexcept {
  const std::lock_guard lock(mutex_);
  is_attached_.store(false, std::memory_order_release);
  if (program_call_.load() == nullptr && program_kinds_.none()) release();
}

void SharedCupti::record_call(int domain, uint32_t call, bool wanted) noexcept {
  const std::lock_guard lock(mutex_);
  const size_t index = index_of(domain);
  kymo_calls_[index].set(call, wanted);
  if (wanted || !program_calls_[index].has(call)) real_.enable_callback(wanted ? 1 : 0, subscriber_, domain, call);
}

void SharedCupti::record_kind(Kind kind, bool wanted) noexcept {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<size_t>(kind);
  kymo_kinds_.set(number, wanted);
  if (wanted && !(kind == Kind::Graph && program_kinds_.any())) real_.enable(kind);
  if (!wanted && !program_kinds_.test(number)) real_.disable(kind);
}

RecordClock SharedCupti::record_clock() const noexcept {
  const std::lock_guard lock(clock_mutex_);
  if (clock_ == nullptr || clock_ == monotonic_clock) return {};
  return {false, clock_ticks_, clock_ns_, clock_(), base::monotonic_ns()};
}

bool SharedCupti::is_lent() const noexcept {
  const Lent lent = lent_.load(std::memory_order_acquire);
  return lent == Lent::On || (lent == Lent::Ending && base::monotonic_ns() - ending_since_ns_.load() < kFetchTime);
}

// ---- What the program calls

Result SharedCupti::subscribe(Cupti::Subscriber* subscriber, Cupti::OnCall callback, void* user) noexcept {
  const std::lock_guard lock(mutex_);
  if (subscriber == nullptr || callback == nullptr) return kInvalid;
  if (program_call_.load() != nullptr) return kOtherSubscriber;
  try {
    std::string other;
    if (const Result result = hold_subscriber("a profiler of the program", other); result != 0) return result;
  } catch (...) {  // no memory for the name
    return kInvalid;
  }
  program_user_.store(user);
  program_call_.store(callback, std::memory_order_release);
  *subscriber = subscriber_;
  return 0;
}

void SharedCupti::forget_program() noexcept {
  program_call_.store(nullptr);
  for (const int domain : {kDriverDomain, kResourceDomain}) {
    const size_t index = index_of(domain);
    for (uint32_t call = 0; call < Calls::kMost; ++call)
      if (program_calls_[index].has(call) && !kymo_calls_[index].has(call))
        real_.enable_callback(0, subscriber_, domain, call);
    program_calls_[index].set_all(false);
  }
}

Result SharedCupti::unsubscribe(Cupti::Subscriber subscriber) noexcept {
  const std::lock_guard lock(mutex_);
  if (subscriber != subscriber_ || program_call_.load() == nullptr) return kInvalid;
  forget_program();
  if (is_attached_.load()) return 0;
  return real_.unsubscribe(std::exchange(subscriber_, nullptr));
}

Result SharedCupti::enable_callback(uint32_t enable, Cupti::Subscriber subscriber, int domain, uint32_t call) noexcept {
  const std::lock_guard lock(mutex_);
  if (const size_t index = index_of(domain); index < kymo_calls_.size()) {
    program_calls_[index].set(call, enable != 0);
    if (enable == 0 && kymo_calls_[index].has(call)) return 0;
  }
  return real_.enable_callback(enable, subscriber, domain, call);
}

Result SharedCupti::enable_domain(uint32_t enable, Cupti::Subscriber subscriber, int domain) noexcept {
  const std::lock_guard lock(mutex_);
  const Result result = real_.enable_domain(enable, subscriber, domain);
  const size_t index = index_of(domain);
  if (index == kymo_calls_.size() || result != 0) return result;
  program_calls_[index].set_all(enable != 0);
  for (uint32_t call = 0; enable == 0 && call < Calls::kMost; ++call)
    if (kymo_calls_[index].has(call)) real_.enable_callback(1, subscriber, domain, call);
  return result;
}

Result SharedCupti::register_buffers(Cupti::Requested requested, Cupti::Completed completed) noexcept {
  const std::lock_guard lock(mutex_);
  if (requested == nullptr || completed == nullptr) return kInvalid;
  program_requested_.store(requested, std::memory_order_release);
  program_completed_.store(completed, std::memory_order_release);
  hold_buffers();
  return 0;
}

Result SharedCupti::register_clock(Clock clock) noexcept {
  const std::lock_guard lock(mutex_);
  if (clock == nullptr) return kInvalid;
  program_clock_ = clock;
  if (program_kinds_.any()) set_clock(clock);
  return 0;
}

void SharedCupti::set_kymo_kinds(bool on) noexcept {
  for (size_t kind = 0; kind < kymo_kinds_.size(); ++kind) {
    if (!kymo_kinds_.test(kind) || (on && static_cast<Kind>(kind) == Kind::Graph)) continue;
    on ? real_.enable(static_cast<Kind>(kind)) : real_.disable(static_cast<Kind>(kind));
  }
}

// The program's profiler starts. CUPTI changes its clock only for work that is recorded from then on, so what is there
// is delivered before.
void SharedCupti::lend() noexcept {
  const bool changes_clock = program_clock_ != clock_ && !(clock_ == nullptr && program_clock_ == realtime_clock);
  if (changes_clock) {
    if (kymo_kinds_.any()) real_.flush(1);
    set_kymo_kinds(false);
    set_clock(program_clock_);
    set_kymo_kinds(true);
  } else if (kymo_kinds_.test(static_cast<size_t>(Kind::Graph))) {
    real_.disable(Kind::Graph);
  }
  reserve_for_program();
  lent_.store(Lent::On, std::memory_order_release);
}

Result SharedCupti::enable(Kind kind) noexcept {
  const std::lock_guard lock(mutex_);
  if (static_cast<size_t>(kind) < program_kinds_.size()) {
    if (program_kinds_.none()) lend();
    program_kinds_.set(static_cast<size_t>(kind));
  }
  return real_.enable(kind);
}

Result SharedCupti::disable(Kind kind) noexcept {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<size_t>(kind);
  if (number >= program_kinds_.size()) return real_.disable(kind);
  const bool was_lent = program_kinds_.any();
  program_kinds_.reset(number);
  const Result result = kymo_kinds_.test(number) ? 0 : real_.disable(kind);
  if (was_lent && program_kinds_.none()) {
    ending_since_ns_.store(base::monotonic_ns());
    lent_.store(Lent::Ending, std::memory_order_release);
    if (kymo_kinds_.test(static_cast<size_t>(Kind::Graph))) real_.enable(Kind::Graph);
  }
  return result;
}

Result SharedCupti::flush(uint32_t forced) noexcept {
  const Result result = real_.flush(forced);
  Lent ending = Lent::Ending;
  if (!lent_.compare_exchange_strong(ending, Lent::No)) return result;
  uint8_t* unused = nullptr;
  {
    const std::lock_guard lock(buffers_);
    unused = std::exchange(reserved_, nullptr);
  }
  const auto give = program_completed_.load(std::memory_order_acquire);
  if (unused != nullptr && give != nullptr) give(nullptr, 0, unused, reserved_bytes_, 0);
  return result;
}

Result SharedCupti::finalize() noexcept {
  const std::lock_guard lock(mutex_);
  forget_program();
  for (size_t kind = 0; kind < program_kinds_.size(); ++kind)
    if (program_kinds_.test(kind) && !kymo_kinds_.test(kind)) real_.disable(static_cast<Kind>(kind));
  program_kinds_.reset();
  lent_.store(Lent::No);
  if (!is_attached_.load()) release();
  return 0;
}

// ---- The program's calls

namespace {

// The caller has found CUPTI, so the object was made before the calls were led here.
SharedCupti& led_to() noexcept { return *the_one.load(std::memory_order_acquire); }

Result led_subscribe(Cupti::Subscriber* subscriber, Cupti::OnCall callback, void* user) {
  return led_to().subscribe(subscriber, callback, user);
}
Result led_subscribe_named(Cupti::Subscriber* subscriber, Cupti::OnCall callback, void* user, void*) {
  return led_to().subscribe(subscriber, callback, user);
}
Result led_unsubscribe(Cupti::Subscriber subscriber) { return led_to().unsubscribe(subscriber); }
Result led_enable_callback(uint32_t enable, Cupti::Subscriber subscriber, int domain, uint32_t call) {
  return led_to().enable_callback(enable, subscriber, domain, call);
}
Result led_enable_domain(uint32_t enable, Cupti::Subscriber subscriber, int domain) {
  return led_to().enable_domain(enable, subscriber, domain);
}
Result led_register_buffers(Cupti::Requested requested, Cupti::Completed completed) {
  return led_to().register_buffers(requested, completed);
}
Result led_register_clock(SharedCupti::Clock clock) { return led_to().register_clock(clock); }
Result led_enable(Kind kind) { return led_to().enable(kind); }
Result led_disable(Kind kind) { return led_to().disable(kind); }
Result led_flush(uint32_t forced) { return led_to().flush(forced); }
Result led_finalize() { return led_to().finalize(); }

template <class Function>
void* address_of(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

}  // namespace

bool lead_calls_here() noexcept {
  static const Import kCalls[] = {{"cuptiSubscribe", address_of(led_subscribe)},
                                  {"cuptiSubscribe_v2", address_of(led_subscribe_named)},
                                  {"cuptiUnsubscribe", address_of(led_unsubscribe)},
                                  {"cuptiEnableCallback", address_of(led_enable_callback)},
                                  {"cuptiEnableDomain", address_of(led_enable_domain)},
                                  {"cuptiActivityRegisterCallbacks", address_of(led_register_buffers)},
                                  {"cuptiActivityRegisterTimestampCallback", address_of(led_register_clock)},
                                  {"cuptiActivityEnable", address_of(led_enable)},
                                  {"cuptiActivityDisable", address_of(led_disable)},
                                  {"cuptiActivityFlushAll", address_of(led_flush)},
                                  {"cuptiFinalize", address_of(led_finalize)}};
  return the_one.load(std::memory_order_acquire) != nullptr && replace_imports("libcupti.so", kCalls) != 0;
}

}  // namespace kymo::inject::cuda
