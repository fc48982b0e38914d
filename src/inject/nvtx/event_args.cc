#include "inject/nvtx/event_args.h"

#include <string.h>

#include <algorithm>
#include <bit>

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kOpaque = 0xff000000;

// As much as the caller's structure has. Older callers have a shorter one; the rest is zero.
EventAttributes read(const EventAttributes* event) noexcept {
  EventAttributes known{};
  if (event == nullptr) return known;
  uint16_t head[2];
  memcpy(head, event, sizeof head);
  memcpy(&known, event, std::min<size_t>(std::max<size_t>(head[1], sizeof head), sizeof known));
  return known;
}

}  // namespace

EventArgs::EventArgs(Domain& domain, const EventAttributes* event) noexcept : EventArgs(domain, read(event)) {}

EventArgs::EventArgs(Domain& domain, const EventAttributes& event) noexcept
    : message_(event.message_type, event.message) {
  label_ = {nullptr, domain.name, 0, domain.name_length, 0};
  // Some callers leave the alpha 0 and mean a visible colour.
  if (event.colour_type == kArgb) label_.colour = event.colour | ((event.colour & kOpaque) == 0 ? kOpaque : 0);
  if (event.category != 0) {
    const std::string_view category = category_name(domain, event.category);
    if (category.empty())
      add("category", KYMO_UINT, event.category);
    else
      add_text("category", category);
  }
  add_value(event.payload_type, event.payload);
  const std::string_view name = count_ == 0 ? message_.view() : message_.as_name();
  label_.name = name.data();
  label_.name_length = static_cast<uint32_t>(name.size());
}

void EventArgs::add(const char* name, kymo_type type, uint64_t bits) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name, {}, 0, static_cast<uint32_t>(type)};
  made.value.as_uint = bits;
}

void EventArgs::add_text(const char* name, std::string_view text) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name, {}, static_cast<uint32_t>(text.size()), KYMO_STRING};
  made.value.as_text = text.data();
}

void EventArgs::add_value(int32_t type, const PayloadValue& value) noexcept {
  switch (type) {
    case kUint64:
      return add("value", KYMO_UINT, value.as_uint64);
    case kUint32:
      return add("value", KYMO_UINT, value.as_uint32);
    case kInt64:
      return add("value", KYMO_INT, value.as_uint64);
    case kInt32:
      return add("value", KYMO_INT, static_cast<uint64_t>(int64_t{value.as_int32}));
    case kDouble:
      return add("value", KYMO_DOUBLE, std::bit_cast<uint64_t>(value.as_double));
    case kFloat:
      return add("value", KYMO_DOUBLE, std::bit_cast<uint64_t>(double{value.as_float}));
    default:
      return;
  }
}

}  // namespace kymo::inject::nvtx
