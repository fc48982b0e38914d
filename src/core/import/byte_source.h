// The bytes of a file, in order: as they are, or decompressed if the file is a gzip file.
//
//   ByteSource source(path);
//   while (const size_t read = source.read(buffer)) …
//
// Uses memory for one gzip window; the file is never mapped, so that its pages do not count as memory of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kymo::import {

class ByteSource {
 public:
  // Throws kymo::Error if the file cannot be opened.
  explicit ByteSource(const std::string& path);
  // Reads `bytes` as if they were in a file. They must stay valid.
  static ByteSource of_memory(std::string_view bytes);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;

  // Fills as much of the buffer as there is; 0 at the end. Throws kymo::Error if the file cannot be read. A gzip file
  // that is damaged or ends too early is an end; then damage() says what is wrong.
  size_t read(std::span<char> buffer);

  // The rest, up to kMostInMemory bytes and a little more.
  static constexpr size_t kMostInMemory = size_t{4} << 30;
  std::string read_all();

  bool is_compressed() const { return gzip_ != nullptr; }
  const std::string& damage() const { return damage_; }
  // Called for each part of the file that is read, with its bytes.
  void on_read(std::function<void(uint64_t bytes)> call) { on_read_ = std::move(call); }

  uint64_t file_bytes() const { return file_bytes_; }  // of the file, compressed or not
  uint64_t file_position() const;                      // how much of it was read

 private:
  struct Gzip;
  ByteSource() = default;
  size_t read_file(char* to, size_t size);

  std::string path_, damage_;
  int file_ = -1;
  std::string_view memory_;  // if there is no file
  uint64_t file_bytes_ = 0, position_ = 0;
  std::unique_ptr<Gzip> gzip_;
  std::function<void(uint64_t)> on_read_;
};

}  // namespace kymo::import
