// Marks what the shared library shows.
#pragma once

#define KYMO_API __attribute__((visibility("default")))
