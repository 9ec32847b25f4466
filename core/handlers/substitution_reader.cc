// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads tables of rules from JSON. "op" comes first in each object that has one, since its definition says how the
// attributes behind it are to be read.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/edit_distance.h"
#include "base/json_reader.h"
#include "program/program_number.h"
#include "tandem/growing_array.h"
#include "tandem/op_def.h"
#include "tandem/substitution_op_handler.h"

namespace tandem {

namespace {

class Reader {
 public:
  Reader(CoreRuntime& runtime, std::string_view text, std::string_view file, const SubstituteLoader& load,
         std::string_view own_library)
      : runtime_(runtime),
        original_(text),
        text_(text),
        reader_(text_),
        file_(file),
        load_(load),
        own_library_(own_library) {}

  StatusOr<std::vector<Substitution>> Read() {
    static constexpr std::string_view kKeys[] = {"substitutions"};
    bool has_rules = false;
    TANDEM_RETURN_IF_ERROR(ReadObject(kKeys, [&](size_t) {
      has_rules = true;
      return ReadArray([&] { return ReadRule(); });
    }));
    if (!has_rules) return Error(0, "expected the key \"substitutions\"");
    if (!reader_.AtEnd()) return Unexpected("the end of the text");
    return std::move(rules_);
  }

 private:
  size_t Next() {
    reader_.AtEnd();
    return reader_.position();
  }

  std::string Place(size_t position) const {
    const std::string_view before = original_.substr(0, position);
    const size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none
    return std::string(file_) + ":" + std::to_string(std::ranges::count(before, '\n') + 1) + ":" +
           std::to_string(position - line_begin + 1);
  }
  template <typename... Parts>
  Status Error(size_t position, const Parts&... parts) const {
    return InvalidArgument(std::string_view(Place(position)), ": ", parts...);
  }
  Status At(size_t position, const Status& error) const {
    if (error.ok()) return error;
    return MakeError(error.code(), std::string_view(Place(position)), ": ", error.detail());
  }
  Status Unexpected(std::string_view expected) {
    const size_t position = Next();
    return Error(position, "expected ", expected, ", got ", reader_);
  }

  Status ReadText(std::string_view* text) {
    const char* const expected = reader_.TakeString(text);
    return expected == nullptr ? Status() : Unexpected(expected);
  }

  Status UnknownKey(size_t position, std::string_view key, std::span<const std::string_view> keys) const {
    std::string_view nearest;
    int least = 3;
    for (const std::string_view known : keys) {
      if (key.size() > internal::kMaxCompared) break;
      const int distance = internal::EditDistance(key, known);
      if (distance < least) nearest = known;
      least = std::min(least, distance);
    }
    MessageBuilder given;
    AppendQuoted(given, key);
    if (!nearest.empty()) return Error(position, "key ", given.view(), " is not known, did you mean \"", nearest, "\"");
    MessageBuilder known;
    for (const std::string_view one : keys) known.Append(known.view().empty() ? "\"" : ", \"", one, '"');
    return Error(position, "key ", given.view(), " is not known, expected ", keys.size() == 1 ? "" : "one of ",
                 known.view());
  }

  // `member` reads the value of the key of that index.
  template <typename Member>
  Status ReadObject(std::span<const std::string_view> keys, Member member) {
    uint32_t seen = 0;
    return ReadMembers([&](size_t position, std::string_view key) {
      const auto found = std::ranges::find(keys, key);
      if (found == keys.end()) return UnknownKey(position, key, keys);
      const auto index = static_cast<size_t>(found - keys.begin());
      if ((seen >> index & 1) != 0) return Error(position, "key \"", key, "\" is there twice");
      seen |= uint32_t{1} << index;
      return member(index);
    });
  }

  template <typename Member>
  Status ReadMembers(Member member) {
    if (!reader_.Take('{')) return Unexpected("an object");
    if (reader_.Take('}')) return Status();
    do {
      const size_t position = Next();
      std::string_view key;
      TANDEM_RETURN_IF_ERROR(ReadText(&key));
      if (!reader_.Take(':')) return Unexpected("':'");
      TANDEM_RETURN_IF_ERROR(member(position, key));
    } while (reader_.Take(','));
    return reader_.Take('}') ? Status() : Unexpected("',' or '}'");
  }

  template <typename Element>
  Status ReadArray(Element element) {
    if (!reader_.Take('[')) return Unexpected("an array");
    if (reader_.Take(']')) return Status();
    do {
      TANDEM_RETURN_IF_ERROR(element());
    } while (reader_.Take(','));
    return reader_.Take(']') ? Status() : Unexpected("',' or ']'");
  }

