// The two 16-bit number types. As everywhere in the IR, they are held as floats that have one of their values. These
// functions round a float to such a value: to nearest even, with subnormals, infinities and NaN.
#pragma once

#include <cstdint>

namespace kymo::shader {

float round_to_half(float value);
float round_to_bfloat(float value);

// The 16 bits in memory. Other values are rounded first; NaN stays NaN.
uint16_t half_bits(float value);
uint16_t bfloat_bits(float value);
float half_from_bits(uint16_t bits);
float bfloat_from_bits(uint16_t bits);

}  // namespace kymo::shader
