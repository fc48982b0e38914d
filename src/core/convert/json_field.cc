#include "convert/json_field.h"

namespace kymo::convert {

void append_json_field(TextBuffer& out, const trace::ValueCursor::Value& value) {
  switch (value.type) {
    case trace::FieldType::Int:
      return out.append_number(static_cast<int64_t>(value.bits));
    case trace::FieldType::UInt:
    case trace::FieldType::ByteCount:
      return append_integer(out, value.bits);
    case trace::FieldType::Double:
      return append_json_number(out, value.real);
    case trace::FieldType::Pointer:
      return append_json_address(out, value.bits);
    case trace::FieldType::Bool:
      return append(out, value.bits != 0 ? "true" : "false");
    case trace::FieldType::String:
      return append_json_string(out, value.text);
  }
  append(out, "null");
}

}  // namespace kymo::convert
