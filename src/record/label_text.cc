#include "record/label_text.h"

#include <string.h>

#include <charconv>
#include <iterator>

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
  void put(const char* word) noexcept { put(word, strlen(word)); }

  template <class... How>
  void put_number(How... how) noexcept {
    char digits[kDigits];
    const auto made = std::to_chars(digits, digits + sizeof digits, how...);
    if (made.ec == std::errc{}) put(digits, static_cast<size_t>(made.ptr - digits));
  }
  void put_double(double value) noexcept;
  void put_bytes(uint64_t bytes) noexcept;
  void put_value(const kymo_arg& arg) noexcept;

  size_t finish() noexcept {
    text_[used_] = '\0';
    return used_;
  }

 private:
  static constexpr size_t kDigits = 64;

  char (&text_)[kLabelTextBytes];
  size_t used_ = 0;
  bool cut_ = false;
};

// The min number of digits that reads back as the same number. An exponent is used only to avoid many zeros.
void LabelWriter::put_double(double value) noexcept {
  constexpr double kSmall = 1e-4, kLarge = 1e16;
  const double size = value < 0 ? -value : value;
  const bool exponent = size != 0 && (size < kSmall || size >= kLarge);
  put_number(value, exponent ? std::chars_format::scientific : std::chars_format::fixed);
}

void LabelWriter::put_bytes(uint64_t bytes) noexcept {
  constexpr uint64_t kStep = 1024;
  constexpr const char* kUnits[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  if (bytes < kStep) {
    put_number(bytes);
    return put(" B");
  }
  size_t unit = 0;
  double scaled = static_cast<double>(bytes) / kStep;
  for (; scaled >= kStep && unit + 1 < std::size(kUnits); ++unit) scaled /= kStep;
  const bool whole = scaled == static_cast<double>(static_cast<uint64_t>(scaled));
  put_number(scaled, std::chars_format::fixed, whole ? 0 : 1);
  put(kUnits[unit]);
}

void LabelWriter::put_value(const kymo_arg& arg) noexcept {
  switch (arg.type) {
    case KYMO_INT:
      return put_number(arg.value.as_int);
    case KYMO_DOUBLE:
      return put_double(arg.value.as_double);
    case KYMO_STRING:
      return put(arg.value.as_text, arg.length);
    case KYMO_BYTES:
      return put_bytes(arg.value.as_uint);
    case KYMO_POINTER:
      put("0x");
      return put_number(arg.value.as_uint, 16);
    case KYMO_BOOL:
      return put(arg.value.as_uint != 0 ? "true" : "false");
    default:
      return put_number(arg.value.as_uint);
  }
}

// The position of the next "{}"; `length`: not found.
size_t find_place(const char* name, size_t from, size_t length) noexcept {
  while (from + 1 < length && !(name[from] == '{' && name[from + 1] == '}')) ++from;
  return from + 1 < length ? from : length;
}

}  // namespace

size_t label_text(const kymo_label& label, const kymo_arg* args, uint32_t count,
                  char (&text)[kLabelTextBytes]) noexcept {
  LabelWriter writer(text);
  const size_t length = label.name != nullptr ? label.name_length : 0;
  size_t begin = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (args[i].name != nullptr && args[i].name[0] != '\0') continue;
    const size_t place = find_place(label.name, begin, length);
    if (place == length) break;
    writer.put(label.name + begin, place - begin);
    writer.put_value(args[i]);
    begin = place + 2;
  }
  if (begin < length) writer.put(label.name + begin, length - begin);
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
