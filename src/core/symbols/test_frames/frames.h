#pragma once

namespace frames {
using Callback = int (*)(void* argument);
}  // namespace frames

// Calls itself `depth` times, then `callback` once.
extern "C" int frames_descend(int depth, frames::Callback callback, void* argument);
