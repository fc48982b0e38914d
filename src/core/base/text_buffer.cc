#include "base/text_buffer.h"

#include <algorithm>

namespace kymo::base {

void TextBuffer::grow(size_t count) {
  constexpr size_t kSmallest = 256;
  const size_t larger = std::max({kSmallest, capacity_ * 2, size_ + count});
  std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(larger);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = larger;
}

}  // namespace kymo::base
