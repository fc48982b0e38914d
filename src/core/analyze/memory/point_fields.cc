#include "analyze/memory/point_fields.h"

#include "convert/device_types.h"
#include "trace/definition.h"

namespace kymo::memory {

namespace {

using trace::FieldType;

}  // namespace

PointFields::PointFields(const trace::EventClass& event_class) {
  const auto find = [&](std::initializer_list<std::string_view> names, bool is_text) {
    for (size_t i = 0; i < event_class.fields.size(); ++i) {
      const trace::Field& field = event_class.fields[i];
      if ((field.type == FieldType::String) != is_text || field.type == FieldType::Double) continue;
      for (const std::string_view name : names)
        if (field.name == name) return static_cast<int>(i);
    }
    return -1;
  };
  is_stack_ = trace::is_definition(event_class) && (event_class.name == "stack node" || event_class.name == "module");
  bytes_ = find({"bytes", "Bytes"}, false);
  weight_ = find({"weight"}, false);
  node_ = find({"node"}, false);
  stack_ = find({"stack_id"}, false);
  parent_ = find({"parent"}, false);
  address_ = find({"address"}, false);
  base_ = find({"base"}, false);
  size_ = find({"size"}, false);
  path_ = find({"path"}, true);
  build_id_ = find({"build_id"}, true);
  category_ = find({"category", "Category"}, true);
  device_ = find({"device", "Device"}, true);
  device_type_ = find({"Device Type"}, false);
  device_id_ = find({"Device Id"}, false);
  for (size_t i = 0; bytes_ < 0 && i < event_class.fields.size(); ++i)
    if (event_class.fields[i].type == FieldType::ByteCount) bytes_ = static_cast<int>(i);
  is_heap_ =
      event_class.category == "memory" && device_ < 0 &&
      ((event_class.name == "malloc" && node_ >= 0) || (event_class.name == "free" && event_class.fields.empty()));
}

uint64_t PointFields::number(std::span<const Value> row, int field) {
  return field >= 0 && static_cast<size_t>(field) < row.size() ? row[static_cast<size_t>(field)].bits : 0;
}

std::string_view PointFields::text(std::span<const Value> row, int field) {
  return field >= 0 && static_cast<size_t>(field) < row.size() ? row[static_cast<size_t>(field)].text
                                                               : std::string_view{};
}

uint64_t PointFields::bytes(std::span<const Value> row) const {
  const uint64_t bits = number(row, bytes_);
  if (bytes_ < 0 || static_cast<size_t>(bytes_) >= row.size()) return 0;
  const bool negative = row[static_cast<size_t>(bytes_)].type == FieldType::Int && static_cast<int64_t>(bits) < 0;
  return negative ? uint64_t{0} - bits : bits;
}

std::optional<uint64_t> PointFields::node(std::span<const Value> row) const {
  if (node_ < 0 || static_cast<size_t>(node_) >= row.size()) return std::nullopt;
  return row[static_cast<size_t>(node_)].bits;
}

std::string PointFields::device(std::span<const Value> row) const {
  if (is_heap_) return std::string(kHeap);
  if (const std::string_view name = text(row, device_); !name.empty()) return std::string(name);
  if (device_type_ >= 0)
    return convert::device_key({static_cast<int64_t>(number(row, device_type_)),
                                device_id_ < 0 ? -1 : static_cast<int64_t>(number(row, device_id_))});
  return std::string(kUnnamedMemory);
}

}  // namespace kymo::memory
