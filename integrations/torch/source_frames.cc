#include "source_frames.h"

namespace kymo::edge {

namespace {

void append_frame(std::string& text, const torch::jit::SourceRange& range, const std::string& function) {
  if (!text.empty()) text += ';';
  if (const auto place = range.file_line_col()) {
    text += std::get<0>(*place) + "(" + std::to_string(std::get<1>(*place)) + "): ";
  }
  text += function;
}

}  // namespace

// Each caller is known by the source position of its call. Its name is stored with the next outer caller.
std::string frames_text(const torch::jit::DebugInfoTuple& info) {
  std::vector<std::pair<torch::jit::SourceRange, std::string>> frames;  // outermost first
  std::string function = "<unknown>";  // a saved module does not keep the name of the top function
  c10::optional<torch::jit::InlinedCallStackPtr> call;
  if (std::get<torch::jit::kDebugInfoTupleInlinedCSIndex>(info).defined())
    call = std::get<torch::jit::kDebugInfoTupleInlinedCSIndex>(info);
  for (; call; call = (*call)->callee()) {
    frames.emplace_back((*call)->source_range(), function);
    function = (*call)->function_name();
  }
  frames.emplace_back(std::get<torch::jit::kDebugInfoTupleSourceRangeIndex>(info), function);

  std::string text;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) append_frame(text, frame->first, frame->second);
  return text;
}

std::string frames_text(const std::vector<torch::jit::StackEntry>& stack) {
  std::string text;
  // `filename` is the name of the function here.
  for (const torch::jit::StackEntry& entry : stack) append_frame(text, entry.range, entry.filename);
  return text;
}

std::string hierarchy_text(const std::vector<std::string>& parts) {
  static constexpr std::string_view kTop = "TOP";  // what the interpreter calls it; in saved modules it is "top"
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += '.';
    text += text.empty() && part.starts_with(kTop) ? "top" + part.substr(kTop.size()) : part;
  }
  return text;
}

}  // namespace kymo::edge
