// The objects of the records so far, and checks of the next record: known numbers, tensors within their buffers,
// contents of the right size. A reader of a capture passes every record through here first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "capture/records.h"

namespace kymo::capture {

struct BufferState {
  BufferRecord record;
  DType dtype = DType::U8;  // the type of its last use
  bool used = false, freed = false;
};

class Tables {
 public:
  // `piece_size` returns the size of a piece of contents.bin; it throws for a number that does not exist.
  explicit Tables(std::function<uint32_t(uint64_t)> piece_size) : piece_size_(std::move(piece_size)) {}

  // Throws Error with what is wrong.
  void add(const Record& record);

  std::vector<DeviceRecord> devices;
  std::vector<LibraryRecord> libraries;
  std::vector<KernelRecord> kernels;
  std::vector<BufferState> buffers;
  std::vector<OperationRecord> operations;
  uint64_t calls = 0;

 private:
  void check(const DeviceRecord& record);
  void check(const LibraryRecord& record);
  void check(const KernelRecord& record);
  void check(const BufferRecord& record);
  void check(const ContentsRecord& record);
  void check(const ResultRecord& record);
  void check(const OperationRecord& record);
  void check(const LaunchCall& call);
  void check(const FillCall& call);
  void check(const RandomCall& call);
  void check(const CopyCall& call);
  void check(const UploadCall& call);
  void check(const DownloadCall& call);
  BufferState& live(uint32_t buffer);
  void check_tensor(const TensorRef& tensor, uint32_t device);
  uint32_t device_of(const TensorRef& tensor);
  void check_stream(uint32_t stream) const;
  void check_pieces(const Pieces& pieces, uint64_t bytes) const;

  std::function<uint32_t(uint64_t)> piece_size_;
};

}  // namespace kymo::capture
