#include "capture/contents.h"

#include <zstd.h>

#include <array>
#include <new>

#include "base/text.h"

namespace kymo::capture {
namespace {

constexpr int kLevel = 1;  // a fast level, because the program waits for it

}  // namespace

void ContentsWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void ContentsReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

ContentsWriter::ContentsWriter(OutputFile& file) : file_(file), context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  append_file_header(file_, kContentsMagic);
}

void ContentsWriter::store(base::Bytes bytes, Pieces& pieces) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    pieces.push_back(store_piece(piece));
    bytes = bytes.subspan(piece.size());
  }
}

uint64_t ContentsWriter::store_piece(base::Bytes bytes) {
  const PieceHash hash = hash_piece(bytes);
  const uint64_t number = known_.size();
  if (const auto [known, is_new] = known_.try_emplace(hash, number); !is_new) return known->second;
  compressed_.resize(ZSTD_compressBound(bytes.size()));
  const size_t size =
      ZSTD_compressCCtx(context_.get(), compressed_.data(), compressed_.size(), bytes.data(), bytes.size(), kLevel);
  const bool helps = ZSTD_isError(size) == 0 && size < bytes.size();
  const auto stored = helps ? base::Bytes(compressed_).first(size) : bytes;
  base::ByteWriter header;
  header.fixed(static_cast<uint32_t>(bytes.size()));
  header.fixed(static_cast<uint32_t>(stored.size()));
  header.fixed(hash.low);
  header.fixed(hash.high);
  file_.append(header.bytes());
  file_.append(stored);
  return number;
}

ContentsReader::ContentsReader(base::FileDescriptor file, std::string path)
    : file_(std::move(file)), path_(std::move(path)), context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
  const uint64_t size = base::size_of(file_, path_);
  std::array<std::byte, kPieceHeaderBytes> header;
  const size_t got = base::read_at(file_, path_, 0, std::span(header).first(kFileHeaderBytes));
  check_file_header(base::Bytes(header).first(got), kContentsMagic, path_);
  for (uint64_t at = kFileHeaderBytes; at < size;) {
    if (base::read_at(file_, path_, at, header) != header.size())
      throw Error(base::format("{} is truncated in piece {}", path_, places_.size()));
    base::ByteReader in(header);
    Place place;
    place.bytes = in.fixed<uint32_t>();
    place.stored = in.fixed<uint32_t>();
    place.hash.low = in.fixed<uint64_t>();
    place.hash.high = in.fixed<uint64_t>();
    place.at = at + header.size();
    const bool sizes_fit = place.bytes != 0 && place.bytes <= kPieceBytes && place.stored <= place.bytes;
    if (!sizes_fit || place.stored > size - place.at)
      throw Error(base::format("{} is damaged: the size of piece {} is out of range", path_, places_.size()));
    at = place.at + place.stored;
    places_.push_back(place);
  }
}

const ContentsReader::Place& ContentsReader::place(uint64_t piece) const {
  if (piece >= places_.size()) throw Error(base::format("there is no piece {} in {}", piece, path_));
  return places_[piece];
}

std::vector<std::byte> ContentsReader::read(uint64_t piece) {
  const Place& found = place(piece);
  const auto refuse = [&] { throw Error(base::format("{} is damaged in piece {}", path_, piece)); };
  std::vector<std::byte> stored(found.stored);
  if (base::read_at(file_, path_, found.at, stored) != stored.size()) refuse();
  std::vector<std::byte> bytes;
  if (found.stored == found.bytes) {
    bytes = std::move(stored);
  } else {
    bytes.resize(found.bytes);
    const size_t size = ZSTD_decompressDCtx(context_.get(), bytes.data(), bytes.size(), stored.data(), stored.size());
    if (ZSTD_isError(size) != 0 || size != bytes.size()) refuse();
  }
  if (hash_piece(bytes) != found.hash) refuse();
  return bytes;
}

}  // namespace kymo::capture
