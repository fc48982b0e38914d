// Where random numbers come from: a seed, and how many blocks of it are used up.
//
// A block is four 32-bit words of Philox4x32-10, made from the seed and the block's number alone (random_core.inc); so
// a fill needs no more than the blocks it may use, and two fills that overlap in time cannot disturb each other. The
// offset is the number of the first block nobody has.
//
// A device has one generator, made with FromSystem: two runs of a program differ until it calls manual_seed. A
// generator made without a word starts from kDefaultSeed and is the same in every run.
//
// Safe from any thread; every call takes the generator's lock for a few instructions.
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

  // Both begin at offset 0. seed() takes a seed from the operating system and returns it.
  void manual_seed(uint64_t seed);
  uint64_t seed();

  uint64_t current_seed() const;
  uint64_t offset() const;
  void set_offset(uint64_t offset);

  // `blocks` blocks for the caller alone: the offset moves on by as many.
  Reservation reserve(uint64_t blocks);

  // Everything, as bytes that set_state takes: seven 32-bit words, then the seed and the offset, 64 bits each, all
  // little endian. The last two of the words are the seed's halves; the first five are 1 and stand for the inside of an
  // engine that draws word by word, which this one does not: they are kept as they came, for states that were made
  // elsewhere.
  State state() const;
  // Throws InvalidArgument where there are not kStateBytes of them. The seed that counts is the 64-bit one.
  void set_state(std::span<const std::byte> state);

  // 64 bits from the operating system. Throws Error where it gives none.
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
