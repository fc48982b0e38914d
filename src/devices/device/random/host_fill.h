// The fills on the host: the same numbers as the kernels of the devices, from the same text (random_core.inc). Devices
// are tested against them, and they fill tensors in host memory.
#pragma once

#include <array>
#include <cstdint>

#include "device/random/fill.h"

namespace kymo::device::random {

// Writes `count` elements to `out`, which need not be aligned. Runs on the calling thread; one core makes about 150
// million normal or 250 million uniform floats per second. Several threads can share the work, because blocks are
// independent: a part that begins at element e, a multiple of fill.elements_per_block, is a separate fill at offset + e
// / fill.elements_per_block.
void fill_on_host(const Fill& fill, const Reservation& at, uint64_t count, void* out);

// Parts of random_core.inc for separate use.
std::array<uint32_t, 4> philox(const std::array<uint32_t, 4>& counter, const std::array<uint32_t, 2>& key);
float normal_of(uint32_t word);           // mean 0, deviation 1
uint32_t half_bits(uint32_t float_bits);  // to the nearest f16, ties to even; not for NaN
uint32_t bfloat_bits(uint32_t float_bits);

}  // namespace kymo::device::random