  StatusOr<std::shared_ptr<const OpDef>> ReadOp() {
    const size_t position = Next();
    std::string_view name;
    TANDEM_RETURN_IF_ERROR(ReadText(&name));
    std::shared_ptr<const OpDef> def = runtime_.registry().FindShared(name);
    if (def == nullptr) return At(position, runtime_.registry().NotFoundError(name));
    return def;
  }

  Status ReadRule() {
    static constexpr std::array<std::string_view, 4> kKeys = {"op", "inputs", "attrs", "use"};
    const size_t position = Next();
    Substitution rule = {.op = {}, .origin = Place(position)};
    std::shared_ptr<const OpDef> def;
    bool has_use = false;
    TANDEM_RETURN_IF_ERROR(ReadObject(kKeys, [&](size_t key) -> Status {
      if (key != 0 && def == nullptr) return Error(position, "expected \"op\" as the first key of a rule");
      switch (key) {
        case 0: {
          TANDEM_ASSIGN_OR_RETURN(def, ReadOp());
          rule.op = def->name;
          return Status();
        }
        case 1:
          return ReadArray([&] { return ReadPattern(rule); });
        case 2:
          return ReadAttrs(*def, rule.attrs, nullptr);
        default:
          has_use = true;
          return ReadUse(rule);
      }
    }));
    if (def == nullptr) return Error(position, "expected the key \"op\" in a rule");
    if (!has_use) return Error(position, "expected the key \"use\" in a rule");
    rules_.push_back(std::move(rule));
    return Status();
  }

  Status ReadPattern(Substitution& rule) {
    const size_t position = Next();
    std::string_view text;
    TANDEM_RETURN_IF_ERROR(ReadText(&text));
    StatusOr<TensorPattern> pattern = TensorPattern::Parse(text);
    if (!pattern.ok()) return At(position, pattern.status());
    rule.inputs.push_back(std::move(*pattern));
    return Status();
  }

  Status ReadUse(Substitution& rule) {
    const size_t position = Next();
    std::shared_ptr<const OpDef> def;
    std::optional<std::string> library;
    std::optional<std::string> function;
    TANDEM_RETURN_IF_ERROR(ReadObject(kUseKeys, [&](size_t key) -> Status {
      if (key == 0) {
        TANDEM_ASSIGN_OR_RETURN(def, ReadOp());
        rule.replacement = def->name;
        return Status();
      }
      if (key == 1) {
        if (def == nullptr) return Error(position, "expected \"op\" before \"attrs\" in what is used");
        return ReadAttrs(*def, rule.replacement_attrs, &rule.replacement_attrs_of_call);
      }
      std::string_view text;
      TANDEM_RETURN_IF_ERROR(ReadText(&text));
      (key == 2 ? library : function) = std::string(text);
      return Status();
    }));
    if (function && !library && !own_library_.empty()) library = std::string(own_library_);
    const bool is_function = library && function;
    if ((def != nullptr) == is_function || library.has_value() != function.has_value()) {
      return Error(position, "expected either \"op\", or \"library\" and \"function\", in what is used");
    }
    if (!is_function) return Status();
    if (!load_) {
      return At(position, MakeError(StatusCode::kUnimplemented, "functions of libraries cannot be loaded here"));
    }
    StatusOr<SubstituteKernel> loaded = load_(*library, *function);
    if (!loaded.ok()) return At(position, loaded.status());
    rule.kernel = std::move(loaded->kernel);
    rule.kernel_handler = loaded->handler;
    rule.kernel_name = std::move(loaded->name);
    return Status();
  }

  // The attributes of an object; those that are {"from": NAME} go to `of_call`, if it is not null.
  Status ReadAttrs(const OpDef& def, OpAttrsRef& frozen, std::vector<Substitution::Attr>* of_call) {
    OpAttrs attrs;
    const size_t begin = Next();
    TANDEM_RETURN_IF_ERROR(ReadMembers([&](size_t position, std::string_view name) -> Status {
      const int index = def.FindAttr(name);
      if (index < 0) {
        std::vector<std::string_view> known;
        for (const AttrDef& attr : def.attrs) known.push_back(attr.name);
        if (known.empty()) return Error(position, "expected no attributes of ", def.name, ", got ", name);
        return UnknownKey(position, name, known);
      }
      const bool is_known =
          attrs.Find(name) != nullptr ||
          (of_call != nullptr && std::ranges::find(*of_call, name, &Substitution::Attr::to) != of_call->end());
      if (is_known) return Error(position, "key \"", name, "\" is there twice");
      const bool is_object = !reader_.AtEnd() && original_[reader_.position()] == '{';
      if (of_call != nullptr && is_object) {
        static constexpr std::string_view kKeys[] = {"from"};
        std::string_view from;
        TANDEM_RETURN_IF_ERROR(ReadObject(kKeys, [&](size_t) { return ReadText(&from); }));
        of_call->push_back({std::string(name), std::string(from)});
        return Status();
      }
      return ReadAttr(def.attrs[static_cast<size_t>(index)], attrs);
    }));
    frozen = OpAttrsRef(attrs).Freeze();
    return frozen.out_of_memory() ? At(begin, Status::OutOfMemory()) : Status();
  }

