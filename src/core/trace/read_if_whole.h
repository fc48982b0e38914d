// For readers that leave out damaged chunks, because another part of the program reports them.
#pragma once

#include "kymo/error.h"
#include "trace/reader.h"

namespace kymo::trace {

// False: the chunk is damaged, and `into` has no meaning.
inline bool read_if_whole(const Reader& reader, const EventChunk& chunk, EventBatch& into, unsigned parts) {
  try {
    reader.read(chunk, into, parts);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace kymo::trace
