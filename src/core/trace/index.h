// An index chunk: the headers of the chunks directly before it, so that a reader need not read them one by one.
//
// Its distances are relative and go backwards, so an index stays valid when its file is appended to another.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "trace/columns.h"
#include "trace/format.h"

namespace kymo::trace {

// The footer at the end of an index chunk says where the chunk begins.
inline constexpr size_t kFooterBytes = 16;
inline constexpr std::array<uint8_t, 8> kFooterMagic = {0x93, 'K', 'Y', 'M', 'O', 'I', 'D', 'X'};
inline constexpr uint32_t kMaxIndexEntries = 1 << 16;

// Appends the payload, with padding and footer.
void write_index(base::ByteWriter& out, const std::vector<ChunkHeader>& chunks, PlaneWriter& compressor);

// The length of the index chunk that ends with these bytes; 0 if there is none.
uint64_t read_footer(base::Bytes last_bytes_untrusted);

// The headers in file order. Their total length is `covers`. Throws kymo::Error if the payload is not valid.
std::vector<ChunkHeader> read_index(base::Bytes payload_untrusted, uint64_t& covers);

}  // namespace kymo::trace
