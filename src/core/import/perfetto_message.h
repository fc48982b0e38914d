// Reads the fields of Perfetto's messages, and checks their types.
#pragma once

#include <bit>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "convert/perfetto_fields.h"

namespace kymo::import::perfetto {

using namespace convert::perfetto;

// One field of a message: a number, or bytes.
struct Field {
  uint32_t tag = 0;
  protozero::pbf_wire_type type = protozero::pbf_wire_type::unknown;
  uint64_t number = 0;
  std::string_view bytes;

  bool is_bytes() const { return type == protozero::pbf_wire_type::length_delimited; }
  bool is_number() const { return !is_bytes(); }
  double real() const { return std::bit_cast<double>(number); }  // of a fixed64 field
};

// The fields of a message. next() throws protozero::exception if the message is not valid.
class Fields {
 public:
  explicit Fields(std::string_view message) : reader_(message.data(), message.size()) {}

  bool next(Field& field) {
    if (!reader_.next()) return false;
    field.tag = reader_.tag();
    field.type = reader_.wire_type();
    field.number = 0;
    field.bytes = {};
    switch (field.type) {
      case protozero::pbf_wire_type::varint:
        field.number = reader_.get_uint64();
        break;
      case protozero::pbf_wire_type::fixed64:
        field.number = reader_.get_fixed64();
        break;
      case protozero::pbf_wire_type::fixed32:
        field.number = reader_.get_fixed32();
        break;
      case protozero::pbf_wire_type::length_delimited: {
        const protozero::data_view view = reader_.get_view();
        field.bytes = {view.data(), view.size()};
        break;
      }
      default:
        reader_.skip();  // throws
    }
    return true;
  }

 private:
  protozero::pbf_reader reader_;
};

// Calls take(number) for a repeated number, which is one field each or a list in one field.
template <typename Take>
void for_each_number(const Field& field, bool is_fixed64, Take&& take) {
  if (field.is_number()) return take(field.number);
  const char* at = field.bytes.data();
  const char* const end = at + field.bytes.size();
  while (at != end) {
    if (!is_fixed64) {
      take(protozero::decode_varint(&at, end));
      continue;
    }
    if (end - at < 8) throw protozero::end_of_buffer_exception{};
    uint64_t number = 0;
    for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<uint8_t>(at[i]);
    at += 8;
    take(number);
  }
}

}  // namespace kymo::import::perfetto
