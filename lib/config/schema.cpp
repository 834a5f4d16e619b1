// SPDX-License-Identifier: BSD-3-Clause
#include "config/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longhaul::config {
namespace {

Json object_of(const Form& form);

Json schema_of(const Form& form) {
  switch (form.kind) {
    case Form::Kind::text: {
      // A name may look like a number.
      if (form.pattern.empty()) return {{"type", {"string", "number"}}};
      return {{"type", "string"}, {"pattern", form.pattern}};
    }
    case Form::Kind::boolean:
      return {{"type", "boolean"}};
    case Form::Kind::integer: {
      Json out = {{"type", "integer"}, {"minimum", form.least}};
      if (form.most != UINT64_MAX) out["maximum"] = form.most;
      if (form.names.empty()) return out;
      return {
          {"anyOf",
           Json::array({out, {{"type", "string"}, {"pattern", "^(0x[0-9a-fA-F]+|[0-9]+)$"}}, {{"enum", form.names}}})}};
    }
    case Form::Kind::quantity: {
      // Only 0 needs no unit.
      Json any = Json::array({{{"type", "string"}, {"pattern", pattern_of(form.quantity)}}, {{"const", 0}}});
      if (!form.names.empty()) any.push_back({{"enum", form.names}});
      return {{"anyOf", any}};
    }
    case Form::Kind::fraction:
      return {{"anyOf", Json::array({{{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
                                     {{"type", "string"}, {"pattern", "^[0-9.]+([eE][-+]?[0-9]+)?%?$"}}})}};
    case Form::Kind::choice:
      return {{"enum", form.names}};
    case Form::Kind::object:
      return object_of(form);
    case Form::Kind::list:
      if (!form.keys.empty()) return {{"type", "array"}, {"items", object_of(form)}};
      return {{"type", "array"},
              {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", form.least}}},
              {"minItems", 1},
              {"maxItems", form.most},
              {"uniqueItems", true}};
  }
  return {};
}

std::string help_of(const SchemaKey& key) { return std::string(key.help) + (key.live ? " A reload applies it." : ""); }

/// Fills `to`, an object without properties.
void begin_object(Json& to) {
  to["type"] = "object";
  to["additionalProperties"] = false;
  to["properties"] = Json::object();
}

void add_key(Json& to, std::string_view name, const SchemaKey& key) {
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
    Json& inner = to["properties"][std::string(name.substr(0, dot))];
    if (inner.is_null()) begin_object(inner);
    add_key(inner, name.substr(dot + 1), key);
    // What is required in it makes it required itself only where the reader says so: `ports`, not `metrics`.
    return;
  }
  const std::string own(name);
  Json value = schema_of(key.form);
  value["description"] = help_of(key);
  to["properties"][own] = std::move(value);
  if (key.required) to["required"].push_back(own);
  if (!key.needs.empty()) to["dependencies"][own].push_back(key.needs);
  if (!key.excludes.empty()) to["allOf"].push_back({{"not", {{"required", {own, key.excludes}}}}});
}

Json object_of(const Form& form) {
  Json out;
  begin_object(out);
  for (const SchemaKey& key : form.keys) add_key(out, key.name, key);
  if (form.least > 0) out["minProperties"] = form.least;
  return out;
}

std::string form_text(const Form& form) {
  switch (form.kind) {
    case Form::Kind::text:
      return "text";
    case Form::Kind::boolean:
      return "true or false";
    case Form::Kind::integer:
      return (form.most == UINT64_MAX ? fmt::format("{} or more", form.least)
                                      : fmt::format("{} to {}", form.least, form.most)) +
             fmt::format("{}{}", form.names.empty() ? "" : ", ", fmt::join(form.names, ", "));
    case Form::Kind::quantity:
      return fmt::format("{}{}{}", name_of(form.quantity), form.names.empty() ? "" : ", ", fmt::join(form.names, ", "));
    case Form::Kind::fraction:
      return "fraction";
    case Form::Kind::choice:
      return fmt::format("{}", fmt::join(form.names, ", "));
    case Form::Kind::object:
      return "mapping";
    case Form::Kind::list:
      return "list";
  }
  return "";
}

}  // namespace

Json json_schema(std::string_view title, std::span<const SchemaKey> keys) {
  Json out;
  out["$schema"] = "http://json-schema.org/draft-07/schema#";
  out["title"] = title;
  const Json object = object_of(Form::object(keys));
  for (const auto& [name, value] : object.items()) out[name] = value;
  // Both kinds of file need two ports.
  out["required"].push_back("ports");
  return out;
}

std::string keys_table(std::span<const SchemaKey> keys) {
  std::string out = "| key | value | meaning |\n|---|---|---|\n";
  for (const SchemaKey& key : keys)
    out += fmt::format("| `{}` | {} | {} |\n", key.name, form_text(key.form), help_of(key));
  return out;
}

}  // namespace longhaul::config
