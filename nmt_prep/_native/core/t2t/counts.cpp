#include "t2t/counts.h"

#include <algorithm>
#include <utility>

#include "text/parallel.h"

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 18;

}  // namespace

void TokenCounter::count_run(const TextView& text, std::size_t first, std::size_t last, Scratch& scratch,
                             CountTable& table) {
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    std::size_t waiting = 0;
    const auto count_waiting = [&] {
        for (std::size_t i = 0; i < waiting; ++i) {
            const Token& token = scratch.ahead[i];
            if (token.size <= CountCache::kMaxBytes)
                scratch.cache.add(token.key, table);
            else
                table.add({reinterpret_cast<const char*>(token.text), token.size}, 1);
        }
        waiting = 0;
    };
    for_each_token(text, first, last, scratch.bits, [&](std::size_t, const std::uint8_t* start, std::size_t size) {
        Token& token = scratch.ahead[waiting++];
        token.text = start;
        token.size = size;
        if (size <= CountCache::kMaxBytes) {
            token.key = IdCache::key(start, size, static_cast<std::size_t>(end - start));
            scratch.cache.prefetch(token.key);
        }
        if (waiting == kAhead) count_waiting();
    });
    count_waiting();
}

void TokenCounter::add(const TextView& text, std::size_t threads, const Poll& poll) {
    tables_.resize(std::max({tables_.size(), threads, std::size_t{1}}));
    scratch_.resize(tables_.size());
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        check_lines(text, bounds[run], bounds[run + 1]);
        std::unique_ptr<Scratch>& scratch = scratch_[thread];
        if (!scratch) scratch = std::make_unique<Scratch>();
        count_run(text, bounds[run], bounds[run + 1], *scratch, tables_[thread]);
    });
}

CountTable& TokenCounter::table() {
    for (std::size_t thread = 0; thread < scratch_.size(); ++thread)
        if (const std::unique_ptr<Scratch> scratch = std::move(scratch_[thread])) scratch->cache.flush(tables_[thread]);
    return join_tables(tables_);
}

}  // namespace nmt_prep::t2t
