#include "record/sinks.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include <string_view>

#include "base/value_text.h"
#include "record/numbers.h"
#include "record/registry.h"
#include "record/slots.h"

namespace kymo::record {

// ---- What a thread has sent ----------------------------------------------------------------------------------------

// The count first: the ranges of a signal handler are added above ours, and are removed when it returns.
void Sent::add(int depth, SinkMask sinks, bool scope) noexcept {
  const uint32_t index = count_++;
  order_for_signals();
  entries_[index] = {depth, sinks, scope};
}

// Usually this is the last entry. The others move down if a program ends its ranges in another order.
SinkMask Sent::take(uint32_t index) noexcept {
  const SinkMask sinks = entries_[index].sinks;
  for (uint32_t i = index; i + 1 < count_; ++i) entries_[i] = entries_[i + 1];
  order_for_signals();
  --count_;
  return sinks;
}

SinkMask Sent::pop(int depth) noexcept {
  for (uint32_t i = count_; i > 0; --i)
    if (!entries_[i - 1].scope && entries_[i - 1].depth == depth) return take(i - 1);
  return 0;
}

SinkMask Sent::end_scope() noexcept {
  if (skipped_scopes_ > 0) {
    --skipped_scopes_;
    return 0;
  }
  for (uint32_t i = count_; i > 0; --i)
    if (entries_[i - 1].scope) return take(i - 1);
  return 0;
}

bool Sent::pop_stale(int depth, SinkMask& sinks) noexcept {
  if (count_ == 0) return false;
  const Entry& last = entries_[count_ - 1];
  if (last.scope || last.depth < depth) return false;
  sinks = take(count_ - 1);
  return true;
}

Sent* sent_by_this_thread(Process& shared, bool make) noexcept {
  auto* sent = static_cast<Sent*>(pthread_getspecific(shared.sent_key));
  if (sent != nullptr || !make) return sent;
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  pthread_setspecific(shared.sent_key, memory);
  return static_cast<Sent*>(memory);
}

void release_sent(void* sent) noexcept { munmap(sent, kPage); }

void leave_parents_sinks(Process& shared) noexcept {
  shared.sinks_lock.store(0, std::memory_order_relaxed);
  shared.first_number = shared.next_handle.load(std::memory_order_relaxed);
  if (Sent* sent = sent_by_this_thread(shared, false)) sent->forget();
}

// ---- The text of a label -------------------------------------------------------------------------------------------

namespace {

class LabelWriter {
 public:
  explicit LabelWriter(char (&text)[kLabelTextBytes]) noexcept : text_(text) {}

  void put(const char* bytes, size_t length) noexcept {
    if (bytes == nullptr || cut_) return;
    if (length > kLabelTextBytes - 1 - used_) {
      length = kLabelTextBytes - 1 - used_;
      while (length > 0 && (static_cast<unsigned char>(bytes[length]) & 0xc0) == 0x80) --length;
      cut_ = true;
    }
    for (size_t i = 0; i < length; ++i) text_[used_ + i] = bytes[i] != '\0' ? bytes[i] : ' ';
    used_ += length;
  }
  size_t finish() noexcept {
    text_[used_] = '\0';
    return used_;
  }

 private:
  char (&text_)[kLabelTextBytes];
  size_t used_ = 0;
  bool cut_ = false;
};

base::ShownValue shown(const kymo_arg& arg) noexcept {
  base::ShownValue value;
  value.kind = base::ShownValue::kind_of(arg.type);
  if (value.kind == base::ShownValue::Kind::Double)
    value.real = arg.value.as_double;
  else if (value.kind != base::ShownValue::Kind::Text)
    value.bits = arg.value.as_uint;
  else if (arg.value.as_text != nullptr)
    value.text = {arg.value.as_text, arg.length};
  return value;
}

}  // namespace

size_t label_text(const kymo_label& label, const kymo_arg* args, uint32_t count,
                  char (&text)[kLabelTextBytes]) noexcept {
  LabelWriter writer(text);
  const std::string_view name(label.name, label.name != nullptr ? label.name_length : 0);
  const auto name_of = [&](size_t i) { return args[i].name != nullptr ? std::string_view(args[i].name) : ""; };
  base::put_name(
      name, count, name_of, [&](size_t i) { return shown(args[i]); }, writer);
  return writer.finish();
}

double counter_value(const kymo_arg* args, uint32_t count) noexcept {
  if (count == 0) return 0;
  const kymo_arg* found = args;
  for (uint32_t i = 0; i < count; ++i) {
    if (args[i].name == nullptr || strcmp(args[i].name, "value") != 0) continue;
    found = &args[i];
    break;
  }
  switch (found->type) {
    case KYMO_INT:
      return static_cast<double>(found->value.as_int);
    case KYMO_DOUBLE:
      return found->value.as_double;
    case KYMO_STRING:
      return 0;
    default:
      return static_cast<double>(found->value.as_uint);
  }
}

// ---- Calls of sinks ------------------------------------------------------------------------------------------------

namespace {

// Calls of sinks. They never nest: if a sink annotates, or a signal handler that interrupted it does, the tool may be
// in the middle of an operation. The errno of the caller is kept.
class SinkCalls {
 public:
  SinkCalls(Process& shared, Sent& sent) noexcept : shared_(shared), sent_(sent), allowed_(!sent.inside()) {
    if (allowed_) sent_.set_inside(true);
    order_for_signals();
  }
  ~SinkCalls() {
    order_for_signals();
    if (allowed_) sent_.set_inside(false);
    errno = errno_;
  }
  SinkCalls(const SinkCalls&) = delete;
  SinkCalls& operator=(const SinkCalls&) = delete;

