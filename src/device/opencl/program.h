// A program of OpenCL C, built, with what is needed to build it again for the pieces of partial launches.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/opencl/build.h"
#include "device/opencl/kernel_pool.h"
#include "device/opencl/source_text.h"

namespace kymo::device::opencl {

class OpenClProgram final : public Program {
 public:
  // Throws CompileError.
  static std::unique_ptr<OpenClProgram> compile(const Context& context, const Source& source);
  // Null: it is damaged, of another driver, or this driver refuses it.
  static std::unique_ptr<OpenClProgram> load(const Context& context, std::span<const std::byte> binary,
                                             std::vector<KernelInfo> kernels);

  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::vector<std::byte> binary() const override;

  // The device runs launches of it with partial groups.
  bool takes_partial_groups() const { return takes_partial_groups_; }
  const Sees& sees() const { return sees_; }

  KernelPool& kernel(uint32_t index) const { return *whole_.kernels[index]; }

  // For the pieces of launches of this shape. The same as kernel() where no kernel of the source can tell; else a build
  // of the source for this group (and tail), made at the first such launch and kept, the last sixteen of them.
  std::shared_ptr<KernelPool> piece_kernel(uint32_t index, const Extent& group, const Extent& tail) const;

 private:
  struct Build {
    BuiltProgram program;
    std::vector<std::unique_ptr<KernelPool>> kernels;  // gone before the program
  };
  struct PieceBuild {
    Extent group, tail;
    std::shared_ptr<Build> build;
  };
  struct Text {
    std::string source, options, file;
  };

  OpenClProgram(const Context& context, Text text, BuiltProgram program, std::vector<KernelInfo> kernels);
  static BuiltProgram build_or_explain(const Context& context, const std::string& whole, const Text& text);
  void fill(Build& build) const;

  const Context& context_;
  const Text text_;
  const std::vector<KernelInfo> kernels_;
  const Sees sees_;
  const bool takes_partial_groups_;
  Build whole_;
  mutable std::mutex mutex_;              // of what follows
  mutable std::list<PieceBuild> pieces_;  // the last used first
};

}  // namespace kymo::device::opencl
