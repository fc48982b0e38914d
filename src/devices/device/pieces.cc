#include "device/pieces.h"

namespace kymo::device {
namespace {

struct Span {
  uint64_t offset, threads, group;
};

uint64_t power_of_two_in(uint64_t n) { return n & (~n + 1); }

// One dimension: the interior and the edge, if they exist.
size_t cut_one(uint64_t threads, uint64_t group, bool groups_visible, Span (&spans)[2]) {
  const uint64_t edge = threads % group, interior = threads - edge;
  size_t count = 0;
  if (interior != 0) spans[count++] = {0, interior, group};
  if (edge != 0) spans[count++] = {interior, edge, groups_visible ? edge : power_of_two_in(edge)};
  return count;
}

}  // namespace

Pieces cut(const Extent& threads, const Extent& group, bool groups_visible) {
  Span x[2], y[2], z[2];
  const size_t nx = cut_one(threads.x, group.x, groups_visible, x);
  const size_t ny = cut_one(threads.y, group.y, groups_visible, y);
  const size_t nz = cut_one(threads.z, group.z, groups_visible, z);
  Pieces pieces;
  for (size_t k = 0; k < nz; ++k)
    for (size_t j = 0; j < ny; ++j)
      for (size_t i = 0; i < nx; ++i)
        pieces.pieces_[pieces.count_++] = {{x[i].offset, y[j].offset, z[k].offset},
                                           {x[i].threads, y[j].threads, z[k].threads},
                                           {x[i].group, y[j].group, z[k].group}};
  return pieces;
}

}  // namespace kymo::device
