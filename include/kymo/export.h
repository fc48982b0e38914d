// Marks the symbols that the shared library exports.
#pragma once

#define KYMO_API __attribute__((visibility("default")))
