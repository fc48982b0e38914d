// e^x - 1, without losing the digits of a small x.
#pragma once
#include <metal_stdlib>

namespace c10 {
namespace metal {

inline float expm1f(float x) { return ::metal::kymo_expm1(x); }

}  // namespace metal
}  // namespace c10
