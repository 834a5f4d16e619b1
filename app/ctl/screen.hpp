// SPDX-License-Identifier: BSD-3-Clause
// The whole terminal, for a view that is drawn again and again.
#pragma once

#include <string>

namespace longhaul::app {

/// Takes the terminal's other screen, without cursor, and keys one by one without echo. The destructor gives all of it
/// back, and so does a signal that ends the process. There is one at a time.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Shows this text from the top left corner. What does not fit the terminal is cut off.
  void draw(const std::string& text) const;

  /// Waits for so long, or until somebody presses q; true: it was q.
  bool quit_within(double seconds) const;
};

}  // namespace longhaul::app
