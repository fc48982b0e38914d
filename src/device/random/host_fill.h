// The fills on the host: the very numbers that the devices' kernels give, from the same text (random_core.inc). The
// reference that devices are tested against, and what fills a tensor whose memory is the host's.
#pragma once

#include <array>
#include <cstdint>

#include "device/random/fill.h"

namespace kymo::device::random {

// Writes `count` elements at `out`, which need not be aligned. On the calling thread; one core makes about 150 million
// normal or 250 million uniform floats a second. Several threads may share the work: blocks are independent, so a part
// that begins at element e, a multiple of fill.elements_per_block, is a fill of its own at offset + e /
// fill.elements_per_block.
void fill_on_host(const Fill& fill, const Reservation& at, uint64_t count, void* out);

// Parts of random_core.inc, for what needs them singly.
std::array<uint32_t, 4> philox(const std::array<uint32_t, 4>& counter, const std::array<uint32_t, 2>& key);
float normal_of(uint32_t word);           // mean 0, deviation 1
uint32_t half_bits(uint32_t float_bits);  // to the nearest f16, ties to even; not for NaN
uint32_t bfloat_bits(uint32_t float_bits);

}  // namespace kymo::device::random
