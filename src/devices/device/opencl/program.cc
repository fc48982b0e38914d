#include "device/opencl/program.h"

#include "base/bytes.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

constexpr size_t kPieceBuilds = 16;

// A translated kernel gets its position in the launch as an argument (Grid), so its text is the same in every piece.
Sees seen_by(std::string_view source, std::string_view options, std::span<const KernelInfo> kernels) {
  Sees sees = look_into(source, options);
  if (!kernels.empty() && kernels.front().is_translated) sees.launch_shape = sees.launch_size = false;
  return sees;
}

}  // namespace

OpenClProgram::OpenClProgram(const Context& context, Text text, Build build, std::vector<KernelInfo> kernels)
    : context_(context),
      text_(std::move(text)),
      kernels_(std::move(kernels)),
      sees_(seen_by(text_.source, text_.options, kernels_)),
      takes_partial_groups_(context.device.non_uniform_groups && allows_partial_groups(text_.options)),
      whole_(std::move(build)) {
  fill(whole_);
}

// With stamps if possible, otherwise as it is.
OpenClProgram::Build OpenClProgram::stamped(const Context& context, BuiltProgram program, const std::string& options) {
  if (BuiltProgram edited = build_stamped(context, program.get(), options)) return {std::move(edited), true, {}};
  return {std::move(program), false, {}};
}

void OpenClProgram::fill(Build& build) const {
  for (const KernelInfo& kernel : kernels_)
    build.kernels.push_back(std::make_unique<KernelPool>(context_, build.program.get(), kernel, build.has_stamps));
}

// Some compilers ignore #line in their messages: compiles again with only the user's text, to get the right lines.
BuiltProgram OpenClProgram::build_or_explain(const Context& context, const std::string& whole, const Text& text) {
  try {
    return build(context, whole, text.options, text.file);
  } catch (const CompileError&) {
    build(context, text.source, text.options, text.file);
    throw;
  }
}

std::unique_ptr<OpenClProgram> OpenClProgram::compile(const Context& context, const Source& source) {
  const bool is_translated = !source.kernels.empty();  // then it needs no reflection
  const std::string_view own = !is_translated                    ? kForReflection
                               : context.device.rounds_divisions ? kForRounding
                                                                 : std::string_view();
  Text text{std::string(source.text), all_options(source.options, context.device.newest_language, std::string(own)),
            std::string(source.file)};
  const std::string whole = preamble(text.file, text.options) + text.source;
  BuiltProgram program = build_or_explain(context, whole, text);
  std::vector<KernelInfo> kernels(source.kernels.begin(), source.kernels.end());
  if (!is_translated) kernels = reflect(context, program.get());
  Build build = stamped(context, std::move(program), text.options);
  if (is_translated || build.has_stamps) limit(context, build.program.get(), kernels);
  return std::unique_ptr<OpenClProgram>(
      new OpenClProgram(context, std::move(text), std::move(build), std::move(kernels)));
}

std::shared_ptr<KernelPool> OpenClProgram::piece_kernel(uint32_t index, const Extent& group, const Extent& tail) const {
  if (!sees_.launch_shape) return {std::shared_ptr<void>(), whole_.kernels[index].get()};
  const Extent seen_tail = sees_.launch_size ? tail : Extent{0, 0, 0};
  const std::lock_guard lock(mutex_);
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
    if (piece->group != group || piece->tail != seen_tail) continue;
    pieces_.splice(pieces_.begin(), pieces_, piece);
    return {piece->build, piece->build->kernels[index].get()};
  }
  const std::string whole = piece_preamble(text_.file, text_.options, group, seen_tail) + text_.source;
  auto built =
      std::make_shared<Build>(stamped(context_, build(context_, whole, text_.options, text_.file), text_.options));
  fill(*built);
  pieces_.push_front({group, seen_tail, built});
  if (pieces_.size() > kPieceBuilds) pieces_.pop_back();
  return {built, built->kernels[index].get()};
}

// The driver's binary alone is not enough: pieces are built from the source. Without a driver's binary, all is built
// from the source.
std::vector<std::byte> OpenClProgram::binary() const {
  std::vector<std::byte> drivers;
  if (!context_.device.compiles_at_launch) {
    drivers = binary_of(context_, whole_.program.get());
    if (drivers.empty()) return {};
  }
  base::ByteWriter body;
  body.string(text_.source);
  body.string(text_.options);
  body.string(text_.file);
  body.fixed(uint8_t{whole_.has_stamps});
  body.varint(drivers.size());
  body.append(drivers);
  return {body.bytes().begin(), body.bytes().end()};
}

std::unique_ptr<OpenClProgram> OpenClProgram::load(const Context& context, std::span<const std::byte> binary,
                                                   std::vector<KernelInfo> kernels) try {
  base::ByteReader reader(binary);
  Text text;
  text.source = reader.string();
  text.options = reader.string();
  text.file = reader.string();
  Build build;
  build.has_stamps = reader.fixed<uint8_t>() != 0;
  const auto drivers = reader.take(reader.count());
  build.program = drivers.empty()
                      ? opencl::build(context, preamble(text.file, text.options) + text.source, text.options, text.file)
                      : build_binary(context, drivers, text.options);
  if (!build.program) return nullptr;
  std::unique_ptr<OpenClProgram> loaded(
      new OpenClProgram(context, std::move(text), std::move(build), std::move(kernels)));
  for (uint32_t i = 0; i < loaded->kernels_.size(); ++i) loaded->kernel(i).prepare();
  return loaded;
} catch (const Error&) {
  return nullptr;
}

}  // namespace kymo::device::opencl
