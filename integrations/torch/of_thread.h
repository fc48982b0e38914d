// An object per thread, from its first use to the end of the thread.
//
// libtorch may call at the very end of a thread, when the object is already destroyed: then there is none.
#pragma once

#include <new>

namespace kymo::libtorch {

template <class T>
class OfThread {
 public:
  // Null: the thread is ending, or there is no memory. After the first call this costs a thread-local load.
  static T* get() noexcept { return here_ != nullptr ? here_ : first(); }
  static T* if_there() noexcept { return here_; }

 private:
  struct Keeper {
    T held;
    Keeper() { here_ = &held; }
    ~Keeper() {
      here_ = nullptr;
      is_over_ = true;
    }
  };
  [[gnu::noinline]] static T* first() noexcept try {
    if (is_over_) return nullptr;
    static thread_local Keeper keeper;
    return &keeper.held;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local T* here_ = nullptr;
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local bool is_over_ = false;
};

}  // namespace kymo::libtorch
