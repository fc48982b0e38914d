// Appends chunks to a trace file.
//
// One chunk is one O_APPEND write under an advisory lock, so several processes may write one file and each knows where
// its chunk landed. The file is created 0600. Not thread-safe: one Writer belongs to one collector.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "trace/model.h"

namespace kymo::trace {

class Writer {
 public:
  enum class Mode { Create, Append };  // Create truncates what is there

  // Throws kymo::Error with the path and the reason where the file cannot be written.
  Writer(const std::string& path, Mode mode);
  ~Writer();  // closes without throwing
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // Each writes one chunk and throws kymo::Error when the file will not take it (a full disk); the file then still ends
  // on a whole chunk (what was written of the torn one is cut off again) and the call may be repeated.
  void origin(const WriterId&, const Origin&);
  void classes(const WriterId&, std::span<const EventClass>);
  void tracks(const WriterId&, std::span<const Track>);
  void clock(const WriterId&, const ClockDomain&);  // restates the domain; pairs of several chunks are merged
  void events(const WriterId&, const EventBatch&);
  void stacks(const WriterId&, std::span<const Module>, std::span<const Frame>, std::span<const Stack>);
  void losses(const WriterId&, std::span<const Loss>);  // additions, not totals
  void costs(const WriterId&, std::span<const Cost>);   // totals so far
  void ending(const WriterId&, const Ending&);          // the writer's last

  // Whole chunks that another Writer has made, as they are.
  void append_chunks(base::Bytes chunks);

  // Writes an index of the chunks since the last one. Called on its own every few thousand chunks and by close().
  void index();
  void close();

  // Under the lock: cuts the file to its `whole` bytes if it still has `file_size`. What is behind them is a chunk that
  // someone was killed in the middle of.
  void cut_torn_end(uint64_t whole, uint64_t file_size);

  // In a forked child: closes the file that came along without writing to it. Nothing else may be called after that.
  void abandon() noexcept;

  uint64_t bytes_written() const;
  uint64_t device() const;  // of the file, as is the next
  uint64_t inode() const;
  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::trace
