// SPDX-License-Identifier: BSD-3-Clause
// Curves as a picture, drawn by gnuplot.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "plan/table.hpp"

namespace longhaul::plan {

/// gnuplot is missing or has failed, or the file cannot be written.
class PlotError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One curve. Values that are not finite, or not positive on a logarithmic axis, leave a gap.
struct Series {
  enum class Style : std::uint8_t { line, points };
  enum class Dash : std::uint8_t { of_look, solid, dashed };
  std::string name;
  std::vector<double> x;
  std::vector<double> y;  ///< as many as x
  Style style = Style::line;
  int look = -1;       ///< colour, dashes and marks of the nth curve; -1: the curve's own index
  bool marked = true;  ///< a line with a mark at each value
  Dash dash = Dash::of_look;
};

struct Axis {
  enum class Marks : std::uint8_t {
    numbers,
    bytes,  ///< 1 KiB, 64 KiB, 1 MiB: powers of two
  };
  std::string label;  ///< with the unit
  bool logarithmic = false;
  Marks marks = Marks::numbers;
};

struct Plot {
  std::string title;
  Kind kind = Kind::calculated;  ///< appended to the title
  Axis x;
  Axis y;
  std::vector<Series> series;
};

/// True when `file` ends in .svg or .png, the formats that draw() supports.
bool can_draw(const std::string& file);

/// The gnuplot script that draw() runs. `file` only determines the format.
std::string script(const Plot& plot, const std::string& file);

/// Writes `file`. Throws PlotError.
void draw(const Plot& plot, const std::string& file);

}  // namespace longhaul::plan
