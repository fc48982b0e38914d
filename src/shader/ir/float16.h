// The two 16-bit kinds of numbers. They are held as floats that have one of their values, as everywhere in the IR; here
// is what makes a float one of them, to nearest even, with subnormals, infinities and NaN.
#pragma once

#include <cstdint>

namespace kymo::shader {

float round_to_half(float value);
float round_to_bfloat(float value);

// The 16 bits in memory. A value that is not one of the kind's is rounded first; NaN stays a NaN.
uint16_t half_bits(float value);
uint16_t bfloat_bits(float value);
float half_from_bits(uint16_t bits);
float bfloat_from_bits(uint16_t bits);

}  // namespace kymo::shader
