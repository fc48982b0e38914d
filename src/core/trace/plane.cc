#include "trace/plane.h"

#include <zstd.h>

#include <new>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::trace {

namespace {

// Level 1 codes literals by their frequency, which a plane of noise needs. The faster negative levels do not.
constexpr int kLevel = 1;
// In noise with few symbols, short matches occur by chance and cost more than the literals they replace.
constexpr int kShortestMatch = 7;
constexpr int kMatchTableLog = 12;
constexpr size_t kSmallestWorthCompressing = 48;

}  // namespace

void PlaneWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void PlaneReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

PlaneWriter::PlaneWriter() : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_minMatch, kShortestMatch);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_hashLog, kMatchTableLog);
}

PlaneReader::PlaneReader() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

PlaneStorage PlaneWriter::write(base::Bytes plane, base::ByteWriter& out) {
  if (plane.size() >= kSmallestWorthCompressing) {
    const size_t before = out.size();
    const size_t bound = ZSTD_compressBound(plane.size());
    std::byte* room = out.extend(bound);
    const size_t stored = ZSTD_compress2(context_.get(), room, bound, plane.data(), plane.size());
    if (!ZSTD_isError(stored) && stored < plane.size()) {
      out.truncate(before + stored);
      return PlaneStorage::Zstd;
    }
    out.truncate(before);
  }
  out.append(plane);
  return PlaneStorage::Raw;
}

base::Bytes PlaneReader::read(PlaneStorage storage, base::Bytes stored, size_t size, std::vector<std::byte>& scratch) {
  switch (storage) {
    case PlaneStorage::Raw:
      if (stored.size() != size) break;
      return stored;
    case PlaneStorage::Fill:
      if (stored.size() != 1) break;
      scratch.assign(size, stored[0]);
      return scratch;
    case PlaneStorage::Zstd: {
      scratch.resize(size);
      const size_t got =
          ZSTD_decompressDCtx(context_.get(), scratch.data(), scratch.size(), stored.data(), stored.size());
      if (ZSTD_isError(got) || got != size) break;
      return scratch;
    }
  }
  throw Error(base::format("a plane of {} bytes, stored in {} bytes as kind {}, cannot be unpacked", size,
                           stored.size(), static_cast<unsigned>(storage)));
}

}  // namespace kymo::trace
