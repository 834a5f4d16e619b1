// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plot.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes_text.hpp"

extern char** environ;

namespace longhaul::plan {
namespace {

constexpr int kPlotWidth = 960;
constexpr int kWideWidth = 1160;
constexpr int kHeight = 540;
constexpr std::size_t kFewCurves = 4;  // up to this many names go below the picture, more go beside it

struct Look {
  std::string_view colour;  // Okabe and Ito: distinct for colour-blind readers, and by brightness in print
  std::string_view dash;
  int mark;
};
constexpr Look kLooks[] = {{"#0072B2", "solid", 7}, {"#E69F00", "'-'", 5},   {"#009E73", "'_.'", 9},
                           {"#CC79A7", "'.'", 11},  {"#56B4E9", "'-_'", 13}, {"#D55E00", "'..-'", 3},
                           {"#000000", "'.-_'", 4}, {"#999999", "solid", 1}};

bool many(const Plot& plot) { return plot.series.size() > kFewCurves; }

bool ends_with(const std::string& text, std::string_view end) { return text.ends_with(end); }

/// Quotes for gnuplot: text in single quotes is literal, and a quote is doubled.
std::string gnuplot_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    out += c;
    if (c == '\'') out += c;
  }
  return out + '\'';
}

/// Labels at every second power of two, so that they do not touch.
std::string byte_marks(std::string_view axis, const Plot& plot, bool x) {
  double least = HUGE_VAL;
  double most = 0;
  for (const Series& series : plot.series)
    for (const double value : x ? series.x : series.y)
      if (value > 0 && std::isfinite(value)) least = std::min(least, value), most = std::max(most, value);
  std::string marks;
  for (double at = std::exp2(std::floor(std::log2(least))); most > 0 && at <= most; at *= 2) {
    const bool named = std::fmod(std::round(std::log2(at)) - std::floor(std::log2(least)), 2) == 0;
    marks += fmt::format("{}{} {:.0f} {}", marks.empty() ? "" : ", ",
                         named ? gnuplot_text(size_text(static_cast<std::uint64_t>(at))) : "''", at, named ? 0 : 1);
  }
  return marks.empty() ? "" : fmt::format("set {}tics ({}) rotate by -45\n", axis, marks);
}

std::string axis_text(std::string_view name, const Axis& axis, const Plot& plot) {
  std::string out = fmt::format("set {}label {} noenhanced\n", name, gnuplot_text(axis.label));
  if (axis.logarithmic)
    out += fmt::format("set logscale {}\nset m{}tics 10\n", name, name) + fmt::format("set format {} '%.10g'\n", name);
  if (axis.marks == Axis::Marks::bytes) out += byte_marks(name, plot, name == "x");
  return out;
}

/// A little more than the greatest value, so that no curve lies on the border.
std::string headroom(const Plot& plot) {
  double most = 0;
  for (const Series& series : plot.series)
    for (const double value : series.y)
      if (std::isfinite(value)) most = std::max(most, value);
  if (most <= 0) return "";
  return fmt::format("set yrange [{}:{:.12g}]\n", plot.y.logarithmic ? "*" : "0",
                     most * (plot.y.logarithmic ? 1.6 : 1.05));
}

std::string value_text(double value, const Axis& axis) {
  return std::isfinite(value) && (!axis.logarithmic || value > 0) ? fmt::format("{:.12g}", value) : "NaN";
}

