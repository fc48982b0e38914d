// The source of random numbers: a seed, and the number of its blocks that are used.
//
// A block is four 32-bit words of Philox4x32-10, computed from only the seed and the block's number (random_core.inc).
// So a fill needs only its own blocks, and two fills that overlap in time cannot disturb each other. The offset is the
// number of the first unused block.
//
// A device has one generator, created with FromSystem: two runs of a program differ until it calls manual_seed. A
// generator that is created without an argument starts from kDefaultSeed and is the same in every run.
//
// Thread-safe; every call takes the generator's lock for a few instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace kymo::device::random {

// The blocks offset, offset + 1, ... of a seed; numbers wrap at 2^64.
struct Reservation {
  uint64_t seed = 0;
  uint64_t offset = 0;
  bool operator==(const Reservation&) const = default;
};

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 44;
  using State = std::array<std::byte, kStateBytes>;
  struct FromSystem {};

  explicit Generator(uint64_t seed = kDefaultSeed);
  explicit Generator(FromSystem) : Generator(seed_from_system()) {}

  // Both set the offset to 0. seed() takes a seed from the operating system and returns it.
  void manual_seed(uint64_t seed);
  uint64_t seed();

  uint64_t current_seed() const;
  uint64_t offset() const;
  void set_offset(uint64_t offset);

  // Reserves `blocks` blocks for the caller: the offset moves forward by this number.
  Reservation reserve(uint64_t blocks);

  // The complete state, as bytes for set_state: seven 32-bit words, then the seed and the offset with 64 bits each, all
  // little endian. The last two words are the halves of the seed. The first five words are 1: they stand for the inner
  // state of an engine that draws word by word, which this one does not. They are kept unchanged, for states that were
  // made elsewhere.
  State state() const;
  // Throws InvalidArgument unless there are kStateBytes bytes. The 64-bit seed is used.
  void set_state(std::span<const std::byte> state);

  // 64 bits from the operating system. Throws Error if it returns none.
  static uint64_t seed_from_system();

 private:
  using Words = std::array<uint32_t, 7>;
  static Words words_of(uint64_t seed);

  mutable std::mutex mutex_;
  Words words_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

}  // namespace kymo::device::random
