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
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        CountTable& table = tables_[thread];
        Splitter::Scratch scratch;
        const auto count_part = [&](const Splitter::Part& part) {
            TokenGroup group(table, reinterpret_cast<const char*>(part.text + part.readable));
            splitter.for_each_pretoken(part.text, part.size, [&group](const std::uint8_t* word, std::size_t size) {
                group.add({reinterpret_cast<const char*>(word), size});
            });
            group.flush();
        };
        check_lines(text, bounds[run], bounds[run + 1]);
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) {
            const std::uint8_t* const line = text.line(i);
            splitter.for_each_part({line, text.size(i), static_cast<std::size_t>(end - line)}, scratch, count_part,
                                   [](std::int32_t) {});
        }
    });
}

}  // namespace nmt_prep::byte_bpe
