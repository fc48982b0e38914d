#include "import/class_numbers.h"

#include "base/name_places.h"
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

// Readers would fill the name with values, or take "{{" for a brace.
bool is_changed_by_readers(const trace::EventClass& of) {
  if (of.fields.empty()) return false;
  base::NamePieces pieces(of.name);
  size_t next = 0, length = 0;
  for (base::NamePiece piece; pieces.next(piece); length += piece.text.size()) {
    const auto name_of = [&](size_t i) { return std::string_view(of.fields[i].name); };
    if (base::argument_of(piece, of.fields.size(), name_of, next) != base::kNoArgument) return true;
  }
  return length != of.name.size();
}

// Names of other tools have no places for values.
void escape_name(trace::EventClass& of) {
  if (!is_changed_by_readers(of)) return;
  std::string text;
  for (const char c : of.name) text.append(c == '{' || c == '}' ? 2 : 1, c);
  of.name = std::move(text);
}

}  // namespace

void ClassNumbers::select(const EventTables& tables) {
  last_tables_ = &tables;
  last_ = &of_tables_[&tables];
}

ClassNumbers::Known& ClassNumbers::add(const EventTables& tables, uint32_t class_id) {
  const EventTables::Class& from = tables.at(class_id);
  trace::EventClass made;
  made.name = tables.texts[from.name];
  made.category = tables.texts[from.category];
  made.colour = from.colour;
  made.fields = tables.fields(from.fields);
  escape_name(made);
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