/// A file without a name. Unlike pipes it cannot fill up and block, and nothing is left behind.
class Scratch {
 public:
  explicit Scratch(const char* name) : fd_(::memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) throw PlotError(fmt::format("no memory for a plot: {}", std::strerror(errno)));
  }
  ~Scratch() { ::close(fd_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  int fd() const { return fd_; }

  void fill(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t wrote = ::write(fd_, text.data(), text.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) throw PlotError(fmt::format("no memory for a plot: {}", std::strerror(errno)));
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    ::lseek(fd_, 0, SEEK_SET);
  }
  std::string contents() const {
    std::string out;
    char part[65536];
    ::lseek(fd_, 0, SEEK_SET);
    for (ssize_t got = 0; (got = ::read(fd_, part, sizeof(part))) > 0;) out.append(part, static_cast<std::size_t>(got));
    return out;
  }

 private:
  int fd_;
};

/// Runs gnuplot on `script`; returns the picture.
std::string run_gnuplot(const std::string& commands) {
  const Scratch in("gnuplot-in");
  const Scratch out("gnuplot-out");
  const Scratch errors("gnuplot-errors");
  in.fill(commands);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.fd(), STDERR_FILENO);
  // Ignores the user's own settings: the picture is the same everywhere.
  std::string program = "gnuplot";
  std::string option = "--default-settings";
  char* arguments[] = {program.data(), option.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    throw PlotError("gnuplot is not installed; install it to draw plots (apt-get install gnuplot-nox)");
  if (error != 0) throw PlotError(fmt::format("cannot start gnuplot: {}", std::strerror(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string picture = out.contents();
  if (status != 0 || picture.empty()) {
    const std::string said = errors.contents();
    throw PlotError(fmt::format("gnuplot failed: {}", said.empty() ? "it drew nothing" : said));
  }
  return picture;
}

}  // namespace

bool can_draw(const std::string& file) { return ends_with(file, ".svg") || ends_with(file, ".png"); }

std::string script(const Plot& plot, const std::string& file) {
  const int width = many(plot) ? kWideWidth : kPlotWidth;
  std::string out =
      ends_with(file, ".png")
          ? fmt::format("set terminal pngcairo size {},{} font 'DejaVu Sans,13' background '#ffffff'\n", width, kHeight)
          : fmt::format(
                "set terminal svg size {},{} font 'DejaVu Sans,Arial,sans-serif,14' background "
                "'#ffffff' name 'longhaul'\n",
                width, kHeight);
  out += "set encoding utf8\n";
  out += fmt::format("set title {} noenhanced\n", gnuplot_text(fmt::format("{} ({})", plot.title, name_of(plot.kind))));
  out += axis_text("x", plot.x, plot) + axis_text("y", plot.y, plot) + headroom(plot);
  out +=
      "set autoscale xfix\nset border 3 lc rgb '#444444'\nset tics nomirror\nset grid xtics ytics lc rgb '#d8d8d8' lt "
      "1\n"
      "set datafile missing 'NaN'\n";
  if (!many(plot)) out += "set rmargin at screen 0.94\n";  // room for the last label
  out += fmt::format("set key {} Left reverse noenhanced samplen 3 spacing 1.3 width 1\n",
                     many(plot) ? "outside right top vertical" : "below center horizontal");
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    if (series.x.size() != series.y.size())
      throw PlotError(fmt::format("curve \"{}\": {} x for {} y", series.name, series.x.size(), series.y.size()));
    out += fmt::format("$curve{} << EOD\n", i);
    for (std::size_t at = 0; at < series.x.size(); ++at)
      out += fmt::format("{} {}\n", value_text(series.x[at], plot.x), value_text(series.y[at], plot.y));
    out += "EOD\n";
  }
  out += "plot ";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    const Look& look = kLooks[(series.look < 0 ? i : static_cast<std::size_t>(series.look)) % std::size(kLooks)];
    const std::string_view dash = series.dash == Series::Dash::of_look  ? look.dash
                                  : series.dash == Series::Dash::dashed ? "'-'"
                                                                        : "solid";
    const std::string line = fmt::format("lw 2.5 dt {} lc rgb '{}'", dash, look.colour);
    const std::string mark = fmt::format("pt {} ps {}", look.mark, series.style == Series::Style::points ? 1.1 : 0.7);
    const std::string style = series.style == Series::Style::points
                                  ? fmt::format("points lc rgb '{}' {}", look.colour, mark)
                              : series.marked ? fmt::format("linespoints {} {}", line, mark)
                                              : "lines " + line;
    out += fmt::format("{}$curve{} using 1:2 title {} with {}", i == 0 ? "" : ", \\\n     ", i,
                       gnuplot_text(series.name), style);
  }
  return out + '\n';
}

void draw(const Plot& plot, const std::string& file) {
  if (!can_draw(file)) throw PlotError(fmt::format("{}: the name of a plot must end in .svg or .png", file));
  if (plot.series.empty()) throw PlotError(fmt::format("{}: nothing to draw", file));
  const std::string picture = run_gnuplot(script(plot, file));
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(picture.data(), static_cast<std::streamsize>(picture.size()));
  out.close();
  if (!out) throw PlotError(fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
}

}  // namespace longhaul::plan
