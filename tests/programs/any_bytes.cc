// Ranges with every byte value in their names, of three bytes each.
#include <string>

#include "kymo/annotate.h"

int main() {
  const kymo::Range around("all of them");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = {static_cast<char>(byte), 'x', static_cast<char>(255 - byte)};
    const kymo::Range range(name);
  }
}
