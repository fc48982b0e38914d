#include "record/registry.h"

#include <errno.h>
#include <sys/mman.h>

namespace kymo::record {
namespace {

constexpr uint32_t kReservedClasses = 256;
constexpr uint32_t kReservedBytes = 64 << 10;
constexpr uint32_t kMaxArgs = 32;

// Allocates the memory of the pages. Returns 0, or the error: EINVAL if the kernel is too old for this.
int populate(const char* from, size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto begin = reinterpret_cast<uintptr_t>(from) / kPage * kPage;
  const auto end = round_up(reinterpret_cast<uintptr_t>(from) + bytes, kPage);
  return madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
#else
  static_cast<void>(from), static_cast<void>(bytes);
  return EINVAL;
#endif
}

uint64_t hash_text(uint64_t seed, const char* text, size_t length) noexcept {
  uint64_t hash = mix(seed, length + 0x9e3779b97f4a7c15u);
  while (length >= 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    hash = mix(hash ^ word, 0xa0761d6478bd642fu);
    text += 8;
    length -= 8;
  }
  uint64_t rest = 0;
  if (length != 0) memcpy(&rest, text, length);
  return mix(hash ^ rest, 0xe7037ed1a0b428dbu);
}

size_t field_name_length(const kymo_arg& arg) noexcept {
  const size_t length = arg.name != nullptr ? strlen(arg.name) : 0;
  return length < 255 ? length : 255;
}

const ClassEntry* entry_of(const Registry& registry, uint32_t class_id) noexcept {
  const uint32_t offset = registry.offsets[class_id].load(std::memory_order_acquire);
  return offset != 0 ? reinterpret_cast<const ClassEntry*>(registry.arena + offset - 1) : nullptr;
}

// Writes the bytes of the entry in canonical form: two entries are the same class if and only if their bytes are equal.
size_t entry_bytes(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  size_t bytes = sizeof(ClassEntry) + count * sizeof(ClassField) + label.name_length + label.category_length;
  for (uint32_t i = 0; i < count; ++i) bytes += field_name_length(args[i]);
  return round_up(bytes, 8);
}

void write_entry(char* at, size_t bytes, uint64_t hash, const kymo_label& label, const kymo_arg* args,
                 uint32_t count) noexcept {
  memset(at + bytes - 8, 0, 8);
  const ClassEntry entry{hash,
                         static_cast<uint32_t>(bytes),
                         label.colour,
                         static_cast<uint16_t>(label.name_length),
                         static_cast<uint16_t>(label.category_length),
                         static_cast<uint16_t>(count),
                         0};
  memcpy(at, &entry, sizeof entry);
  at += sizeof entry;
  for (uint32_t i = 0; i < count; ++i) {
    const ClassField field{static_cast<uint8_t>(args[i].type), static_cast<uint8_t>(field_name_length(args[i]))};
    memcpy(at, &field, sizeof field);
    at += sizeof field;
  }
  const auto put = [&at](const char* text, size_t length) noexcept {
    if (length != 0) memcpy(at, text, length);
    at += length;
  };
  put(label.name, label.name_length);
  put(label.category, label.category_length);
  for (uint32_t i = 0; i < count; ++i) put(args[i].name, field_name_length(args[i]));
}

// Compares a registered entry with a label and its arguments, without building an entry.
bool matches(const ClassEntry& entry, uint64_t hash, const kymo_label& label, const kymo_arg* args,
             uint32_t count) noexcept {
  if (entry.hash != hash || entry.colour != label.colour || entry.name_length != label.name_length ||
      entry.category_length != label.category_length || entry.field_count != count)
    return false;
  const char* at = reinterpret_cast<const char*>(&entry + 1);
  for (uint32_t i = 0; i < count; ++i, at += sizeof(ClassField))
    if (static_cast<uint8_t>(at[0]) != args[i].type || static_cast<uint8_t>(at[1]) != field_name_length(args[i]))
      return false;
  const auto same = [&at](const char* text, size_t length) noexcept {
    const bool equal = length == 0 || memcmp(at, text, length) == 0;
    at += length;
    return equal;
  };
  if (!same(label.name, label.name_length) || !same(label.category, label.category_length)) return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!same(args[i].name, field_name_length(args[i]))) return false;
  return true;
}

// Takes `amount` from a counter whose max is `max`. False: not enough is left.
bool take(std::atomic<uint32_t>& counter, uint32_t amount, uint32_t max, uint32_t& taken_from) noexcept {
  taken_from = counter.load(std::memory_order_relaxed);
  do {
    if (taken_from + amount > max) return false;
  } while (!counter.compare_exchange_weak(taken_from, taken_from + amount, std::memory_order_acq_rel));
  return true;
}

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t full_signature(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  uint64_t signature = hash_text(label.colour, label.category, label.category_length);
  for (uint32_t i = 0; i < count; ++i) {
    signature = mix(signature + args[i].type, 0x8ebc6af09c88c6e3u);
    if (args[i].name != nullptr) signature = hash_text(signature, args[i].name, field_name_length(args[i]));
  }
  return signature | 1;
}

uint32_t find_class(Registry& registry, const kymo_label& label, const kymo_arg* args, uint32_t count,
                    uint64_t signature, bool reserve) noexcept {
  if (label.name_length > kMaxInternedName || label.category_length > kMaxInternedName || count > kMaxArgs) return 0;
  const uint64_t hash = hash_text(signature, label.name, label.name_length);
  uint32_t place = static_cast<uint32_t>(hash) % kIndexEntries;
  for (uint32_t probe = 0; probe < kIndexEntries; ++probe, place = (place + 1) % kIndexEntries) {
    uint32_t found = registry.index[place].load(std::memory_order_acquire);
    if (found == 0) break;
    const ClassEntry* entry = found <= kMaxClasses ? entry_of(registry, found) : nullptr;
    if (entry != nullptr && matches(*entry, hash, label, args, count)) return found;
  }

  const auto bytes = static_cast<uint32_t>(entry_bytes(label, args, count));
  uint32_t offset = 0, before = 0;
  // Allocate the memory first: a name without memory must not use up an id, however often it is tried.
  const uint32_t next = registry.arena_used.load(std::memory_order_acquire);
  if (next > kArenaBytes - bytes || !make_arena(registry, next, bytes)) return 0;
  if (!take(registry.arena_used, bytes, reserve ? kArenaBytes : kArenaBytes - kReservedBytes, offset)) return 0;
  if (!take(registry.class_count, 1, reserve ? kMaxClasses : kMaxClasses - kReservedClasses, before)) return 0;
  if (!make_arena(registry, offset, bytes)) return 0;
  const uint32_t id = before + 1;
  write_entry(registry.arena + offset, bytes, hash, label, args, count);
  registry.offsets[id].store(offset + 1, std::memory_order_release);
  // Two threads may register the same class at the same time. Then it has two ids, and every reader treats them as one
  // name.
  for (uint32_t probe = 0; probe < kIndexEntries; ++probe, place = (place + 1) % kIndexEntries) {
    uint32_t expected = 0;
    if (registry.index[place].compare_exchange_strong(expected, id, std::memory_order_acq_rel)) break;
  }
  return id;
}

bool arena_comes_when_needed(const Registry& registry) noexcept {
  return populate(registry.arena + kArenaAtOnce, 1) == 0;
}

bool make_arena(const Registry& registry, uint32_t offset, uint32_t bytes) noexcept {
  if (offset + bytes <= kArenaAtOnce) return true;
  const int error = populate(registry.arena + offset, bytes);
  return error == 0 || error == EINVAL;  // EINVAL: on an older kernel, all of the memory exists already
}

const char* class_name(const Registry& registry, uint32_t class_id) noexcept {
  const ClassEntry* entry = entry_of(registry, class_id);
  return reinterpret_cast<const char*>(entry + 1) + entry->field_count * sizeof(ClassField);
}

}  // namespace kymo::record
