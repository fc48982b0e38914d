#include "collect/class_table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace kymo::collect {
namespace {

using record::ClassEntry;
using record::ClassField;
using record::Registry;

std::optional<trace::EventClass> read_class(const Registry& registry, uint32_t id) {
  const uint32_t place = registry.offsets[id].load(std::memory_order_acquire);
  if (place == 0) return std::nullopt;
  const uint64_t offset = place - 1;
  if (offset % 8 != 0 || offset + sizeof(ClassEntry) > record::kArenaBytes) return std::nullopt;
  ClassEntry entry;
  std::memcpy(&entry, registry.arena + offset, sizeof entry);
  if (entry.bytes < sizeof entry || entry.bytes > record::kArenaBytes - offset) return std::nullopt;
  std::string_view rest(registry.arena + offset + sizeof entry, entry.bytes - sizeof entry);
  const auto take = [&rest](size_t length) {
    const std::string_view piece = rest.substr(0, length);
    rest.remove_prefix(std::min(length, rest.size()));
    return piece;
  };
  const std::string_view fields = take(entry.field_count * sizeof(ClassField));
  trace::EventClass made;
  made.id = id;
  made.colour = entry.colour;
  made.name = take(entry.name_length);
  made.category = take(entry.category_length);
  for (size_t i = 0; i + sizeof(ClassField) <= fields.size(); i += sizeof(ClassField)) {
    ClassField field;
    std::memcpy(&field, fields.data() + i, sizeof field);
    if (field.type < 1 || field.type > static_cast<uint8_t>(trace::FieldType::Bool)) return std::nullopt;
    made.fields.push_back({std::string(take(field.name_length)), static_cast<trace::FieldType>(field.type)});
  }
  return made;
}

}  // namespace

void ClassTable::update(const Registry& registry) {
  const uint32_t count = std::min(registry.class_count.load(std::memory_order_acquire), record::kMaxClasses);
  if (count == seen_ && unfinished_.empty()) return;
  classes_.resize(std::max<size_t>(classes_.size(), count + 1));
  plain_.resize(classes_.size());
  std::vector<uint32_t> wanted = std::move(unfinished_);
  unfinished_.clear();
  while (seen_ < count) wanted.push_back(++seen_);
  for (const uint32_t id : wanted) {
    if (auto made = read_class(registry, id)) {
      plain_[id] = made->fields.empty();
      classes_[id] = std::move(*made);
    } else {
      unfinished_.push_back(id);
    }
  }
}

}  // namespace kymo::collect
