// The records of calls.bin: objects (devices, libraries, kernels, buffers), the contents of buffers at certain points,
// and every call. They refer to each other by number, counted from 0 in the order of the file; calls have their own
// numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "device/backend.h"
#include "device/work_capture.h"
#include "kymo/dtype.h"
#include "kymo/shader.h"

namespace kymo::capture {

using device::DType;
using Pieces = std::vector<uint64_t>;  // of contents.bin

// ---- Objects ----

struct DeviceRecord {
  std::string name, description, driver;
};

struct LibraryRecord {
  uint32_t device = 0;
  device::Language language = device::Language::Metal;
  uint32_t shader = 0;  // the file's number in shaders/
  device::CompileOptions options;
};

struct KernelRecord {
  uint32_t library = 0;
  std::string name;
};

struct BufferRecord {
  uint32_t device = 0;
  uint64_t bytes = 0;
};

// The begin of a named operation of the program (profiler::Operation): calls refer to it if they are part of it.
struct OperationRecord {
  std::string name;
  double flops = 0;  // 0: unknown
};

// ---- Contents of buffers ----

// The contents before the next call.
struct ContentsRecord {
  uint32_t buffer = 0;
  Pieces pieces;
};

// The contents after the last call. If the buffer has bytes but the record has no pieces, they could not be read.
struct ResultRecord {
  uint32_t buffer = 0;
  bool freed = false;  // true: the buffer is no longer used; false: the capture ended
  Pieces pieces;
};

// ---- Calls ----
// `operation` of each is the number of the innermost operation it is part of, plus 1; 0: none.

struct TensorRef {
  uint32_t buffer = 0;
  uint64_t offset = 0;  // of its first element, in bytes
  DType dtype = DType::F32;
  uint8_t dimensions = 0;
  std::array<int64_t, device::kMaxDimensions> sizes{}, strides{};  // strides in elements

  uint64_t elements() const;
  uint64_t bytes() const { return elements() * device::size_of(dtype); }
};

struct ArgumentValue {
  device::KernelArgument::Kind kind = device::KernelArgument::Kind::Signed;
  uint64_t bits = 0;               // of a number: as int64_t, uint64_t, or a double's
  DType type = DType::F32;         // of a list
  std::vector<std::byte> list;     // its elements
  std::vector<TensorRef> tensors;  // of a list of tensors; one of a tensor
};

struct LaunchCall {
  uint32_t kernel = 0, stream = 0;
  device::Extent threads, group;
  std::vector<ArgumentValue> arguments;
  uint32_t operation = 0;
};

struct FillCall {
  uint32_t stream = 0;
  TensorRef to;
  double value = 0;
  uint32_t operation = 0;
};

struct RandomCall {
  uint32_t stream = 0;
  TensorRef to;
  device::RandomFill fill;
  uint32_t operation = 0;
};

struct CopyCall {
  uint32_t stream = 0;
  TensorRef from, to;
  uint32_t operation = 0;
};

struct UploadCall {
  uint32_t stream = 0;
  TensorRef to;
  Pieces pieces;
  uint32_t operation = 0;
};

struct DownloadCall {
  uint32_t stream = 0;
  TensorRef from;
  uint32_t operation = 0;
};

// In the order of their numbers in the file, from 1.
using Record = std::variant<DeviceRecord, LibraryRecord, KernelRecord, BufferRecord, ContentsRecord, ResultRecord,
                            LaunchCall, FillCall, RandomCall, CopyCall, UploadCall, DownloadCall, OperationRecord>;

template <class T>
inline constexpr bool kIsCall =
    std::is_same_v<T, LaunchCall> || std::is_same_v<T, FillCall> || std::is_same_v<T, RandomCall> ||
    std::is_same_v<T, CopyCall> || std::is_same_v<T, UploadCall> || std::is_same_v<T, DownloadCall>;
bool is_call(const Record& record);

void encode(const Record& record, base::ByteWriter& out);
// Reads the next record. Throws Error if it is not well-formed; Tables (replay/reader.h) checks whether numbers and
// sizes are valid.
Record decode(base::ByteReader& in);

}  // namespace kymo::capture
