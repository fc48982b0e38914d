// Builds the payload of one record on the stack, because its length is not known before.
#pragma once

#include <string.h>

#include <cstdint>

#include "kymo/kymo.h"

namespace kymo::record {

inline constexpr uint32_t kMaxPayloadWords = 512;  // 4 KiB: a record fits into a block of the smallest ring
inline constexpr uint32_t kMaxStoredArgs = 32;

class Payload {
 public:
  void put(uint64_t word) noexcept {
    if (used_ < kMaxPayloadWords) words_[used_++] = word;
  }
  // Puts the length, then the bytes. `keep` words are reserved for what comes after.
  void put_text(const char* text, uint64_t length, uint32_t keep) noexcept {
    const uint64_t room = kMaxPayloadWords - used_ > keep + 1 ? (kMaxPayloadWords - used_ - keep - 1) * 8 : 0;
    if (length > room) {
      length = room;
      truncated_ = true;
    }
    put(length);
    const auto words = static_cast<uint32_t>((length + 7) / 8);
    if (words == 0) return;
    words_[used_ + words - 1] = 0;
    memcpy(words_ + used_, text, length);
    used_ += words;
  }
  // Puts the name of an event, if its class does not have it, and its arguments. What is too long is truncated.
  void put_event(const char* inline_name, uint32_t inline_length, const kymo_arg* args, uint32_t count) noexcept {
    if (count > kMaxStoredArgs) {
      count = kMaxStoredArgs;
      truncated_ = true;
    }
    if (inline_name != nullptr) put_text(inline_name, inline_length, count);
    for (uint32_t i = 0; i < count; ++i) {
      if (args[i].type == KYMO_STRING)
        put_text(args[i].value.as_text, args[i].length, count - 1 - i);
      else
        put(args[i].value.as_uint);
    }
  }
  const uint64_t* words() noexcept {
    if (used_ % 2 != 0) words_[used_] = 0;
    return words_;
  }
  uint32_t cells() const noexcept { return (used_ + 1) / 2; }
  bool truncated() const noexcept { return truncated_; }

 private:
  uint32_t used_ = 0;
  bool truncated_ = false;
  uint64_t words_[kMaxPayloadWords + 1];
};

}  // namespace kymo::record
