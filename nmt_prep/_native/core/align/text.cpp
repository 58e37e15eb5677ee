#include "align/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>

#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunLines = 4096;
constexpr std::size_t kMostDigits = 11;  // digits of a number, with its sign

// Writes the links of consecutive pairs, and the end of each line in `ends`, relative to the first.
void write_links(const LinkRows& rows, std::size_t first, std::size_t last, std::string_view end,
                 std::vector<std::uint8_t>& text, std::int64_t* ends) {
    const auto links = static_cast<std::size_t>(rows.offsets[last] - rows.offsets[first]);
    text.resize(links * (2 * kMostDigits + 2) + (last - first) * end.size());
    auto* const begin = reinterpret_cast<char*>(text.data());
    char* at = begin;
    for (std::size_t pair = first; pair < last; ++pair) {
        for (std::int64_t link = rows.offsets[pair]; link < rows.offsets[pair + 1]; ++link) {
            if (link > rows.offsets[pair]) *at++ = ' ';
            at = std::to_chars(at, at + kMostDigits, rows.links[2 * link]).ptr;
            *at++ = '-';
            at = std::to_chars(at, at + kMostDigits, rows.links[2 * link + 1]).ptr;
        }
        at = std::ranges::copy(end, at).out;
        ends[pair - first] = at - begin;
    }
    text.resize(static_cast<std::size_t>(at - begin));
}

// Reads a number of up to seven digits below `limit`; returns false if there is none.
bool read_number(const char*& at, const char* end, std::int64_t limit, std::int32_t& number) {
    constexpr std::ptrdiff_t kMostDigitsRead = 7;
    const auto [after, error] = std::from_chars(at, at + std::min(end - at, kMostDigitsRead), number);
    if (error != std::errc() || *at == '-' || number >= limit) return false;
    at = after;
    return true;
}

}  // namespace

bool parse_links(std::string_view text, std::int64_t source_words, std::int64_t target_words,
                 std::vector<std::int32_t>& links) {
    const std::size_t before = links.size();
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        if (*at == ' ') {
            ++at;
            continue;
        }
        std::int32_t source = 0, target = 0;
        bool good = read_number(at, end, source_words, source) && end - at > 1 && *at == '-';
        if (good) ++at;
        good = good && read_number(at, end, target_words, target) && (at == end || *at == ' ');
        if (!good) {
            links.resize(before);
            return false;
        }
        links.insert(links.end(), {source, target});
    }
    return true;
}

std::optional<UnevenLine> split_columns(const SpacedLines& lines, std::string_view mark, OwnedText& source,
                                        OwnedText& target) {
    for (std::size_t i = 0; i < lines.size; ++i) {
        const std::string_view line = lines[i];
        const std::size_t at = line.empty() ? 0 : line.find(mark);
        if (at == std::string_view::npos) return UnevenLine{i, 1};
        const std::string_view rest = line.empty() ? line : line.substr(at + mark.size());
        std::size_t columns = 2;
        for (std::size_t next = 0; (next = rest.find(mark, next)) != std::string_view::npos; next += mark.size())
            ++columns;
        if (columns > 2) return UnevenLine{i, columns};
        source.append(line.substr(0, at));
        target.append(rest);
    }
    return std::nullopt;
}

OwnedText link_lines(const LinkRows& rows, std::string_view end, std::size_t threads) {
    const std::size_t runs = (rows.pairs + kRunLines - 1) / kRunLines;
    std::vector<std::vector<std::uint8_t>> parts(runs);
    OwnedText text;
    text.offsets.resize(rows.pairs + 1);
    parallel_for(runs, threads, [&](std::size_t run, std::size_t) {
        const std::size_t first = run * kRunLines;
        const std::size_t last = std::min(first + kRunLines, rows.pairs);
        write_links(rows, first, last, end, parts[run], text.offsets.data() + first + 1);
    });
    text.data.reserve(std::transform_reduce(parts.begin(), parts.end(), std::size_t{0}, std::plus{},
                                            [](const auto& part) { return part.size(); }));
    for (std::size_t run = 0; run < runs; ++run) {
        const auto before = static_cast<std::int64_t>(text.data.size());
        for (std::size_t pair = run * kRunLines; pair < std::min((run + 1) * kRunLines, rows.pairs); ++pair)
            text.offsets[pair + 1] += before;
        text.data.insert(text.data.end(), parts[run].begin(), parts[run].end());
    }
    return text;
}

}  // namespace nmt_prep::align
