#include "record/label_text.h"

#include <string.h>

#include <string_view>

#include "base/value_text.h"

namespace kymo::record {
namespace {

class LabelWriter {
 public:
  explicit LabelWriter(char (&text)[kLabelTextBytes]) noexcept : text_(text) {}

  void put(const char* bytes, size_t length) noexcept {
    if (bytes == nullptr || cut_) return;
    if (length > kLabelTextBytes - 1 - used_) {
      length = kLabelTextBytes - 1 - used_;
      while (length > 0 && (static_cast<unsigned char>(bytes[length]) & 0xc0) == 0x80) --length;
      cut_ = true;
    }
    for (size_t i = 0; i < length; ++i) text_[used_ + i] = bytes[i] != '\0' ? bytes[i] : ' ';
    used_ += length;
  }
  size_t finish() noexcept {
    text_[used_] = '\0';
    return used_;
  }

 private:
  char (&text_)[kLabelTextBytes];
  size_t used_ = 0;
  bool cut_ = false;
};

base::ShownValue shown(const kymo_arg& arg) noexcept {
  using Kind = base::ShownValue::Kind;
  base::ShownValue value;
  switch (arg.type) {
    case KYMO_DOUBLE:
      value.kind = Kind::Double;
      value.real = arg.value.as_double;
      return value;
    case KYMO_STRING:
      value.kind = Kind::Text;
      if (arg.value.as_text != nullptr) value.text = {arg.value.as_text, arg.length};
      return value;
    case KYMO_INT:
      value.kind = Kind::Int;
      break;
    case KYMO_BYTES:
      value.kind = Kind::ByteCount;
      break;
    case KYMO_POINTER:
      value.kind = Kind::Pointer;
      break;
    case KYMO_BOOL:
      value.kind = Kind::Bool;
      break;
    default:
      break;
  }
  value.bits = arg.value.as_uint;
  return value;
}

}  // namespace

size_t label_text(const kymo_label& label, const kymo_arg* args, uint32_t count,
                  char (&text)[kLabelTextBytes]) noexcept {
  LabelWriter writer(text);
  const std::string_view name(label.name, label.name != nullptr ? label.name_length : 0);
  const auto name_of = [&](size_t i) { return args[i].name != nullptr ? std::string_view(args[i].name) : ""; };
  base::put_name(
      name, count, name_of, [&](size_t i) { return shown(args[i]); }, writer);
  return writer.finish();
}

double counter_value(const kymo_arg* args, uint32_t count) noexcept {
  if (count == 0) return 0;
  const kymo_arg* found = args;
  for (uint32_t i = 0; i < count; ++i) {
    if (args[i].name == nullptr || strcmp(args[i].name, "value") != 0) continue;
    found = &args[i];
    break;
  }
  switch (found->type) {
    case KYMO_INT:
      return static_cast<double>(found->value.as_int);
    case KYMO_DOUBLE:
      return found->value.as_double;
    case KYMO_STRING:
      return 0;
    default:
      return static_cast<double>(found->value.as_uint);
  }
}

}  // namespace kymo::record
