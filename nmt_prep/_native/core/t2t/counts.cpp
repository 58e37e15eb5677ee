#include "t2t/counts.h"

#include <algorithm>

#include "t2t/tokens.h"
#include "text/parallel.h"

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 18;

}  // namespace

void TokenCounter::add(const TextView& text, std::size_t threads, const Poll& poll) {
    tables_.resize(std::max({tables_.size(), threads, std::size_t{1}}));
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        CountTable& table = tables_[thread];
        ClassBits bits;
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) {
            check_utf8(text, i);
            for_each_token(text.line(i), text.size(i), bits, [&](const std::uint8_t* token, std::size_t size) {
                table.add({reinterpret_cast<const char*>(token), size}, 1);
            });
        }
    });
}

}  // namespace nmt_prep::t2t
