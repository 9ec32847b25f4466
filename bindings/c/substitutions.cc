// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tables of substitutions, for the layers of that name.

#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "objects.h"
#include "tandem/substitution_op_handler.h"
#ifdef TANDEM_C_HAS_TVM
#include "tandem/tvm/tvm_ops.h"
#endif

namespace tandem::c {

namespace {

class NamedTables final : public SubstitutionTables {
 public:
  StatusOr<RcRef<Substitutions>> Find(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(name);
    if (found != tables_.end()) return found->second;
    return MakeError(StatusCode::kNotFound, "expected the name of a table of substitutions, got ", name);
  }

  Status Add(CoreRuntime& core, std::string_view name, std::vector<Substitution> rules) {
    RcRef<Substitutions> table = MakeRef<Substitutions>(core);
    if (!table) return Status::OutOfMemory();
    TANDEM_RETURN_IF_ERROR(table->Add(std::move(rules)).status());
    const std::lock_guard lock(mutex_);
    if (!tables_.emplace(name, std::move(table)).second) {
      return MakeError(StatusCode::kAlreadyExists, "the runtime has a table of substitutions ", name);
    }
    return Status();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, RcRef<Substitutions>, std::less<>> tables_;
};

Status CheckName(const char* name) {
  if (name == nullptr) return InvalidArgument("expected the name of a table, got null");
  const std::string_view text = name;
  if (!text.empty() && text.find_first_of(":|(){}") == text.npos) return Status();
  return InvalidArgument("expected a name without any of \":|(){}\" for a table, got \"", text, "\"");
}

StatusOr<std::vector<Substitution>> Parse(Running& runtime, std::string_view text, std::string_view file) {
  SubstituteLoader load;
#ifdef TANDEM_C_HAS_TVM
  load = [&runtime](std::string_view library, std::string_view function) {
    return tvm::LoadSubstitute(*runtime.cpu, library, function);
  };
#endif
  return ParseSubstitutions(runtime.core, text, file, load);
}

Status AddTable(Running& runtime, std::string_view name, StatusOr<std::vector<Substitution>> rules) {
  TANDEM_RETURN_IF_ERROR(rules.status());
  NamedTables* tables;
  {
    const std::lock_guard lock(runtime.adding);
    if (runtime.substitutions == nullptr) runtime.substitutions.reset(new (std::nothrow) NamedTables);
    tables = static_cast<NamedTables*>(runtime.substitutions.get());
  }
  return tables == nullptr ? Status::OutOfMemory() : tables->Add(runtime.core, name, std::move(*rules));
}

}  // namespace

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_substitutions_add(tandem_runtime* runtime, const char* name, const char* json, size_t size) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (const tandem::Status wrong = CheckName(name); !wrong.ok()) return ToC(wrong);
  if (json == nullptr) return WrongArgument("expected the text of a table, got null");
  return ToC(AddTable(*rt, name, Parse(*rt, {json, size}, name)));
}

#ifdef TANDEM_C_HAS_TVM
tandem_status* tandem_substitutions_load(tandem_runtime* runtime, const char* name, const char* library) {
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (const tandem::Status wrong = CheckName(name); !wrong.ok()) return ToC(wrong);
  if (library == nullptr) return WrongArgument("expected the path of a library, got null");
  return ToC(AddTable(*rt, name, tandem::tvm::LoadSubstitutions(rt->core, *rt->cpu, library)));
}
#endif

}  // extern "C"
