// Makes the calls of a capture again: allocates its buffers, restores their contents, launches, fills and copies.
//
// Each call uses the stream with the same number as in the capture. A capture does not contain the program's own
// synchronisation between streams. Instead, if a buffer was used on one stream and is now used on another, the second
// stream waits for the first, on the device. Nothing else waits, and the host waits only to check results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/replay/reader.h"
#include "device/library.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "kymo/device.h"

namespace kymo::capture {

// Pieces, unpacked once, and kept while there is space for them.
class PieceCache {
 public:
  explicit PieceCache(const CaptureFile& capture) : capture_(capture) {}
  base::Bytes get(uint64_t piece);  // valid until the next call

 private:
  const CaptureFile& capture_;
  std::unordered_map<uint64_t, std::vector<std::byte>> kept_;
  std::vector<std::byte> passing_;
  uint64_t bytes_ = 0;
};

class Player {
 public:
  // Opens the devices and compiles the shaders. `device` replaces all devices of the capture; empty: the original
  // devices. Throws if a device does not exist, or does not compile the language of a kernel.
  Player(const CaptureFile& capture, const std::string& device);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Called for each result with the current contents of the buffer, as a tensor of bytes.
  using Check = std::function<void(const ResultRecord& then, DType dtype, const device::Tensor& now)>;

  // Makes all calls once, and waits for them. `check` may be empty.
  void play(const Check& check);

  const std::vector<device::DeviceState*>& devices() const { return devices_; }  // by the capture's numbers
  PieceCache& pieces() { return pieces_; }

 private:
  struct Buffer {
    std::shared_ptr<device::Storage> storage;  // allocated at its first use
    Pieces contents;                           // restored at that time
    device::StreamId stream = 0;               // the stream that used it last
  };

  void compile(const Tables& tables);
  void perform(const LaunchCall& call, const Tables& tables);
  void perform(const FillCall& call, const Tables& tables);
  void perform(const RandomCall& call, const Tables& tables);
  void perform(const CopyCall& call, const Tables& tables);
  void perform(const UploadCall& call, const Tables& tables);
  void perform(const DownloadCall& call, const Tables& tables);

  void check_result(const ResultRecord& result, const Tables& tables, const Check& check);
  device::StreamState& go_to(uint32_t stream, device::DeviceState& device);
  device::StreamState& stream_for(uint32_t stream, const TensorRef& tensor, const Tables& tables);
  device::Tensor tensor_of(const TensorRef& reference, const Tables& tables, device::StreamState& stream);
  std::shared_ptr<device::Storage> use(uint32_t buffer, const Tables& tables, device::StreamState& stream);
  void write_pieces(const device::Tensor& bytes, const Pieces& pieces);
  std::span<std::byte> host_room(size_t bytes, device::DeviceState& device);

  const CaptureFile& capture_;
  PieceCache pieces_;
  std::vector<device::DeviceState*> devices_;
  std::vector<std::shared_ptr<device::LibraryState>> libraries_;
  std::vector<device::KernelState*> kernels_;
  std::vector<Buffer> buffers_;
  uint64_t next_call_ = 0;
  std::unordered_map<device::DeviceState*, device::HostBuffer> host_;
  std::vector<std::byte> unlocked_host_;
};

}  // namespace kymo::capture