  bool allowed() const noexcept { return allowed_; }

  // The sinks that are on. A start goes to the sinks in the given mask, even if they were turned off since. Only then
  // is it known which sinks got it.
  uint32_t on() const noexcept { return shared_.sinks_on.load(std::memory_order_acquire); }

  template <class Call>
  void each(uint32_t sinks, Call call) noexcept {
    for (uint32_t place = 0; allowed_ && sinks >> place != 0; ++place)
      if ((sinks >> place & 1) != 0) call(*shared_.sinks[place].load(std::memory_order_acquire), 1u << place);
  }

  SinkMask listening(kymo_sink_interest interest) noexcept {
    uint32_t found = 0;
    each(on(), [&](const kymo_sink& sink, uint32_t bit) {
      if (sink.listens == nullptr || sink.listens(interest) != 0) found |= bit;
    });
    return static_cast<SinkMask>(found);
  }

  void push(uint32_t sinks, const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
    if (sinks == 0) return;
    char text[kLabelTextBytes];
    label_text(label, args, count, text);
    each(sinks, [&](const kymo_sink& sink, uint32_t) {
      if (sink.range_push != nullptr) sink.range_push(text, &label);
    });
  }
  void pop(uint32_t sinks) noexcept {
    each(sinks & on(), [](const kymo_sink& sink, uint32_t) {
      if (sink.range_pop != nullptr) sink.range_pop();
    });
  }
  // Ends the ranges that were popped while no sink was on.
  void end_stale(int depth) noexcept {
    for (SinkMask sinks = 0; sent_.pop_stale(depth, sinks);) pop(sinks);
  }

