// Hashes: of stored data, and of numbers in tables.
#pragma once

#include <sys/random.h>

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace kymo::base {

// The hash for all stored data: XXH3, 64 bits. It detects damage, not forgery. About as fast as memory.
uint64_t hash(Bytes bytes);

// A hash for numbers from files that the author of the file cannot predict. With a fixed hash, a forged file could use
// numbers that all collide, and reading would take quadratic time.
struct SeededHash {
  size_t operator()(uint64_t value) const noexcept { return of(value, 0); }
  static size_t of(uint64_t value, uint64_t other) noexcept {
    static const Seed seed;
    // The multiplication has 128 bits, so that every bit of the value affects every bit of the result.
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{value ^ seed.first} * ((other * 0x9E3779B97F4A7C15u + seed.second) | 1);
    const Wide again = Wide{static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64)} * (seed.first | 1);
    return static_cast<size_t>(static_cast<uint64_t>(again) ^ static_cast<uint64_t>(again >> 64));
  }

 private:
  struct Seed {
    uint64_t first = 0x2545F4914F6CDD1D, second = 0x9E3779B97F4A7C15;
    Seed() noexcept { [[maybe_unused]] const ssize_t got = ::getrandom(this, sizeof *this, GRND_NONBLOCK); }
  };
};

}  // namespace kymo::base
