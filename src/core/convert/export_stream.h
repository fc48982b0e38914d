// The output of an export: text in memory, a file, or a gzip stream on top of another stream.
//
// Writers write large pieces. The output is valid only after finish(): a file appears under its name only then.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/temporary_file.h"

namespace kymo::convert {

inline constexpr size_t kFlushAt = 1 << 18;  // bytes that a writer collects before it writes them

class ExportStream {
 public:
  virtual ~ExportStream() = default;
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() {}
};

class StringStream : public ExportStream {
 public:
  void write(std::string_view bytes) override { text_ += bytes; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// An export can be made again, a recording cannot. Throws kymo::Error if the file is a Kymo trace, unless its name says
// that it is one.
void refuse_trace(const std::string& path);

// A base::AtomicFile that finish() completes. Refuses to replace a Kymo trace.
class FileStream : public ExportStream {
 public:
  explicit FileStream(const std::string& path);

  void write(std::string_view bytes) override;
  void finish() override { file_.commit(); }

 private:
  base::AtomicFile file_;
};

// Compresses into `below`, which must outlive it. finish() also finishes `below`.
class GzipStream : public ExportStream {
 public:
  explicit GzipStream(ExportStream& below);
  ~GzipStream() override;

  void write(std::string_view bytes) override;
  void finish() override;

 private:
  struct Stream;
  void deflate(std::string_view bytes, int flush);

  ExportStream& below_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace kymo::convert
