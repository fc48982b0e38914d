// The parts of the capture format that several files here share. docs/capture.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::capture {

inline constexpr std::string_view kFormatName = "kymo capture";
inline constexpr uint32_t kFormatVersion = 1;

// Each .bin file begins with its magic, the version and four bytes of 0.
inline constexpr std::string_view kCallsMagic = "KYMOCALL", kContentsMagic = "KYMODATA", kTimesMagic = "KYMOTIME";
inline constexpr size_t kFileHeaderBytes = 16;

inline constexpr std::string_view kManifestName = "manifest.json", kCallsName = "calls.bin",
                                  kContentsName = "contents.bin", kTimesName = "times.bin", kShadersName = "shaders";
inline constexpr std::string_view kSuffix = ".kycap";

// Contents are stored in pieces, so that the unchanged parts of a large buffer are stored once.
inline constexpr size_t kPieceBytes = size_t{1} << 20;
inline constexpr size_t kPieceHeaderBytes = 24;

// More than any real capture has, and small enough for a reader to accept.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 44;
inline constexpr uint64_t kMaxCallsBytes = uint64_t{1} << 30;
inline constexpr size_t kMaxDevices = 1024, kMaxLibraries = size_t{1} << 20, kMaxOthers = size_t{1} << 26;
inline constexpr uint64_t kMaxShaderBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20;

}  // namespace kymo::capture
