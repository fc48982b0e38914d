// Where an export goes: text in memory, a file, a gzip stream into another sink.
//
// Writers hand over large pieces. Nothing counts until finish(): a file appears under its name only then.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace kymo::convert {

inline constexpr size_t kFlushAt = 1 << 18;  // bytes a writer gathers before it hands them over

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() {}
};

class StringSink : public Sink {
 public:
  void write(std::string_view bytes) override { text_ += bytes; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Writes to `path`.tmp, mode 0600, and renames it to `path` in finish(). Without finish() nothing is left behind.
// Everything throws kymo::Error with the path and the reason; a path that cannot be written already in the constructor.
class FileSink : public Sink {
 public:
  explicit FileSink(const std::string& path);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  void write(std::string_view bytes) override;
  void finish() override;

 private:
  std::string path_, temporary_;
  base::FileDescriptor file_;
};

// Compresses into `below`, which must outlive it and is finished with it.
class GzipSink : public Sink {
 public:
  explicit GzipSink(Sink& below);
  ~GzipSink() override;

  void write(std::string_view bytes) override;
  void finish() override;

 private:
  struct Stream;
  void deflate(std::string_view bytes, int flush);

  Sink& below_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace kymo::convert
