#include "capture/replay/tables.h"

#include <cmath>

#include "base/text.h"
#include "capture/format.h"
#include "device/device_state.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

template <class List>
void check_known(const List& list, uint32_t number, const char* what) {
  if (number >= list.size()) throw Error(base::format("there is no {} {}", what, number));
}

template <class List>
void check_room(const List& list, size_t max, const char* what) {
  if (list.size() >= max) throw Error(base::format("it has more than {} {}", max, what));
}

// The offset after the last byte of its elements. False: the tensor is too large for any buffer.
bool end_of_tensor(const TensorRef& tensor, uint64_t& end) {
  uint64_t last = 0, elements = 1;
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    const auto size = static_cast<uint64_t>(tensor.sizes[i]), stride = static_cast<uint64_t>(tensor.strides[i]);
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxBufferBytes) return false;
    uint64_t reach = 0;
    if (size > 1 && (__builtin_mul_overflow(size - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last)))
      return false;
  }
  if (elements == 0) {
    end = tensor.offset;
    return true;
  }
  return last <= kMaxBufferBytes && tensor.offset <= kMaxBufferBytes &&
         (end = tensor.offset + (last + 1) * device::size_of(tensor.dtype), true);
}

bool is_empty(const device::Extent& extent) { return extent.x == 0 || extent.y == 0 || extent.z == 0; }

}  // namespace

void Tables::add(const Record& record) {
  std::visit(
      [&](const auto& one) {
        check(one);
        if constexpr (kIsCall<std::decay_t<decltype(one)>>) {
          if (one.operation > operations.size())
            throw Error(base::format("there is no operation {}", one.operation - 1));
          ++calls;
        }
      },
      record);
}

BufferState& Tables::live(uint32_t buffer) {
  check_known(buffers, buffer, "buffer");
  if (buffers[buffer].freed) throw Error(base::format("buffer {} is used after it was freed", buffer));
  return buffers[buffer];
}

uint32_t Tables::device_of(const TensorRef& tensor) { return live(tensor.buffer).record.device; }

void Tables::check_tensor(const TensorRef& tensor, uint32_t device) {
  BufferState& buffer = live(tensor.buffer);
  uint64_t end = 0;
  if (!end_of_tensor(tensor, end) || end > buffer.record.bytes)
    throw Error(base::format("a tensor reaches beyond buffer {} of {} bytes", tensor.buffer, buffer.record.bytes));
  if (tensor.offset % device::size_of(tensor.dtype) != 0)
    throw Error(base::format("a tensor of {} begins at byte {} of a buffer", name_of(tensor.dtype), tensor.offset));
  if (buffer.record.device != device) throw Error(base::format("buffer {} is on another device", tensor.buffer));
  buffer.dtype = tensor.dtype;
  buffer.used = true;
}

void Tables::check_stream(uint32_t stream) const {
  if (stream > device::kPoolStreams) throw Error(base::format("there is no stream {}", stream));
}

void Tables::check_pieces(const Pieces& pieces, uint64_t bytes) const {
  uint64_t all = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uint32_t size = piece_size_(pieces[i]);
    if (i + 1 < pieces.size() && size != kPieceBytes) throw Error("a short piece is not the last one of its contents");
    all += size;
  }
  if (all != bytes) throw Error(base::format("the contents have {} bytes instead of {}", all, bytes));
}

void Tables::check(const DeviceRecord& record) {
  check_room(devices, kMaxDevices, "devices");
  devices.push_back(record);
}

void Tables::check(const LibraryRecord& record) {
  check_known(devices, record.device, "device");
  check_room(libraries, kMaxLibraries, "libraries");
  libraries.push_back(record);
}

void Tables::check(const KernelRecord& record) {
  check_known(libraries, record.library, "library");
  check_room(kernels, kMaxLibraries, "kernels");
  kernels.push_back(record);
}

void Tables::check(const BufferRecord& record) {
  check_known(devices, record.device, "device");
  if (record.bytes > kMaxBufferBytes) throw Error(base::format("a buffer of {} bytes is too large", record.bytes));
  check_room(buffers, kMaxOthers, "buffers");
  buffers.push_back({record});
}

void Tables::check(const ContentsRecord& record) {
  const BufferState& buffer = live(record.buffer);
  if (buffer.used) throw Error(base::format("the contents of buffer {} come after its first use", record.buffer));
  check_pieces(record.pieces, buffer.record.bytes);
}

void Tables::check(const ResultRecord& record) {
  BufferState& buffer = live(record.buffer);
  if (!record.pieces.empty()) check_pieces(record.pieces, buffer.record.bytes);
  buffer.freed = true;
}

void Tables::check(const OperationRecord& record) {
  if (!std::isfinite(record.flops) || record.flops < 0)
    throw Error(base::format("an operation has an invalid number of flops: {}", record.flops));
  check_room(operations, kMaxOthers, "operations");
  operations.push_back(record);
}

void Tables::check(const LaunchCall& call) {
  check_known(kernels, call.kernel, "kernel");
  check_stream(call.stream);
  if (is_empty(call.threads) || is_empty(call.group))
    throw Error(base::format("a launch of \"{}\" is without threads", kernels[call.kernel].name));
  const uint32_t device = libraries[kernels[call.kernel].library].device;
  for (const ArgumentValue& argument : call.arguments)
    for (const TensorRef& tensor : argument.tensors) check_tensor(tensor, device);
}

void Tables::check(const FillCall& call) {
  check_stream(call.stream);
  check_tensor(call.to, device_of(call.to));
}

void Tables::check(const RandomCall& call) {
  check_stream(call.stream);
  check_tensor(call.to, device_of(call.to));
}

void Tables::check(const CopyCall& call) {
  check_stream(call.stream);
  const uint32_t device = device_of(call.from);
  check_tensor(call.from, device);
  check_tensor(call.to, device);
  const auto& from = call.from;
  const auto& to = call.to;
  if (from.dtype != to.dtype || from.dimensions != to.dimensions || from.sizes != to.sizes)
    throw Error("a copy is between tensors of two shapes or types");
}

void Tables::check(const UploadCall& call) {
  check_stream(call.stream);
  check_tensor(call.to, device_of(call.to));
  check_pieces(call.pieces, call.to.bytes());
}

void Tables::check(const DownloadCall& call) {
  check_stream(call.stream);
  check_tensor(call.from, device_of(call.from));
}

}  // namespace kymo::capture
