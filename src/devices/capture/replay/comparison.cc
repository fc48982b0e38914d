#include "capture/replay/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "capture/format.h"
#include "device/number.h"

namespace kymo::capture {
namespace {

constexpr size_t kPiecesAtOnce = 16;

double as_double(DType type, base::Bytes list, size_t index) {
  return device::Number::of(type, list.data(), index).as_double;
}

bool is_close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

}  // namespace

void Comparison::add(const ResultRecord& then, DType dtype, const device::Tensor& now) {
  if (then.pieces.empty()) {
    ++unknown_;
    return;
  }
  ++compared_;
  Mismatch mismatch;
  mismatch.buffer = then.buffer;
  mismatch.dtype = dtype;
  mismatch.elements = now.bytes() / device::size_of(dtype);
  for (size_t i = 0; i < then.pieces.size(); i += kPiecesAtOnce) {
    const size_t begin = i * kPieceBytes, end = std::min(now.bytes(), begin + kPiecesAtOnce * kPieceBytes);
    host_.resize(end - begin);
    now.slice(0, static_cast<int64_t>(begin), static_cast<int64_t>(end)).copy_to_bytes(host_);
    base::Bytes rest = host_;
    for (size_t j = i; j < std::min(then.pieces.size(), i + kPiecesAtOnce); ++j) {
      const base::Bytes piece = pieces_.get(then.pieces[j]);
      compare(piece, rest.first(piece.size()), j * kPieceBytes / device::size_of(dtype), mismatch);
      rest = rest.subspan(piece.size());
    }
  }
  if (mismatch.differing != 0) mismatches_.push_back(std::move(mismatch));
}

void Comparison::compare(base::Bytes then, base::Bytes now, uint64_t first_element, Mismatch& mismatch) const {
  if (std::memcmp(then.data(), now.data(), then.size()) == 0) return;
  const DType type = mismatch.dtype;
  const size_t size = device::size_of(type);
  const bool tolerant = tolerance_ > 0 && device::is_floating(type);
  for (size_t i = 0; (i + 1) * size <= then.size(); ++i) {
    if (std::memcmp(then.data() + i * size, now.data() + i * size, size) == 0) continue;
    if (tolerant && is_close(as_double(type, then, i), as_double(type, now, i), tolerance_)) continue;
    if (mismatch.differing++ != 0) continue;
    mismatch.element = first_element + i;
    mismatch.then = device::Number::of(type, then.data(), i).text();
    mismatch.now = device::Number::of(type, now.data(), i).text();
  }
}

}  // namespace kymo::capture
