// The plain values of model.h as records: each prefixed by its length, so that a reader can skip fields it does not
// know.
//
// One description of a type's fields serves both directions; fields are only ever added at its end.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "trace/model.h"

namespace kymo::trace {

// For Origin, EventClass, Track, ClockDomain, Module, Frame, Stack, Loss, Cost and Ending.
template <typename T>
void write_records(base::ByteWriter& out, std::span<const T> records);

// Throws kymo::Error where the bytes are too short or a number does not fit. Allocates no more than a small multiple of
// the bytes it reads.
template <typename T>
std::vector<T> read_records(base::ByteReader& in_untrusted);

}  // namespace kymo::trace
