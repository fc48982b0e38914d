#include "capture/manifest.h"

#include <ctime>

#include "base/hash.h"
#include "base/json_text.h"
#include "base/text.h"
#include "capture/format.h"
#include "kymo/translate.h"

namespace kymo::capture {
namespace {

std::string hex(uint64_t value) { return base::format("\"{:016x}\"", value); }

std::string utc_text(uint64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm utc{};
  char text[64] = "";
  if (gmtime_r(&seconds, &utc) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string_view suffix_of(device::Language language, std::string_view text) {
  switch (language) {
    case device::Language::OpenClC:
      return "cl";
    case device::Language::Glsl:
      return "comp";
    case device::Language::SpirV:
      return "spv";
    case device::Language::CudaCpp:
      return text.find("__global__") == std::string_view::npos && text.find(".version") != std::string_view::npos
                 ? "ptx"
                 : "cu";
    case device::Language::Metal:
      return shader::is_library(text) ? "kymolib" : "metal";
  }
  return "txt";
}

}  // namespace

std::string shader_name(uint32_t number, device::Language language, std::string_view text) {
  return base::format("{}/{:04}.{}", kShadersName, number, suffix_of(language, text));
}

std::string manifest_text(const Manifest& manifest) {
  std::string text = "{\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text += base::format("  \"{}\": {},\n", name, value);
  };
  line("format", base::json_quoted(kFormatName));
  line("version", std::to_string(kFormatVersion));
  line("kymo", base::json_quoted(manifest.kymo_version));
  line("name", base::json_quoted(manifest.name));
  line("started", base::json_quoted(utc_text(manifest.started_ns)));
  line("started_ns", std::to_string(manifest.started_ns));
  line("stopped_ns", std::to_string(manifest.stopped_ns));
  line("problem", base::json_quoted(manifest.problem));
  text += "  \"devices\": [";
  for (size_t i = 0; i < manifest.devices.size(); ++i) {
    const DeviceRecord& device = manifest.devices[i];
    text += base::format("{}\n    {{\"name\": {}, \"backend\": {}, \"description\": {}, \"driver\": {}}}",
                         i == 0 ? "" : ",", base::json_quoted(device.name),
                         base::json_quoted(device.name.substr(0, device.name.find(':'))),
                         base::json_quoted(device.description), base::json_quoted(device.driver));
  }
  text += manifest.devices.empty() ? "],\n" : "\n  ],\n";
  line("calls", std::to_string(manifest.calls));
  line("pieces", std::to_string(manifest.pieces));
  line("content_bytes", std::to_string(manifest.content_bytes));
  line("device_ns", std::to_string(manifest.device_ns));
  text += "  \"files\": [";
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const FileEntry& file = manifest.files[i];
    text += base::format("{}\n    {{\"name\": {}, \"bytes\": {}, \"xxh3\": {}}}", i == 0 ? "" : ",",
                         base::json_quoted(file.name), file.bytes, hex(file.checksum));
  }
  text += "\n  ],\n";
  return text + manifest_end(text);
}

std::string manifest_end(std::string_view before) {
  return base::format("{}{}\n}}\n", kManifestEndMark, hex(base::hash(base::as_bytes(before))));
}

}  // namespace kymo::capture
