#include "clean/line_numbers.h"

#include "clean/keys.h"

namespace nmt_prep::clean {
namespace {

constexpr std::size_t kAhead = 8;  // lines whose table entries are prefetched

}  // namespace

std::vector<std::int64_t> LineNumbers::add(const TextView& text, std::int32_t* numbers) {
    std::vector<std::int64_t> first;
    std::vector<Key> keys(text.lines);
    line_keys(text, false, keys.data());
    for (std::size_t line = 0; line < text.lines; ++line) {
        if (line + kAhead < text.lines) known_.prefetch(keys[line + kAhead].high);
        const Key key = keys[line];
        std::uint64_t place = key.high;
        const Known* known = known_.find(place);
        while (known != nullptr && known->low != key.low) known = known_.find(++place);
        if (known == nullptr) {
            first.push_back(static_cast<std::int64_t>(line));
            Known& added = known_.add(place);
            added = {key.low, known_.size()};
            known = &added;
        }
        numbers[line] = static_cast<std::int32_t>(known->after - 1);
    }
    return first;
}

}  // namespace nmt_prep::clean
