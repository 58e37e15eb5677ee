#include "t2t/counts.h"

#include <algorithm>
#include <utility>

#include "text/parallel.h"

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 18;

}  // namespace

// `readable`: bytes from `line` on that may be read.
void TokenCounter::count_line(const std::uint8_t* line, std::size_t size, std::size_t readable, Scratch& scratch,
                              CountTable& table) {
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
    for_each_token(line, size, scratch.bits, [&](const std::uint8_t* text, std::size_t bytes) {
        Token& token = scratch.ahead[waiting++];
        token.text = text;
        token.size = bytes;
        if (bytes <= CountCache::kMaxBytes) {
            token.key = IdCache::key(text, bytes, readable - static_cast<std::size_t>(text - line));
            scratch.cache.prefetch(token.key);
        }
        if (waiting == kAhead) count_waiting();
    });
    count_waiting();
}

void TokenCounter::add(const TextView& text, std::size_t threads, const Poll& poll) {
    tables_.resize(std::max({tables_.size(), threads, std::size_t{1}}));
    scratch_.resize(tables_.size());
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        check_lines(text, bounds[run], bounds[run + 1]);
        std::unique_ptr<Scratch>& scratch = scratch_[thread];
        if (!scratch) scratch = std::make_unique<Scratch>();
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) {
            const auto readable = static_cast<std::size_t>(end - text.line(i));
            count_line(text.line(i), text.size(i), readable, *scratch, tables_[thread]);
        }
    });
}

CountTable& TokenCounter::table() {
    for (std::size_t thread = 0; thread < scratch_.size(); ++thread)
        if (const std::unique_ptr<Scratch> scratch = std::move(scratch_[thread])) scratch->cache.flush(tables_[thread]);
    return join_tables(tables_);
}

}  // namespace nmt_prep::t2t
