#include "text.h"

#include <utility>

namespace nb = nanobind;

namespace nmt_prep {
namespace {

void raise(const char* name, const char* message) {
    try {
        const nb::object type = nb::module_::import_("nmt_prep.base.errors").attr(name);
        PyErr_SetString(type.ptr(), message);
    } catch (nb::python_error& error) {
        error.restore();
    }
}

}  // namespace

void translate_text_errors() {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const InvalidTextError& error) {
            raise("InvalidTextError", error.what());
        } catch (const EncodeError& error) {
            raise("EncodeError", error.what());
        } catch (const TrainingError& error) {
            raise("TrainingError", error.what());
        }
    });
}

void check_rows(const std::int64_t* offsets, std::size_t size, std::size_t values) {
    bool ascending = size > 0 && offsets[0] >= 0;
    for (std::size_t i = 1; ascending && i < size; ++i) ascending = offsets[i] >= offsets[i - 1];
    if (!ascending || std::cmp_greater(offsets[size - 1], values))
        throw EncodeError("the offsets of rows of ids must ascend from 0 or more and stay within their " +
                          std::to_string(values) + " values");
}

}  // namespace nmt_prep
