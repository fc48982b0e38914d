// The label and the arguments of an event with attributes: its colour, its category and its payload.
#pragma once

#include <cstdint>
#include <optional>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/payload_decoder.h"
#include "kymo/kymo.h"
#include "record/payload.h"

namespace kymo::inject::nvtx {

inline constexpr size_t kMaxPayloads = 16;  // of one event

class EventArgs {
 public:
  // `event` may be null, and is valid only during the call of the program. Reads no more bytes of it than it has.
  EventArgs(Domain& domain, const EventAttributes* event) noexcept;
  EventArgs(const EventArgs&) = delete;
  EventArgs& operator=(const EventArgs&) = delete;

  kymo_label& label() noexcept { return label_; }
  const kymo_arg* data() const noexcept { return args_; }
  uint32_t count() const noexcept { return count_; }

 private:
  EventArgs(Domain& domain, const EventAttributes& event) noexcept;
  void add(const char* name, kymo_type type, uint64_t bits) noexcept;
  void add_text(const char* name, std::string_view text) noexcept;
  void add_extended(Domain& domain, const EventAttributes& event) noexcept;
  void add_category(Domain& domain, uint32_t number) noexcept;
  void set_colour(uint32_t argb) noexcept;
  void add_value(int32_t type, const PayloadValue& value) noexcept;

  kymo_label label_;
  Text message_;
  uint32_t count_ = 0;
  kymo_arg args_[record::kMaxStoredArgs];
  std::optional<DecodedPayload> decoded_;
};

}  // namespace kymo::inject::nvtx
