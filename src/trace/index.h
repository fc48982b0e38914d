// An index chunk: the headers of the chunks directly before it, so that a reader need not visit them one by one.
//
// The distances in it are relative and lead backwards, so an index stays right when its file is appended to another.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "trace/format.h"
#include "trace/plane.h"

namespace kymo::trace {

// At the very end of an index chunk: where it begins.
inline constexpr size_t kFooterBytes = 16;
inline constexpr std::array<uint8_t, 8> kFooterMagic = {0x93, 'K', 'Y', 'M', 'O', 'I', 'D', 'X'};
inline constexpr uint32_t kMaxIndexEntries = 1 << 16;

// Appends the payload, padded and with its footer.
void write_index(base::ByteWriter& out, const std::vector<ChunkHeader>& chunks, PlaneWriter& compressor);

// The length of the index chunk that ends with these bytes, or 0 when none does.
uint64_t read_footer(base::Bytes last_bytes_untrusted);

// The headers, in file order; together as long as what is covered. Throws kymo::Error where the payload is wrong.
std::vector<ChunkHeader> read_index(base::Bytes payload_untrusted, uint64_t& covers);

}  // namespace kymo::trace
