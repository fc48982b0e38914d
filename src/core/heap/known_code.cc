#include "heap/known_code.h"

#include <string.h>
#include <unistd.h>

#include <atomic>

#include "record/store.h"
#include "unwind/loaded_code.h"

namespace kymo::heap {
namespace {

using unwind::kMaxBuildIdBytes;

constexpr uint32_t kStatedPlaces = 4096;
constinit std::atomic<uintptr_t> stated[kStatedPlaces] = {};  // where the recorded files begin, by hash

constexpr char kModuleName[] = "module";
constexpr char kModuleCategory[] = "kymo.stack";
constinit kymo_site module_site{{kModuleName, kModuleCategory, sizeof kModuleName - 1, sizeof kModuleCategory - 1, 0},
                                {}};

// The record was dropped, so the next stack through this file records the file again. Files after this place in the
// table may be recorded twice then.
void give_up_statement(uintptr_t begin) noexcept {
  for (auto& place : stated)
    if (place.load(std::memory_order_relaxed) == begin) place.store(0, std::memory_order_relaxed);
}

// True: the caller must record the file. If the table is full, always true: twice is better than not at all.
bool claim_statement(uintptr_t begin) noexcept {
  uint64_t place = (begin * 0x9e3779b97f4a7c15u) >> 52;
  static_assert(kStatedPlaces == 1 << 12);
  for (uint32_t probe = 0; probe < kStatedPlaces; ++probe, place = (place + 1) % kStatedPlaces) {
    uintptr_t known = stated[place].load(std::memory_order_relaxed);
    if (known == begin) return false;
    if (known == 0 && stated[place].compare_exchange_strong(known, begin, std::memory_order_relaxed)) return true;
    if (known == begin) return false;
  }
  return true;
}

constexpr kymo_arg module_field(const char* name, kymo_type type) { return {name, {}, 0, static_cast<uint32_t>(type)}; }
constexpr kymo_arg kModuleFields[] = {module_field("path", KYMO_STRING), module_field("base", KYMO_POINTER),
                                      module_field("size", KYMO_BYTES), module_field("build_id", KYMO_STRING)};

// The words of the record. It is small, because it may be on the stack of a signal handler.
class ModuleWords {
 public:
  static constexpr uint32_t kMaxPathBytes = 768;

  void put(uint64_t word) noexcept { words_[used_++] = word; }
  void put_path(const char* path) noexcept {
    char* to = reinterpret_cast<char*>(words_ + used_ + 1);
    if (*path != '\0') return put_text_there(static_cast<const char*>(stpncpy(to, path, kMaxPathBytes)) - to);
    const ssize_t length = readlink("/proc/self/exe", to, kMaxPathBytes);
    put_text_there(length > 0 ? length : 0);
  }
  void put_hex(const uint8_t* bytes, size_t count) noexcept {
    constexpr char kDigits[] = "0123456789abcdef";
    char* to = reinterpret_cast<char*>(words_ + used_ + 1);
    for (size_t i = 0; i < count; ++i) {
      to[2 * i] = kDigits[bytes[i] >> 4];
      to[2 * i + 1] = kDigits[bytes[i] & 15];
    }
    put_text_there(static_cast<ssize_t>(2 * count));
  }
  const uint64_t* words() const noexcept { return words_; }
  uint32_t cells() const noexcept { return (used_ + 1) / 2; }

 private:
  void put_text_there(ssize_t length) noexcept {
    words_[used_] = static_cast<uint64_t>(length);
    used_ += 1 + static_cast<uint32_t>((length + 7) / 8);
  }

  uint32_t used_ = 0;
  uint64_t words_[(kMaxPathBytes + 2 * kMaxBuildIdBytes) / 8 + 6] = {};
};

}  // namespace

void state_code_of(uintptr_t address) noexcept {
  unwind::LoadedCode code;
  if (!unwind::find_loaded_code(address, code) || !claim_statement(code.begin)) return;
  const record::FoundClass found =
      record::class_at(module_site, kModuleFields, sizeof kModuleFields / sizeof(kymo_arg));
  if (found.name_inline) return;
  uint8_t id[kMaxBuildIdBytes];
  ModuleWords words;
  words.put_path(code.path);
  words.put(code.begin);
  words.put(code.end - code.begin);
  words.put_hex(id, unwind::build_id_of(code, id));
  if (!record::store_words(record::Kind::Instant, found.id, words.words(), words.cells()))
    give_up_statement(code.begin);
}

void forget_stated_code() noexcept {
  for (auto& place : stated)
    if (place.load(std::memory_order_relaxed) != 0) place.store(0, std::memory_order_relaxed);
}

}  // namespace kymo::heap
