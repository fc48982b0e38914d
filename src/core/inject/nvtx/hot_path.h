// Push and pop in the frequent cases. They make no call except a tail call of the slow path, so that nothing is stored
// on the stack (record/store.h explains why), and look up a message without its length.
#pragma once

#include <string.h>

#include <cstdint>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/thread_state.h"
#include "record/store.h"

namespace kymo::inject::nvtx {

// The slow paths, which handle every case. With a `depth`, the range is counted already.
__attribute__((noinline)) int push_text_slowly(Domain& domain, const char* text) noexcept;
__attribute__((noinline)) int push_event_slowly(Domain& domain, const EventAttributes* event) noexcept;
__attribute__((noinline)) int store_pushed_text(Domain& domain, const char* text, int depth) noexcept;
__attribute__((noinline)) int store_pushed_event(Domain& domain, const EventAttributes* event, int depth) noexcept;
__attribute__((noinline)) int pop_slowly(Domain& domain) noexcept;
__attribute__((noinline)) int store_popped(Domain& domain, int depth) noexcept;

#if defined(__SANITIZE_ADDRESS__)
#define KYMO_READS_PAST_TEXT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KYMO_READS_PAST_TEXT 0
#endif
#endif
#ifndef KYMO_READS_PAST_TEXT
#define KYMO_READS_PAST_TEXT 1
#endif

inline RecentMessage& recent_place(ThreadState& state, const void* message) noexcept {
  return state.recent[(reinterpret_cast<uintptr_t>(message) * 0x9e3779b97f4a7c15u) >> 59];
  static_assert(kRecentMessages == 32);
}

// True if the text at this address is still the one of the entry, which has this many words (not 0). Reads whole words:
// up to seven bytes past the end of the text, but not of its page.
__attribute__((always_inline)) inline bool is_same_text(const RecentMessage& recent, uint32_t words,
                                                        const char* text) noexcept {
  constexpr uintptr_t kPageBytes = 4096;
  if (!KYMO_READS_PAST_TEXT || (reinterpret_cast<uintptr_t>(text) & (kPageBytes - 1)) > kPageBytes - 8 * words)
    return false;
  uint64_t word;
#pragma GCC unroll 1  // unrolled, it needs registers that must be saved on the stack
  for (uint32_t i = 0; i + 1 < words; ++i) {
    memcpy(&word, text + 8 * i, sizeof word);
    if (word != recent.text[i]) return false;
  }
  memcpy(&word, text + 8 * (words - 1), sizeof word);
  return ((word ^ recent.text[words - 1]) & recent.last_mask) == 0;
}

// The word of the record of a push; 0: not known.
__attribute__((always_inline)) inline uint32_t word_of_text(ThreadState& state, const Domain& domain, const char* text,
                                                            uint32_t colour) noexcept {
  const RecentMessage& recent = recent_place(state, text);
  if (recent.message != text || recent.domain != &domain || recent.colour != colour) return 0;
  const uint32_t word = recent.word, words = recent.words;  // a signal handler may change the entry at any time
  record::order_for_signals();
  if (words == 0 || !is_same_text(recent, words, text)) return 0;
  record::order_for_signals();
  return recent.message == text && recent.word == word ? word : 0;
}

__attribute__((always_inline)) inline uint32_t word_of_string(ThreadState& state, const Domain& domain,
                                                              const RegisteredString* string,
                                                              uint32_t colour) noexcept {
  if (string == nullptr) return 0;
  if (colour == 0) return string->domain == &domain ? string->word.load(std::memory_order_relaxed) : 0;
  const RecentMessage& recent = recent_place(state, string);
  if (recent.message != string || recent.domain != &domain || recent.colour != colour || recent.words != 0) return 0;
  return recent.word;
}

__attribute__((always_inline)) inline bool try_cell(record::Kind kind, uint32_t word) noexcept {
  return record::recording() && record::try_store<0>(record::this_slot, kind, word, nullptr);
}

__attribute__((always_inline)) inline int push_text_quickly(Domain& domain, const char* text) noexcept {
  ThreadState* const state = current_state();
  if (__builtin_expect(state == nullptr, 0)) return push_text_slowly(domain, text);
  const int depth = state->depth(domain.index)++;
  const uint32_t word = word_of_text(*state, domain, text, 0);
  if (__builtin_expect(word != 0, 1) && try_cell(record::Kind::Begin, word)) return depth;
  return store_pushed_text(domain, text, depth);
}

// An event with only a registered string: its word is known without a lookup.
inline bool is_only_string(const EventAttributes* event) noexcept {
  return event != nullptr && event->size >= sizeof *event && event->message_type == kRegistered &&
         (event->category | static_cast<uint32_t>(event->colour_type) | static_cast<uint32_t>(event->payload_type)) ==
             0 &&
         event->message.registered != nullptr;
}

// The same for a text, or for a message with a colour. A function of its own: it needs more registers.
__attribute__((noinline)) int push_message(Domain& domain, const EventAttributes* event) noexcept;

__attribute__((always_inline)) inline int push_event_quickly(Domain& domain, const EventAttributes* event) noexcept {
  if (__builtin_expect(!is_only_string(event), 0)) return push_message(domain, event);
  ThreadState* const state = current_state();
  if (__builtin_expect(state == nullptr, 0)) return push_event_slowly(domain, event);
  const RegisteredString& string = *event->message.registered;
  const int depth = state->depth(domain.index)++;
  const uint32_t word = string.domain == &domain ? string.word.load(std::memory_order_relaxed) : 0;
  if (__builtin_expect(word != 0, 1) && try_cell(record::Kind::Begin, word)) return depth;
  return store_pushed_event(domain, event, depth);
}

__attribute__((always_inline)) inline int pop_quickly(Domain& domain) noexcept {
  ThreadState* const state = current_state();
  if (__builtin_expect(state == nullptr || state->depth(domain.index) == 0, 0)) return pop_slowly(domain);
  const int depth = --state->depth(domain.index);
  const uint32_t word = record::on_stack(0, domain.stack);
  if (__builtin_expect(word != 0, 1) && try_cell(record::Kind::End, word)) return depth;
  return store_popped(domain, depth);
}

}  // namespace kymo::inject::nvtx