  Status ReadAttr(const AttrDef& attr, OpAttrs& attrs) {
    switch (attr.kind) {
      case AttrKind::kBool:
        return ReadValue<bool>(attr, attrs, [this](bool* value) {
          *value = reader_.TakeWord("true");
          return *value || reader_.TakeWord("false") ? Status() : Unexpected("true or false");
        });
      case AttrKind::kInt:
        return ReadValue<int64_t>(attr, attrs, [this](int64_t* value) { return ReadNumber(DType::kI64, value); });
      case AttrKind::kFloat:
        return ReadValue<float>(attr, attrs, [this](float* value) { return ReadNumber(DType::kF32, value); });
      case AttrKind::kType:
        return ReadValue<DType>(attr, attrs, [this](DType* value) { return ReadDType(value); });
      case AttrKind::kString:
        return ReadValue<std::string_view>(attr, attrs, [this](std::string_view* value) { return ReadText(value); });
      case AttrKind::kShape:
        return ReadValue<TensorShape>(attr, attrs, [this](TensorShape* value) { return ReadShape(value); });
      default:
        return Unexpected("no attribute of this kind in a table");
    }
  }

  template <typename T, typename ReadOne>
  Status ReadValue(const AttrDef& attr, OpAttrs& attrs, ReadOne read) {
    const size_t position = Next();
    T value = {};
    if (!attr.is_list) {
      TANDEM_RETURN_IF_ERROR(read(&value));
      return attrs.Set(attr.name, value) ? Status() : At(position, Status::OutOfMemory());
    }
    GrowingArray<T> values;
    TANDEM_RETURN_IF_ERROR(ReadArray([&]() -> Status {
      TANDEM_RETURN_IF_ERROR(read(&value));
      return values.Append(value) == nullptr ? At(position, Status::OutOfMemory()) : Status();
    }));
    const std::span<const T> all = values.span();
    return attrs.SetArray(attr.name, all) ? Status() : At(position, Status::OutOfMemory());
  }

  template <typename T>
  Status ReadNumber(DType dtype, T* value) {
    const size_t position = Next();
    std::string_view text;
    const std::string_view expected = dtype == DType::kI64 ? "an integer" : "a number";
    if (!reader_.TakeNumber(&text)) return Unexpected(expected);
    std::byte element[sizeof(T)];
    switch (ParseProgramNumber(text, dtype, element)) {
      case ProgramNumberFit::kFits:
        std::memcpy(value, element, sizeof(T));
        return Status();
      case ProgramNumberFit::kNoInteger:
        return Error(position, "expected ", expected, ", got ", text);
      case ProgramNumberFit::kOutOfRange:
        break;
    }
    MessageBuilder range;
    AppendProgramNumberRange(range, dtype);
    return Error(position, "expected ", range.view(), ", got ", text);
  }

  Status ReadDType(DType* value) {
    const size_t position = Next();
    std::string_view text;
    TANDEM_RETURN_IF_ERROR(ReadText(&text));
    const std::optional<DType> dtype = ParseDType(text);
    if (!dtype) return Error(position, "expected the name of a dtype, got ", text);
    *value = *dtype;
    return Status();
  }

  Status ReadShape(TensorShape* shape) {
    const size_t position = Next();
    *shape = TensorShape();
    TANDEM_RETURN_IF_ERROR(ReadArray([&]() -> Status {
      int64_t dim = 0;
      TANDEM_RETURN_IF_ERROR(ReadNumber(DType::kI64, &dim));
      shape->Append(dim);
      return Status();
    }));
    return At(position, shape->Validate());
  }

  static constexpr std::array<std::string_view, 4> kUseKeys = {"op", "attrs", "library", "function"};

  CoreRuntime& runtime_;
  const std::string_view original_;
  std::string text_;  // strings are decoded where they are
  JsonReader reader_;
  const std::string_view file_;
  const SubstituteLoader& load_;
  const std::string_view own_library_;
  std::vector<Substitution> rules_;
};

}  // namespace

StatusOr<std::vector<Substitution>> ParseSubstitutions(CoreRuntime& runtime, std::string_view text,
                                                       std::string_view file, const SubstituteLoader& load,
                                                       std::string_view own_library) {
  return Reader(runtime, text, file, load, own_library).Read();
}

}  // namespace tandem
