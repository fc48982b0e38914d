#include "inject/cuda/work.h"

#include <cstring>

namespace kymo::inject::cuda {
namespace {

template <class Record>
bool read(const void* record, size_t bytes, Record& into) noexcept {
  if (bytes < sizeof(Record)) return false;
  memcpy(&into, record, sizeof(Record));
  return true;
}

// The members that all kinds of work have.
template <class Record>
Work common(const Record& record, WorkKind kind) noexcept {
  Work work;
  work.kind = kind;
  work.start = record.start;
  work.end = record.end;
  work.device = record.device;
  work.context = record.context;
  work.stream = record.stream;
  work.correlation = record.correlation;
  return work;
}

uint32_t positive(int32_t number) noexcept { return number > 0 ? static_cast<uint32_t>(number) : 0; }

WorkKind direction_of(uint8_t direction) noexcept {
  switch (direction) {
    case kHostToDevice:
      return WorkKind::CopyToDevice;
    case kDeviceToHost:
      return WorkKind::CopyToHost;
    case kHostToHost:
      return WorkKind::CopyOnHost;
    case kPeerToPeer:
      return WorkKind::CopyBetweenDevices;
    default:  // also to and from arrays, which are on the device
      return WorkKind::CopyOnDevice;
  }
}

Work kernel(const Kernel& record) noexcept {
  Work work = common(record, WorkKind::Kernel);
  if (record.name != nullptr) work.name = record.name;
  for (int i = 0; i < 3; ++i) {
    work.grid[i] = positive(record.grid[i]);
    work.block[i] = positive(record.block[i]);
  }
  work.registers = record.registers;
  work.shared_bytes = positive(record.static_shared) + positive(record.dynamic_shared);
  return work;
}

}  // namespace

std::optional<Work> work_from(const void* record, size_t bytes) noexcept {
  Kind kind{};
  if (!read(record, bytes, kind)) return {};
  if (kind == Kind::Kernel) {
    cuda::Kernel found;
    if (read(record, bytes, found)) return kernel(found);
  } else if (kind == Kind::Copy) {
    Copy found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, direction_of(found.direction));
    work.bytes = found.bytes;
    return work;
  } else if (kind == Kind::PeerCopy) {
    PeerCopy found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, WorkKind::CopyBetweenDevices);
    work.bytes = found.bytes;
    work.target_device = found.target_device;
    return work;
  } else if (kind == Kind::Fill) {
    Fill found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, WorkKind::Fill);
    work.bytes = found.bytes;
    return work;
  } else if (kind == Kind::Graph) {
    cuda::Graph found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, WorkKind::Graph);
    work.graph = found.graph;
    return work;
  }
  return {};
}

}  // namespace kymo::inject::cuda
