#include "import/class_numbers.h"

#include "import/value_bytes.h"

namespace kymo::import {
namespace {

std::string key_of(const trace::EventClass& of) {
  std::string key;
  const auto add = [&](std::string_view text) {
    put_varint(key, text.size());
    key += text;
  };
  add(of.name);
  add(of.category);
  put_varint(key, of.colour);
  for (const trace::Field& field : of.fields) {
    add(field.name);
    key += static_cast<char>(field.type);
  }
  return key;
}

// Braces are places for values in the names of classes.
std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) text.append(c == '{' || c == '}' ? 2 : 1, c);
  return text;
}

}  // namespace

void ClassNumbers::select(const EventTables& tables) {
  last_tables_ = &tables;
  last_ = &of_tables_[&tables];
}

const ClassNumbers::Known& ClassNumbers::add(const EventTables& tables, uint32_t class_id) {
  const EventTables::Class& from = tables.at(class_id);
  trace::EventClass made;
  made.name = escaped(tables.texts[from.name]);
  made.category = tables.texts[from.category];
  made.colour = from.colour;
  made.fields = tables.fields(from.fields);
  const auto [types, are_new] = last_->types.try_emplace(from.fields);
  if (are_new)
    for (const trace::Field& field : made.fields) types->second.push_back(field.type);

  Known& known = last_->known[class_id];
  known.types = &types->second;
  auto found = ids_.find(key_of(made));
  if (found == ids_.end() && classes_.size() >= kMost) {
    known.has_name_in_value = true;
    made.name = "{}";
    made.fields.insert(made.fields.begin(), {"", trace::FieldType::String});
    found = ids_.find(key_of(made));
  }
  if (found == ids_.end()) {
    made.id = static_cast<uint32_t>(classes_.size() + 1);
    found = ids_.emplace(key_of(made), made.id).first;
    classes_.push_back(std::move(made));
  }
  known.id = found->second;
  return known;
}

}  // namespace kymo::import
