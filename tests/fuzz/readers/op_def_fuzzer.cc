// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The specs of op definitions: each line is one, and its first letter says of what: i(nput), h(ost input), o(utput),
// a(ttribute), d(oc). What parses is registered and described as JSON.

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tandem/op_registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  tandem::OpDefBuilder builder("fuzz.Op");
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) continue;
    const std::string_view spec = line.substr(1);
    if (line[0] == 'i') builder.Input(spec);
    if (line[0] == 'h') builder.HostInput(spec);
    if (line[0] == 'o') builder.Output(spec);
    if (line[0] == 'a') builder.Attr(spec);
    if (line[0] == 'd') builder.Doc(spec);
  }
  tandem::OpRegistry registry;
  const tandem::Status status = registry.Register(builder);
  if (status.ok() != (registry.Find("fuzz.Op") != nullptr)) std::abort();
  if (!status.ok() && (status.code() != tandem::StatusCode::kInvalidArgument || status.message().empty())) std::abort();
  // Bytes that are no UTF-8 come out as they went in.
  if (nlohmann::json::parse(registry.ToJson(), nullptr, false).is_discarded() && status.ok()) {
    for (size_t i = 0; i < size; ++i) {
      if (data[i] >= 128) return 0;
    }
    std::abort();
  }
  return 0;
}
