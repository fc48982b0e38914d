#include "analyze/report/host_calls.h"

#include <algorithm>
#include <array>

namespace kymo::analyze {
namespace {

constexpr uint32_t kUsualClasses = 1 << 20;
constexpr size_t kMostCalls = 4 << 20;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "future.get", "std::thread::join", "queue.wait": the last word of the name, without what it is called with.
bool names_wait(std::string_view name) {
  name = name.substr(0, name.find('('));
  const size_t before = name.find_last_of(".:_ ");
  const std::string_view word = before == name.npos ? name : name.substr(before + 1);
  constexpr std::array<std::string_view, 5> kWords = {"wait", "Wait", "join", "acquire", "wait_for"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  return word == "get" && before != name.npos && name[before] != '_' && name[before] != ' ';
}

}  // namespace

bool is_device_wait(std::string_view category, std::string_view name) {
  return contains(name, "Synchronize") || contains(name, "synchronize") ||
         (category == "device" && name.starts_with("wait"));
}

bool waits_for_whole_device(std::string_view name) {
  return !contains(name, "Stream") && !contains(name, "stream") && !contains(name, "Event") && !contains(name, "event");
}

CallKind call_kind(std::string_view category, std::string_view name) {
  if (name == "fwdbwd") return CallKind::Gradient;
  if (name.starts_with("autograd::engine::evaluate_function")) return CallKind::Autograd;
  if (is_device_wait(category, name)) return waits_for_whole_device(name) ? CallKind::DeviceWait : CallKind::QueueWait;
  if (contains(name, "StreamWaitEvent")) return CallKind::EventWait;
  const bool is_interface = name.starts_with("cu") || name.starts_with("hip");
  if (is_interface && contains(name, "Memcpy")) return contains(name, "Async") ? CallKind::AsyncCopy : CallKind::Copy;
  return names_wait(name) ? CallKind::Waiting : CallKind::Plain;
}

CallKind CallKinds::of(const TrackOfTrace& track, uint32_t class_id) {
  const auto find = [&] {
    const trace::EventClass* const known = track.writer->find_class(class_id);
    return known == nullptr ? CallKind::Plain : call_kind(known->category, known->name);
  };
  if (class_id >= kUsualClasses) {  // only a forged trace has them
    const auto [entry, is_new] = unusual_.try_emplace({track.writer_number, class_id}, CallKind::Plain);
    if (is_new) entry->second = find();
    return entry->second;
  }
  std::vector<uint8_t>& kinds = usual_[track.writer_number];
  if (class_id >= kinds.size()) kinds.resize(class_id + size_t{1});
  if (kinds[class_id] == 0) kinds[class_id] = static_cast<uint8_t>(static_cast<uint8_t>(find()) + 1);
  return static_cast<CallKind>(kinds[class_id] - 1);
}

void HostCalls::add(CallKind kind, uint32_t track, const TrackRange& range) {
  if (kind == CallKind::Autograd) autograd.insert(track);
  std::vector<HostCall>* const list = kind == CallKind::DeviceWait || kind == CallKind::QueueWait ? &waits
                                      : kind == CallKind::Copy || kind == CallKind::AsyncCopy     ? &copies
                                      : kind == CallKind::EventWait                               ? &event_waits
                                      : kind == CallKind::Waiting                                 ? &waiting
                                                                                                  : nullptr;
  if (list != nullptr && list->size() < kMostCalls)
    list->push_back({range.begin, range.end, range.correlation, track, kind});
}

}  // namespace kymo::analyze
