// contents.bin: pieces of buffers, at most 1 MiB each, compressed if that makes them smaller. Equal pieces are stored
// once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "capture/files.h"
#include "capture/records.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace kymo::capture {

class ContentsWriter {
 public:
  explicit ContentsWriter(OutputFile& file);

  // Splits the bytes into pieces and appends their numbers.
  void store(base::Bytes bytes, Pieces& pieces);

  uint64_t pieces() const { return known_.size(); }
  uint64_t bytes() const { return bytes_; }  // total size, before deduplication and compression

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  struct Spread {
    size_t operator()(const PieceHash& hash) const { return hash.low; }
  };
  uint64_t store_piece(base::Bytes bytes);

  OutputFile& file_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::unordered_map<PieceHash, uint64_t, Spread> known_;
  std::vector<std::byte> compressed_;
  uint64_t bytes_ = 0;
};

class ContentsReader {
 public:
  // Finds the pieces. Throws Error if the file is not well-formed.
  ContentsReader(base::FileDescriptor file, std::string path);

  uint64_t pieces() const { return places_.size(); }
  uint32_t size_of(uint64_t piece) const { return place(piece).bytes; }
  // Throws Error if the piece is damaged or does not exist. One thread at a time.
  std::vector<std::byte> read(uint64_t piece);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  struct Place {
    uint64_t at = 0;  // offset of the stored bytes
    uint32_t stored = 0, bytes = 0;
    PieceHash hash;
  };
  const Place& place(uint64_t piece) const;

  base::FileDescriptor file_;
  std::string path_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<Place> places_;
};

}  // namespace kymo::capture
