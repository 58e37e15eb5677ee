#include "modify/title.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "align/words.h"
#include "modify/labels.h"
#include "text/casefold.h"
#include "text/utf8.h"

namespace nmt_prep::modify {
namespace {

bool has_case(const std::uint8_t* at, const std::uint8_t* end) {
    bool found = false;
    while (at < end && !found) {
        const char32_t point = next_utf8(at);
        const auto differs = [&found, point](char32_t each) { found |= each != point; };
        upper(point, differs);
        lower(point, differs);
    }
    return found;
}

}  // namespace

align::OwnedText title_lines(const TextView& lines) {
    align::OwnedText made;
    std::vector<align::Place> words;
    std::string title;
    for (std::size_t i = 0; i < lines.lines; ++i) {
        const std::string_view line = checked_line(lines, i);
        const std::uint8_t *const begin = lines.line(i), *const end = lines.line(i + 1);
        if (!has_case(begin, end)) {
            made.append(line);
            continue;
        }
        title.clear();
        align::find_words(begin, end, true, words);
        for (const align::Place& word : words) {
            if (!title.empty()) title += ' ';
            const std::uint8_t* at = begin + word.begin;
            upper(next_utf8(at), [&title](char32_t each) { append_utf8(title, each); });
            title.append(at, begin + word.end);
        }
        made.append(title);
    }
    return made;
}

}  // namespace nmt_prep::modify
