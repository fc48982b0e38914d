// The plain values of model.h as records. Each has its length in front, so that a reader can skip fields that it does
// not know.
//
// One list of a type's fields is used for both directions. New fields are only added at its end.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "trace/model.h"

namespace kymo::trace {

// For Origin, EventClass, Track, ClockDomain, Module, Frame, Stack, Loss, Cost, Ending and Window.
template <typename T>
void write_records(base::ByteWriter& out, std::span<const T> records);

// Throws kymo::Error if the bytes are too short or a number is out of range. Allocates at most a small multiple of the
// bytes it reads.
template <typename T>
std::vector<T> read_records(base::ByteReader& in_untrusted);

}  // namespace kymo::trace
