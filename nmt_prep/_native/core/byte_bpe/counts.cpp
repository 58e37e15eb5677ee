#include "byte_bpe/counts.h"

#include <algorithm>

#include "text/parallel.h"

namespace nmt_prep::byte_bpe {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 18;

}  // namespace

void WordCounter::add(const TextView& text, const Splitter& splitter, std::size_t threads, const Poll& poll) {
    tables_.resize(std::max({tables_.size(), threads, std::size_t{1}}));
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        CountTable& table = tables_[thread];
        Splitter::Scratch scratch;
        const auto count = [&table](const std::uint8_t* word, std::size_t size) {
            table.add({reinterpret_cast<const char*>(word), size}, 1);
        };
        const auto count_part = [&](const Splitter::Part& part) {
            splitter.for_each_pretoken(part.text, part.size, count);
        };
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) {
            check_utf8(text, i);
            splitter.for_each_part({text.line(i), text.size(i), text.size(i)}, scratch, count_part,
                                   [](std::int32_t) {});
        }
    });
}

}  // namespace nmt_prep::byte_bpe
