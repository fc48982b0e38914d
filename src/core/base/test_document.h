// For tests that compare a document with the code: the bytes of its example.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace kymo::base {

// The bytes of the last block of lines like "0040  01 00 00 00  | what they are".
inline std::string bytes_of_example(const std::string& document_path) {
  std::ifstream document(document_path);
  std::string line, bytes;
  bool in_block = false;
  while (std::getline(document, line)) {
    if (line.starts_with("```")) {
      in_block = !in_block;
      if (in_block) bytes.clear();
    } else if (in_block) {
      std::istringstream columns(line.substr(0, line.find('|')));
      std::string offset, byte;
      columns >> offset;
      while (columns >> byte) bytes.push_back(static_cast<char>(std::strtol(byte.c_str(), nullptr, 16)));
    }
  }
  return bytes;
}

}  // namespace kymo::base
