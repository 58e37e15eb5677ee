#include "moses/entities.h"

#include <utility>

namespace nmt_prep::moses {
namespace {

constexpr std::pair<std::string_view, char> kEntities[] = {
    {"&bar;", '|'},  {"&#124;", '|'},  {"&lt;", '<'},  {"&gt;", '>'},  {"&bra;", '['}, {"&ket;", ']'},
    {"&quot;", '"'}, {"&apos;", '\''}, {"&#91;", '['}, {"&#93;", ']'}, {"&amp;", '&'}};

}  // namespace

void append_escaped(std::string_view text, std::string& out) {
    for (const char character : text) {
        const std::string_view escape = escape_of(character);
        if (escape.empty())
            out += character;
        else
            out += escape;
    }
}

void append_unescaped(std::string_view text, std::string& out) {
    std::size_t at = 0;
    while (true) {
        const std::size_t found = text.find('&', at);
        out += text.substr(at, found - at);
        if (found == std::string_view::npos) return;
        at = found + 1;
        char sign = '&';
        for (const auto& [entity, character] : kEntities)
            if (text.substr(found).starts_with(entity)) {
                sign = character;
                at = found + entity.size();
                break;
            }
        out += sign;
    }
}

}  // namespace nmt_prep::moses
