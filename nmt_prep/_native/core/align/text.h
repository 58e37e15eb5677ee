// Pairs of lines as text: their columns, and their links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::align {

// Lines one after another: line i is [offsets[i], offsets[i + 1]).
struct OwnedText {
    std::vector<std::uint8_t> data;
    std::vector<std::int64_t> offsets{0};

    void append(std::string_view line) {
        data.insert(data.end(), line.begin(), line.end());
        offsets.push_back(static_cast<std::int64_t>(data.size()));
    }
};

// Pairs of a source number and a target number, one after the other; line i has the pairs [offsets[i], offsets[i + 1]).
struct OwnedLinks {
    std::vector<std::int32_t> links;
    std::vector<std::int64_t> offsets{0};
};

// A line with more or fewer than two columns.
struct UnevenLine {
    std::size_t line;
    std::size_t columns;
};

// Borrowed lines with gaps: line i is data[starts[i], ends[i]).
struct SpacedLines {
    const std::uint8_t* data;
    const std::int64_t* starts;
    const std::int64_t* ends;
    std::size_t size;

    std::string_view operator[](std::size_t i) const {
        return {reinterpret_cast<const char*>(data) + starts[i], static_cast<std::size_t>(ends[i] - starts[i])};
    }
};

// Appends the two columns of each line, separated by a mark, to source and target; an empty line has two empty columns.
// Stops at the first line with more or fewer columns, and returns it.
std::optional<UnevenLine> split_columns(const SpacedLines& lines, std::string_view mark, OwnedText& source,
                                        OwnedText& target);

// Borrowed links of pairs, as numbers of source and target words in turn; pair i has the links [offsets[i], offsets[i +
// 1]).
struct LinkRows {
    const std::int32_t* links;
    const std::int64_t* offsets;
    std::size_t pairs;
};

// The links of each pair as text such as "0-0 1-2", followed by `end`.
OwnedText link_lines(const LinkRows& rows, std::string_view end, std::size_t threads);

// Appends the links in a text such as "0-0 1-2", two numbers each, with spaces between them. Returns false, and appends
// nothing, for other text, and for numbers outside of the words.
bool parse_links(std::string_view text, std::int64_t source_words, std::int64_t target_words,
                 std::vector<std::int32_t>& links);

}  // namespace nmt_prep::align
