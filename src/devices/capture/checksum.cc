#include "capture/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kymo::capture {

struct Checksum::State {
  XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(new State) { XXH3_64bits_reset(&state_->xxh3); }
void Checksum::add(base::Bytes bytes) { XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size()); }
uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh3); }
void Checksum::Free::operator()(State* state) const { delete state; }

PieceHash hash_piece(base::Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace kymo::capture