 private:
  Process& shared_;
  Sent& sent_;
  bool allowed_;
  const int errno_ = errno;
};

// A thread of Kymo sends nothing: `send` is not called.
template <class Send>
void with_sent(bool make, Send send) noexcept {
  if (own_slot() == nullptr) return;
  Process* shared = process();
  if (shared == nullptr) return;
  if (Sent* sent = sent_by_this_thread(*shared, make)) send(*shared, *sent);
}

class SinksLock {
 public:
  explicit SinksLock(Process& shared) noexcept : lock_(shared.sinks_lock) {
    while (lock_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  ~SinksLock() { lock_.store(0, std::memory_order_release); }
  SinksLock(const SinksLock&) = delete;
  SinksLock& operator=(const SinksLock&) = delete;

 private:
  std::atomic<uint32_t>& lock_;
};

// The index of the sink, or the first free one; kMaxSinks: the table is full.
uint32_t sink_place(const Process& shared, const kymo_sink* sink) noexcept {
  uint32_t place = 0;
  while (place < kMaxSinks && shared.sinks[place].load(std::memory_order_acquire) != sink &&
         shared.sinks[place].load(std::memory_order_acquire) != nullptr)
    ++place;
  return place;
}

}  // namespace

void send_push(const kymo_label& label, const kymo_arg* args, uint32_t count, int depth) noexcept {
  with_sent(true, [&](Process& shared, Sent& sent) {
    SinkCalls calls(shared, sent);
    if (!calls.allowed()) return;
    calls.end_stale(depth);
    const SinkMask sinks = calls.listening(KYMO_SINK_NESTED);
    if (sinks == 0 || !sent.room()) return;
    sent.push(depth, sinks);
    calls.push(sinks, label, args, count);
  });
}

void send_pop(int depth) noexcept {
  with_sent(false, [&](Process& shared, Sent& sent) {
    SinkCalls calls(shared, sent);
    if (!calls.allowed()) return;
    calls.end_stale(depth + 1);
    calls.pop(sent.pop(depth));
  });
}

void send_scope(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  with_sent(true, [&](Process& shared, Sent& sent) {
    SinkCalls calls(shared, sent);
    if (!calls.allowed() || !sent.room()) return sent.skip_scope();
    calls.end_stale(own_slot()->depth);
    const SinkMask sinks = calls.listening(KYMO_SINK_NESTED);
    sent.begin_scope(sinks);
    calls.push(sinks, label, args, count);
  });
}

void send_scope_end() noexcept {
  with_sent(false, [](Process& shared, Sent& sent) {
    SinkCalls calls(shared, sent);
    calls.pop(sent.end_scope());
  });
}

uint32_t sinks_for_start() noexcept {
  uint32_t sinks = 0;
  with_sent(true, [&](Process& shared, Sent& sent) { sinks = SinkCalls(shared, sent).listening(KYMO_SINK_STARTED); });
  return sinks;
}

void send_start(const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t handle) noexcept {
  const uint32_t sinks = sinks_of_handle(handle);
  if (sinks == 0) return;
  with_sent(true, [&](Process& shared, Sent& sent) {
    char text[kLabelTextBytes];
    label_text(label, args, count, text);
    SinkCalls(shared, sent).each(sinks, [&](const kymo_sink& sink, uint32_t) {
      if (sink.range_start != nullptr) sink.range_start(text, &label, handle);
    });
  });
}

void send_end(uint64_t handle) noexcept {
  const uint32_t sinks = sinks_of_handle(handle);
  if (sinks == 0) return;
  with_sent(true, [&](Process& shared, Sent& sent) {
    if (!is_own_handle(shared, handle)) return;
    SinkCalls calls(shared, sent);
    calls.each(sinks & calls.on(), [&](const kymo_sink& sink, uint32_t) {
      if (sink.range_end != nullptr) sink.range_end(handle);
    });
  });
}

void send_mark(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  with_sent(true, [&](Process& shared, Sent& sent) {
    SinkCalls calls(shared, sent);
    const SinkMask sinks = calls.listening(KYMO_SINK_MARKS);
    if (sinks == 0) return;
    char text[kLabelTextBytes];
    label_text(label, args, count, text);
    calls.each(sinks, [&](const kymo_sink& sink, uint32_t) {
      if (sink.mark != nullptr) sink.mark(text, &label);
    });
  });
}

void send_counter(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  with_sent(true, [&](Process& shared, Sent& sent) {
    SinkCalls calls(shared, sent);
    const SinkMask sinks = calls.listening(KYMO_SINK_COUNTERS);
    if (sinks == 0) return;
    char text[kLabelTextBytes];
    label_text(label, args, count, text);
    const double value = counter_value(args, count);
    calls.each(sinks, [&](const kymo_sink& sink, uint32_t) {
      if (sink.counter != nullptr) sink.counter(text, value);
    });
  });
}

const kymo_sink* sink_named(const char* name, bool& on) noexcept {
  Process* shared = process();
  on = false;
  for (uint32_t place = 0; shared != nullptr && place < kMaxSinks; ++place) {
    const kymo_sink* sink = shared->sinks[place].load(std::memory_order_acquire);
    if (sink == nullptr || sink->name == nullptr || strcmp(sink->name, name) != 0) continue;
    on = (shared->sinks_on.load(std::memory_order_acquire) >> place & 1) != 0;
    return sink;
  }
  return nullptr;
}

}  // namespace kymo::record

using namespace kymo::record;

extern "C" {

int kymo_add_sink(const kymo_sink* sink) {
  Process* shared = process();
  if (shared == nullptr || sink == nullptr) return 0;
  const SinksLock lock(*shared);
  const uint32_t place = sink_place(*shared, sink);
  if (place == kMaxSinks) return 0;
  shared->sinks[place].store(sink, std::memory_order_release);
  shared->sinks_on.fetch_or(1u << place, std::memory_order_acq_rel);
  set_mode(*shared, kSinkBit, true);
  return 1;
}

void kymo_remove_sink(const kymo_sink* sink) {
  Process* shared = process();
  if (shared == nullptr || sink == nullptr) return;
  const SinksLock lock(*shared);
  const uint32_t place = sink_place(*shared, sink);
  if (place == kMaxSinks || shared->sinks[place].load(std::memory_order_acquire) == nullptr) return;
  const uint32_t bit = 1u << place;
  if ((shared->sinks_on.fetch_and(~bit, std::memory_order_acq_rel) & ~bit) == 0) set_mode(*shared, kSinkBit, false);
}

void kymo_send_signpost(const kymo_signpost* signpost, int which) {
  if ((receiver_bits() & kSinkBit) == 0 || signpost == nullptr || which < 0 || which > 2) return;
  Process* shared = process();
  Sent* sent = shared != nullptr ? sent_by_this_thread(*shared, true) : nullptr;
  if (sent == nullptr) return;
  SinkCalls calls(*shared, *sent);
  calls.each(calls.listening(KYMO_SINK_SIGNPOSTS), [&](const kymo_sink& sink, uint32_t) {
    const auto call = which == 0 ? sink.interval_begin : which == 1 ? sink.interval_end : sink.event;
    if (call != nullptr) call(signpost);
  });
}

int kymo_sinks_want_messages(void) {
  if ((receiver_bits() & kSinkBit) == 0) return 0;
  Process* shared = process();
  Sent* sent = shared != nullptr ? sent_by_this_thread(*shared, true) : nullptr;
  if (sent == nullptr) return 0;
  SinkCalls calls(*shared, *sent);
  int wanted = 0;
  calls.each(calls.on(), [&](const kymo_sink& sink, uint32_t) {
    if (sink.wants_messages != 0 && (sink.listens == nullptr || sink.listens(KYMO_SINK_SIGNPOSTS) != 0)) wanted = 1;
  });
  return wanted;
}

}  // extern "C"
