#include "convert/stack_text.h"

#include "base/text.h"

namespace kymo::convert {

namespace {

std::string frame_text(const trace::WriterInfo& writer, uint32_t id) {
  const auto frame = writer.frames.find(id);
  if (frame == writer.frames.end()) return "?";
  if (!frame->second.function.empty()) return frame->second.function;
  const auto module = writer.modules.find(frame->second.module);
  const std::string path = module == writer.modules.end() ? "?" : module->second.path;
  return base::format("{}+{:#x}", path.substr(path.find_last_of('/') + 1), frame->second.offset);
}

}  // namespace

std::string stack_text(const trace::WriterInfo& writer, uint64_t stack) {
  const auto found = stack <= UINT32_MAX ? writer.stacks.find(static_cast<uint32_t>(stack)) : writer.stacks.end();
  if (found == writer.stacks.end()) return {};
  std::string text;
  for (const uint32_t frame : found->second.frames) {
    if (!text.empty()) text += " < ";
    text += frame_text(writer, frame);
  }
  return text;
}

}  // namespace kymo::convert
