// An object that is never destroyed: threads of the program may use it while the process exits.
#pragma once

#include <cstddef>
#include <new>

namespace kymo::inject {

template <class T>
class Immortal {
 public:
  // Makes the object, or makes it again without destroying the old one (in a forked child).
  T& make() noexcept { return *new (storage_) T; }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace kymo::inject
