// For fuzzers of code that reads traces. Each includes it once. Random changes alone would never pass the hash checks,
// so most inputs get correct hashes.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "kymo/error.h"
#include "trace/event_codec.h"
#include "trace/format.h"

namespace kymo::trace::testing {

// Corrects all hashes of everything that looks like a chunk.
inline void seal(std::byte* data, size_t size) {
  for (size_t at = 0; at + kHeaderBytes <= size; ++at) {
    if (std::memcmp(data + at, kMagic.data(), kMagic.size()) != 0) continue;
    std::byte* fields = data + at + kMagic.size();
    const auto header = load_fields(fields);
    if (!header || header->chunk_length() > size - at) continue;
    std::byte* payload = data + at + header->header_length;
    if (header->type == ChunkType::Events && header->payload_length >= kEventPrefixBytes) {
      const auto head_length = base::load<uint32_t>(payload + 8);
      const auto directory_length = base::load<uint32_t>(payload + 12);
      if (head_length <= header->payload_length - kEventPrefixBytes)
        store_prefix(payload, head_length, directory_length);
    }
    ChunkHeader sealed = *header;
    sealed.payload_hash = base::hash({payload, header->payload_length});
    store_header(sealed, data + at);
    at += kHeaderBytes - 1;
  }
}

// Passes the input as a file to `read`, which may refuse it.
template <class Read>
int read_as_file(const uint8_t* data, size_t size, Read read) {
  const base::FileDescriptor file(::memfd_create("trace", MFD_CLOEXEC));
  size_t written = 0;
  if (!file || base::write_all(file.get(), std::as_bytes(std::span(data, size)), written) != 0) return 0;
  try {
    read("/proc/self/fd/" + std::to_string(file.get()));
  } catch (const Error&) {
    // The input was refused with a reason, which is correct.
  }
  return 0;
}

}  // namespace kymo::trace::testing

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  constexpr unsigned kLeaveDamaged = 8;  // one input in 8 keeps its wrong hashes
  const size_t changed = LLVMFuzzerMutate(data, size, max_size);
  if (seed % kLeaveDamaged != 0) kymo::trace::testing::seal(reinterpret_cast<std::byte*>(data), changed);
  return changed;
}
