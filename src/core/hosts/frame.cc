#include "hosts/frame.h"

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::hosts {
namespace {

constexpr size_t kHeader = sizeof(uint32_t) + 1;

}  // namespace

std::string encoded(FrameType type, std::string_view body) {
  std::string bytes(kHeader, '\0');
  base::store(reinterpret_cast<std::byte*>(bytes.data()), static_cast<uint32_t>(body.size()));
  bytes[sizeof(uint32_t)] = static_cast<char>(type);
  return bytes.append(body);
}

std::string encoded(FrameType type, const base::ByteWriter& fields) {
  return encoded(type, std::string_view(reinterpret_cast<const char*>(fields.bytes().data()), fields.size()));
}

std::optional<Frame> FrameReader::next() {
  if (!greeted_) {
    const size_t found = pending_.find(kGreeting);
    if (found == pending_.npos) {
      if (pending_.size() > kMaxNoise) throw Error("something else answers there, not kymo");
      return std::nullopt;
    }
    greeted_ = true;
    pending_.erase(0, found + kGreeting.size());
  }
  if (pending_.size() - at_ < kHeader) return std::nullopt;
  const auto* const begin = reinterpret_cast<const std::byte*>(pending_.data() + at_);
  const auto length = base::load<uint32_t>(begin);
  const auto type = static_cast<uint8_t>(begin[sizeof(uint32_t)]);
  if (length > kMaxBody || type < static_cast<uint8_t>(FrameType::Hello) ||
      type > static_cast<uint8_t>(FrameType::Failed))
    throw Error("the answers of kymo there are damaged, or of another version");
  if (pending_.size() - at_ < kHeader + length) return std::nullopt;
  Frame frame{FrameType{type}, pending_.substr(at_ + kHeader, length)};
  at_ += kHeader + length;
  if (at_ > kMaxBody || at_ == pending_.size()) {
    pending_.erase(0, at_);
    at_ = 0;
  }
  return frame;
}

}  // namespace kymo::hosts
