#include "shader/sema/entity.h"

#include <cstring>

namespace kymo::shader {
namespace {

using ArgumentKind = TemplateArgument::Kind;

template <typename T>
void key_append(std::string& key, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  key.append(bytes, sizeof value);
}

void key_append_arguments(std::string& key, const TemplateArguments& arguments) {
  for (const TemplateArgument& argument : arguments) {
    key.push_back(static_cast<char>(argument.kind));
    switch (argument.kind) {
      case ArgumentKind::Type:
        key_append(key, argument.type.type);
        key.push_back(static_cast<char>(argument.type.is_const));
        key.push_back(argument.type.space ? static_cast<char>(1 + static_cast<int>(*argument.type.space)) : '\0');
        break;
      case ArgumentKind::Value:
        key_append(key, argument.value->type);
        key_append(key, argument.value->bits);
        break;
      case ArgumentKind::Pack:
        key_append(key, argument.pack.size());
        key_append_arguments(key, argument.pack);
        break;
      case ArgumentKind::Template:
        key_append(key, argument.symbol);
        break;
    }
  }
}

}  // namespace

bool TemplateArgument::operator==(const TemplateArgument& other) const {
  if (kind != other.kind) return false;
  switch (kind) {
    case Kind::Type:
      return type.type == other.type.type && type.is_const == other.type.is_const && type.space == other.type.space;
    case Kind::Value:
      return value->type == other.value->type && value->bits == other.value->bits;
    case Kind::Pack:
      return pack == other.pack;
    case Kind::Template:
      break;
  }
  return symbol == other.symbol;
}

std::string instance_key(const void* symbol, const TemplateArguments& arguments) {
  std::string key;
  key.reserve(8 + arguments.size() * 16);
  key_append(key, symbol);
  key_append_arguments(key, arguments);
  return key;
}

std::string spell(const TemplateArguments& arguments) {
  std::string text;
  for (const TemplateArgument& argument : arguments) {
    if (argument.kind == ArgumentKind::Pack && argument.pack.empty()) continue;
    if (!text.empty()) text += ", ";
    switch (argument.kind) {
      case ArgumentKind::Type:
        text += (argument.type.is_const ? "const " : "") +
                (argument.type.type == nullptr ? "auto" : TypeTable::name(argument.type.type));
        break;
      case ArgumentKind::Value:
        if (argument.value->type->is_struct()) {
          text += TypeTable::name(argument.value->type);
          break;
        }
        text += argument.value->type->is(TypeKind::Bool) ? (argument.value->bits != 0 ? "true" : "false")
                                                         : std::to_string(static_cast<int64_t>(argument.value->bits));
        break;
      case ArgumentKind::Pack:
        text += spell(argument.pack);
        break;
      case ArgumentKind::Template:
        text += argument.symbol->name;
        break;
    }
  }
  return text;
}

Class* class_named(const Type* type) {
  if (type == nullptr || !type->is_struct()) return nullptr;
  return static_cast<Class*>(const_cast<void*>(type->declaration));
}

std::string types_of(std::span<const Value> values) {
  std::string text = "(";
  for (const Value& value : values) {
    if (text.size() > 1) text += ", ";
    text += value.type != nullptr ? TypeTable::name(value.type) : "{...}";
  }
  return text + ")";
}

}  // namespace kymo::shader
