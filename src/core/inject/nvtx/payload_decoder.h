// Decodes the payload of an event by its schema: fields become arguments with names ("shape.rows").
//
// The bytes come from the program, and nothing about them is trusted: every read is inside of the payloads of the
// event. A pointer that leads elsewhere is read through the kernel, which reports a bad address instead of a fault. The
// number of fields, the depth of nesting and the size of texts have limits; what exceeds them is left out. Allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/payload_schema.h"
#include "kymo/kymo.h"
#include "record/ring.h"

namespace kymo::inject::nvtx {

// Copies memory at an address that may be invalid. False: not all of it could be read.
using ReadAnywhere = bool (*)(uint64_t address, void* into, size_t size) noexcept;
bool read_own_memory(uint64_t address, void* into, size_t size) noexcept;

class DecodedPayload {
 public:
  // Decodes all payloads of an event. `payloads` is copied from the program.
  DecodedPayload(const Domain& domain, std::span<const PayloadData> payloads,
                 ReadAnywhere read_anywhere = read_own_memory) noexcept;
  DecodedPayload(const DecodedPayload&) = delete;
  DecodedPayload& operator=(const DecodedPayload&) = delete;

  // Names and texts are in this object, or in the schemas.
  std::span<const kymo_arg> args() const noexcept { return {args_, count_}; }
  std::string_view message() const noexcept { return message_; }  // of the event; empty: the payload has none
  std::string_view schema_name() const noexcept { return schema_name_; }
  uint32_t colour() const noexcept { return colour_; }      // 0: none
  uint32_t category() const noexcept { return category_; }  // 0: none

 private:
  struct Bytes {
    const uint8_t* data;
    size_t size;
  };
  struct Entries;
  static constexpr size_t kTextBytes = 2048;
  static constexpr uint32_t kMaxDepth = 6;
  static constexpr uint32_t kMaxFields = 512;
  static constexpr size_t kMaxShown = 16;      // elements of an array
  static constexpr size_t kMaxFollowed = 512;  // bytes of a text behind a pointer

  void decode_payload(const PayloadData& payload) noexcept;
  size_t decode_schema(const Schema& schema, Bytes bytes, std::string_view prefix, uint32_t depth) noexcept;
  size_t decode_entry(const Schema& schema, uint32_t index, Bytes bytes, size_t at, const uint64_t* values,
                      std::string_view prefix, uint32_t depth, uint64_t& value) noexcept;
  void decode_value(const SchemaEntry& entry, Bytes bytes, std::string_view name, uint32_t depth) noexcept;
  void decode_array(const SchemaEntry& entry, Bytes bytes, uint64_t length, std::string_view name,
                    uint32_t depth) noexcept;
  bool follow(uint64_t address, size_t wanted, bool until_zero, Bytes& found) noexcept;
  size_t size_of_type(uint64_t type) const noexcept;
  size_t alignment_of(uint64_t type) const noexcept;
  void add_number(const SchemaEntry& entry, Bytes bytes, std::string_view name) noexcept;
  void add_text(const SchemaEntry& entry, std::string_view text, std::string_view name) noexcept;
  void add_arg(std::string_view name, kymo_type type, uint64_t bits) noexcept;
  size_t put_number(uint64_t type, Bytes bytes, char* into, size_t room) const noexcept;
  std::string_view enum_text(const Schema& schema, uint64_t value) noexcept;
  std::string_view converted(uint64_t type, Bytes bytes) noexcept;
  char* take_room(size_t bytes) noexcept;

  const Domain& domain_;
  const std::span<const PayloadData> payloads_;
  const ReadAnywhere read_anywhere_;
  std::string_view message_, schema_name_;
  uint32_t colour_ = 0, category_ = 0;
  uint32_t count_ = 0, fields_ = 0;
  size_t used_ = 0;
  kymo_arg args_[record::kMaxStoredArgs];
  char text_[kTextBytes];
};

}  // namespace kymo::inject::nvtx
