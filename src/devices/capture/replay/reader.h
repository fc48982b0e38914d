// Reads a capture. Nothing in the folder is trusted: the sizes and checksums of all files are verified when it is
// opened, and every record is checked once. So later passes over the records find only valid ones.
//
//   CaptureFile capture("0000-frame.kycap");
//   capture.for_each([&](const Record& record, const Tables& so_far) { … });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "capture/contents.h"
#include "capture/manifest.h"
#include "capture/records.h"

namespace kymo::capture {

struct BufferState {
  BufferRecord record;
  DType dtype = DType::U8;  // the type of its last use
  bool used = false, freed = false;
};

// The objects of the records so far, and checks of the next record: known numbers, tensors within their buffers,
// contents of the right size. A reader of a capture passes every record through here first.
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
  void check(const FillCall& call) { check_only(call.stream, call.to); }
  void check(const RandomCall& call) { check_only(call.stream, call.to); }
  void check(const CopyCall& call);
  void check(const UploadCall& call);
  void check(const DownloadCall& call) { check_only(call.stream, call.from); }
  BufferState& live(uint32_t buffer);
  void check_tensor(const TensorRef& tensor, uint32_t device);
  void check_only(uint32_t stream, const TensorRef& tensor);  // of a call with one tensor
  uint32_t device_of(const TensorRef& tensor);
  void check_stream(uint32_t stream) const;
  void check_pieces(const Pieces& pieces, uint64_t bytes) const;

  std::function<uint32_t(uint64_t)> piece_size_;
};

// Reads manifest.json. Throws Error if it is damaged, has another version, or names files that a capture does not have.
Manifest parse_manifest(std::string_view untrusted);

class CaptureFile {
 public:
  // Throws Error, in one line, if the folder is not a capture, or the capture is unfinished, of another version,
  // truncated or damaged.
  explicit CaptureFile(std::string folder);

  const std::string& folder() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  const Tables& tables() const { return *tables_; }                     // the state at the end
  const std::vector<uint64_t>& device_times() const { return times_; }  // for each call; 0: unknown
  const std::vector<FileEntry>& shaders() const { return shaders_; }    // by number
  std::string shader_text(uint32_t number) const;
  std::vector<std::byte> piece(uint64_t number) const { return contents_->read(number); }

  // Visits all records in order; `so_far` already includes the current one.
  void for_each(const std::function<void(const Record& record, const Tables& so_far)>& visit) const;

 private:
  base::FileDescriptor open_checked(const FileEntry& entry) const;
  std::vector<std::byte> read_checked(const FileEntry& entry, uint64_t max) const;
  const FileEntry& entry(std::string_view name) const;

  std::string path_;
  base::FileDescriptor folder_;
  Manifest manifest_;
  std::vector<FileEntry> shaders_;
  std::vector<std::byte> calls_;
  std::vector<uint64_t> times_;
  std::unique_ptr<ContentsReader> contents_;
  std::optional<Tables> tables_;
};

// Checks all records after the header of calls.bin. Throws Error with the position.
void walk_records(base::Bytes untrusted, Tables& tables,
                  const std::function<void(const Record& record, const Tables& so_far)>& visit);

// The name under which a call is counted: a kernel's name, or "copy", "fill", "upload", "download", "random normal".
struct CallName {
  std::string name;
  bool is_kernel = false;
  uint64_t bytes = 0;  // of its tensors
};
CallName name_of_call(const Record& call, const Tables& tables);

// The counted contents of a capture, for `kymo info`.
struct CallSummary {
  std::string name;  // of a kernel, or a kind of fill or copy
  bool is_kernel = false;
  uint32_t shader = 0;  // of a kernel
  uint64_t calls = 0, tensor_bytes = 0;
  uint64_t device_ns = 0, timed_calls = 0;
};

struct Summary {
  std::vector<CallSummary> calls;  // kernels first, each by its name
  uint64_t streams = 0;
  uint64_t buffers = 0, buffer_bytes = 0, freed = 0;
  uint64_t stored_bytes = 0;  // of all files
};

Summary summarise(const CaptureFile& capture);

}  // namespace kymo::capture
