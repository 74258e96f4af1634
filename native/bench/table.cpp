// Results for people.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/environment.hpp"

namespace vicinal::bench {
namespace {

std::vector<std::string_view> columns_of(const std::vector<Row>& rows) {
  std::vector<std::string_view> columns;
  for (const Row& row : rows) {
    for (const Field& field : row) {
      if (std::find(columns.begin(), columns.end(), field.name) == columns.end()) {
        columns.push_back(field.name);
      }
    }
  }
  return columns;
}

std::string cell(const Row& row, std::string_view column) {
  for (const Field& field : row) {
    if (field.name == column) return text_of(field.value);
  }
  return "-";
}

}  // namespace

std::string text_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::none: break;
    case Value::Kind::whole: return fmt::format("{}", value.whole);
    case Value::Kind::real:
      return fmt::format("{:.{}f}", value.real, value.real >= 1000 ? 0 : value.real >= 10 ? 1 : 4);
    case Value::Kind::flag: return value.flag ? "true" : "false";
    case Value::Kind::text: return value.text;
  }
  return "-";
}

std::string table_of(const std::vector<Row>& rows) {
  std::string text;
  std::vector<std::string> lines(rows.size() + 1);
  for (const std::string_view column : columns_of(rows)) {
    std::vector<std::string> cells{std::string(column)};
    for (const Row& row : rows) cells.push_back(cell(row, column));
    std::size_t width = 0;
    for (const std::string& one : cells) width = std::max(width, one.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      lines[i] += fmt::format("{}{:>{}}", lines[i].empty() ? "" : "  ", cells[i], width);
    }
  }
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace vicinal::bench
