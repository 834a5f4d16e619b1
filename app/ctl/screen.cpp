// SPDX-License-Identifier: BSD-3-Clause
#include "app/ctl/screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

namespace longhaul::app {
namespace {

// xterm's control sequences, which Linux' console, screen and tmux know too.
constexpr std::string_view kTake = "\033[?1049h\033[?25l";
constexpr std::string_view kGiveBack = "\033[?25h\033[?1049l";
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kEndOfLine = "\033[K";
constexpr std::string_view kRest = "\033[J";
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// For the handler of signals.
termios as_found{};
bool keys_taken = false;

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void give_back() {
  put(kGiveBack);
  if (keys_taken) tcsetattr(STDIN_FILENO, TCSANOW, &as_found);
}

// Only calls that signal-safety(7) lists.
void end_by(int signal) {
  give_back();
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void take_keys() {
  if (tcgetattr(STDIN_FILENO, &as_found) != 0) return;
  termios mine = as_found;
  mine.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  mine.c_cc[VMIN] = 1;
  mine.c_cc[VTIME] = 0;
  mine.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell on the other screen would help nobody
  keys_taken = tcsetattr(STDIN_FILENO, TCSANOW, &mine) == 0;
}

// Of UTF-8, bytes that continue a character take no place.
std::string_view cut(std::string_view line, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t shown = 0; end < line.size(); ++end)
    if ((static_cast<unsigned char>(line[end]) & 0xc0) != 0x80 && shown++ == columns) break;
  return line.substr(0, end);
}

}  // namespace

Screen::Screen() {
  take_keys();
  for (const int signal : kEnding) ::signal(signal, end_by);
  put(kTake);
}

Screen::~Screen() {
  give_back();
  for (const int signal : kEnding) ::signal(signal, SIG_DFL);
  keys_taken = false;
}

void Screen::draw(const std::string& text) const {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  const std::size_t rows = known ? size.ws_row : 24;
  const std::size_t columns = known ? size.ws_col : 80;
  std::string out(kHome);
  std::string_view rest = text;
  for (std::size_t row = 0; row < rows && !rest.empty(); ++row) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (row > 0) out += "\r\n";
    out += cut(rest.substr(0, end), columns);
    out += kEndOfLine;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  put(out.append(kRest));
}

bool Screen::quit_within(double seconds) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  bool listening = keys_taken;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd keys{listening ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(&keys, 1, static_cast<int>(left)) <= 0) continue;
    char key = 0;
    const ssize_t count = read(STDIN_FILENO, &key, 1);
    if (count == 1 && (key == 'q' || key == 'Q')) return true;
    listening = count == 1 || errno == EINTR;
  }
}

}  // namespace longhaul::app
