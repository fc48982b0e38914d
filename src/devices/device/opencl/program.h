// A built program of OpenCL C, with everything that is needed to build it again for the pieces of partial launches.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/opencl/build.h"
#include "device/opencl/kernel_pool.h"
#include "device/opencl/reflection.h"

namespace kymo::device::opencl {

class OpenClProgram final : public Program {
 public:
  // Throws CompileError.
  static std::unique_ptr<OpenClProgram> compile(const Context& context, const Source& source);
  // Null: the binary is damaged, of another driver, or this driver rejects it.
  static std::unique_ptr<OpenClProgram> load(const Context& context, std::span<const std::byte> binary,
                                             std::vector<KernelInfo> kernels);

  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::vector<std::byte> binary() const override;

  // True if the device supports launches of it with partial groups.
  bool takes_partial_groups() const { return takes_partial_groups_; }
  const Sees& sees() const { return sees_; }

  KernelPool& kernel(uint32_t index) const { return *whole_.kernels[index]; }

  // The kernel for the pieces of launches of this shape. It is the same as kernel() if no kernel of the source can see
  // the difference. Otherwise it is a build of the source for this group (and tail), made at the first such launch. The
  // last sixteen builds are kept.
  std::shared_ptr<KernelPool> piece_kernel(uint32_t index, const Extent& group, const Extent& tail) const;

 private:
  struct Build {
    BuiltProgram program;
    bool has_stamps = false;                           // build_stamped
    std::vector<std::unique_ptr<KernelPool>> kernels;  // destroyed before the program
  };
  struct PieceBuild {
    Extent group, tail;
    std::shared_ptr<Build> build;
  };
  struct Text {
    std::string source, options, file;
  };

  OpenClProgram(const Context& context, Text text, Build build, std::vector<KernelInfo> kernels);
  static Build stamped(const Context& context, BuiltProgram program, const std::string& options);
  static BuiltProgram build_or_explain(const Context& context, const std::string& whole, const Text& text);
  void fill(Build& build) const;

  const Context& context_;
  const Text text_;
  const std::vector<KernelInfo> kernels_;
  const Sees sees_;
  const bool takes_partial_groups_;
  Build whole_;
  mutable std::mutex mutex_;              // for the members below
  mutable std::list<PieceBuild> pieces_;  // the last used first
};

}  // namespace kymo::device::opencl
