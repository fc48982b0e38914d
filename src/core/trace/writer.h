// Appends chunks to a trace file.
//
// Each chunk is one O_APPEND write under an advisory lock, so several processes may write one file, and each knows the
// offset of its chunk. The file is created with mode 0600. Not thread-safe: a Writer belongs to one collector.
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
  enum class Mode { Create, Append };  // Create truncates an existing file

  // Throws kymo::Error with the path and the reason if the file cannot be written. Messages and path() use `name`;
  // empty: the path.
  Writer(const std::string& path, Mode mode, const std::string& name = {});
  ~Writer();  // closes, never throws
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // Each function writes one chunk. Throws kymo::Error if the file cannot be written (a full disk); the file then still
  // ends with a complete chunk (the incomplete one is removed again), and the call may be repeated.
  void origin(const WriterId&, const Origin&);
  void classes(const WriterId&, std::span<const EventClass>);
  void tracks(const WriterId&, std::span<const Track>);
  void clock(const WriterId&, const ClockDomain&);  // writes the domain again; pairs of several chunks are merged
  void events(const WriterId&, const EventBatch&);
  void stacks(const WriterId&, std::span<const Module>, std::span<const Frame>, std::span<const Stack>);
  void losses(const WriterId&, std::span<const Loss>);  // additions, not totals
  void costs(const WriterId&, std::span<const Cost>);   // totals so far
  void window(const WriterId&, const Window&);          // replaces an earlier one
  void ending(const WriterId&, const Ending&);          // the last chunk of the writer

  // Appends complete chunks of another Writer, unchanged.
  void append_chunks(base::Bytes chunks);

  // Writes an index of the chunks since the last one. Also called automatically every few thousand chunks, and by
  // close().
  void index();
  void close();

  // Under the lock: truncates the file to its `whole` bytes if its size is still `file_size`. The rest is the
  // incomplete chunk of a process that was killed.
  void cut_torn_end(uint64_t whole, uint64_t file_size);

  // In a forked child: closes the inherited file without writing to it. Nothing else may be called after that.
  void abandon() noexcept;

  uint64_t bytes_written() const;
  uint64_t device() const;  // of the file, like inode()
  uint64_t inode() const;
  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::trace
