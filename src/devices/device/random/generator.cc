#include "device/random/generator.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "kymo/error.h"

namespace kymo::device::random {
namespace {

static_assert(std::endian::native == std::endian::little, "a state is copied as it lies in memory");

constexpr size_t kSeedAt = 28;
constexpr size_t kOffsetAt = 36;

}  // namespace

Generator::Words Generator::words_of(uint64_t seed) {
  return {1, 1, 1, 1, 1, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

Generator::Generator(uint64_t seed) : words_(words_of(seed)), seed_(seed) {}

void Generator::manual_seed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  words_ = words_of(seed);
  seed_ = seed;
  offset_ = 0;
}

uint64_t Generator::seed() {
  const uint64_t seed = seed_from_system();
  manual_seed(seed);
  return seed;
}

uint64_t Generator::current_seed() const {
  std::lock_guard lock(mutex_);
  return seed_;
}

uint64_t Generator::offset() const {
  std::lock_guard lock(mutex_);
  return offset_;
}

void Generator::set_offset(uint64_t offset) {
  std::lock_guard lock(mutex_);
  offset_ = offset;
}

Reservation Generator::reserve(uint64_t blocks) {
  std::lock_guard lock(mutex_);
  const Reservation reservation{seed_, offset_};
  offset_ += blocks;
  return reservation;
}

Generator::State Generator::state() const {
  State state;
  std::lock_guard lock(mutex_);
  static_assert(sizeof words_ == kSeedAt);
  std::memcpy(state.data(), words_.data(), sizeof words_);
  std::memcpy(state.data() + kSeedAt, &seed_, sizeof seed_);
  std::memcpy(state.data() + kOffsetAt, &offset_, sizeof offset_);
  return state;
}

void Generator::set_state(std::span<const std::byte> state) {
  if (state.size() != kStateBytes)
    throw InvalidArgument("a random generator's state has " + std::to_string(kStateBytes) +
                          " bytes, but this one has " + std::to_string(state.size()) +
                          ": pass a state that was read from a generator");
  std::lock_guard lock(mutex_);
  std::memcpy(words_.data(), state.data(), sizeof words_);
  std::memcpy(&seed_, state.data() + kSeedAt, sizeof seed_);
  std::memcpy(&offset_, state.data() + kOffsetAt, sizeof offset_);
}

uint64_t Generator::seed_from_system() {
  uint64_t seed;
  ssize_t got;
  do got = getrandom(&seed, sizeof seed, 0);
  while (got < 0 && errno == EINTR);
  if (got != sizeof seed)
    throw Error(std::string("the operating system gave no random seed (getrandom: ") + std::strerror(errno) +
                "): set one with manual_seed");
  return seed;
}

}  // namespace kymo::device::random
