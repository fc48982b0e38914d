// What the handle of a resource or of a lock points to. It begins with the same handle of the chained tool.
#pragma once

namespace kymo::inject::nvtx {

struct Object {
  void* chained;  // null: none
};

}  // namespace kymo::inject::nvtx
