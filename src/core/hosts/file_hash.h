// The hash of a file that is sent in parts: XXH3 of the hashes of its parts, so that neither side needs all of it in
// memory, and a transfer that was interrupted continues.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"

namespace kymo::hosts {

inline constexpr size_t kPartBytes = size_t{1} << 19;  // all parts but the last have this size

class FileHash {
 public:
  void add_part(base::Bytes part) { parts_.push_back(base::hash(part)); }
  uint64_t value() const { return base::hash(std::as_bytes(std::span(parts_))); }

 private:
  std::vector<uint64_t> parts_;
};

}  // namespace kymo::hosts
