// Makes the calls of a capture again: allocates its buffers, restores what was in them, launches, fills and copies.
//
// Each call goes to a stream of the number it had. The program's own order between streams is not in a capture; here a
// buffer that was used on one stream and is used on another makes the second wait for the first, on the device. Nothing
// else waits, and the host never does, but where results are checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/reader.h"
#include "device/library.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "kymo/device.h"

namespace kymo::capture {

// Pieces, unpacked once, as long as there is room for them.
class PieceCache {
 public:
  explicit PieceCache(const CaptureFile& capture) : capture_(capture) {}
  base::Bytes get(uint64_t piece);  // until the next call

 private:
  const CaptureFile& capture_;
  std::unordered_map<uint64_t, std::vector<std::byte>> kept_;
  std::vector<std::byte> passing_;
  uint64_t bytes_ = 0;
};

class Player {
 public:
  // Opens the devices and compiles the shaders. `device` takes the place of all of the capture's; empty: the same as
  // then. Throws where a device is not there, or does not compile a kernel's language.
  Player(const CaptureFile& capture, const std::string& device);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Told of each result: what the buffer holds now, a tensor of bytes.
  using Check = std::function<void(const ResultRecord& then, DType dtype, const device::Tensor& now)>;

  // All calls, once, and waits for them. `check` may be empty.
  void play(const Check& check);

  const std::vector<device::DeviceState*>& devices() const { return devices_; }  // by the capture's numbers
  PieceCache& pieces() { return pieces_; }

 private:
  struct Buffer {
    std::shared_ptr<device::Storage> storage;  // made at its first use
    Pieces contents;                           // to be restored then
    device::StreamId stream = 0;               // that used it last
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
