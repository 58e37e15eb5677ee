#include "clean/links.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nmt_prep::clean {
namespace {

constexpr std::string_view kPrefixes[] = {"http://", "https://", "ftp://", "www."};
constexpr std::string_view kTopDomains[] = {
    "com", "org", "net", "edu", "gov", "info", "io", "eu", "de", "uk", "fr", "es", "it", "nl", "pl", "cz", "ru",
    "cn",  "jp",  "kr",  "br",  "in",  "ca",   "au", "at", "ch", "be", "se", "no", "fi", "dk", "tv", "co", "biz"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool alphanumeric(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9'); }

// True for characters of addresses. Any other character ends an address, also every character outside ASCII.
bool in_address(char c) {
    return c > ' ' && c < 0x7F && std::string_view("<>\"{}|\\^`").find(c) == std::string_view::npos;
}

bool begins_with(std::string_view text, std::string_view prefix) {
    return text.size() > prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

bool is_url(std::string_view word) {
    return std::ranges::any_of(kPrefixes, [word](std::string_view prefix) { return begins_with(word, prefix); });
}

// True for a host name: two or more labels of letters, digits and hyphens, the last one a common top-level domain. A
// path may follow.
bool is_host(std::string_view word) {
    const std::string_view host = word.substr(0, word.find_first_of("/:?#"));
    const std::size_t dot = host.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return false;
    const auto label = [](char c) { return alphanumeric(c) || c == '-' || c == '.' || c == '_'; };
    if (!std::ranges::all_of(host, label)) return false;
    std::string top(host.substr(dot + 1));
    std::ranges::transform(top, top.begin(), lower);
    return std::ranges::find(kTopDomains, top) != std::end(kTopDomains);
}

bool is_address(std::string_view word) {
    if (is_url(word)) return true;
    const std::size_t at = word.find('@');
    return is_host(at == std::string_view::npos ? word : at == 0 ? std::string_view() : word.substr(at + 1));
}

// Removes punctuation around an address: "(https://a.org/b)." becomes "https://a.org/b".
std::string_view trimmed(std::string_view word) {
    while (!word.empty() && std::string_view("(['*_-").find(word.front()) != std::string_view::npos)
        word.remove_prefix(1);
    while (!word.empty() && std::string_view(".,;:!?)]'*_-").find(word.back()) != std::string_view::npos)
        word.remove_suffix(1);
    return word;
}

// Calls found(word) for every run of address characters that may contain an address.
template <class Found>
void for_each_word(const Line& line, Found&& found) {
    const std::string_view text(reinterpret_cast<const char*>(line.begin), line.size());
    for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at)) {
        std::size_t begin = at;
        while (begin > 0 && in_address(text[begin - 1])) --begin;
        while (at < text.size() && in_address(text[at])) ++at;
        const std::string_view word = trimmed(text.substr(begin, at - begin));
        if (!word.empty()) found(word);
    }
}

void read_urls(const Line& line, std::vector<std::string_view>& urls) {
    urls.clear();
    for_each_word(line, [&](std::string_view word) {
        if (is_url(word)) urls.push_back(word);
    });
    std::ranges::sort(urls);
}

}  // namespace

void address_shares(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t inside = 0;
        for_each_word(line, [&](std::string_view word) { inside += is_address(word) ? word.size() : 0; });
        const std::size_t all = inside == 0 ? 0 : lines.characters(line) - lines.space_characters(line);
        out[i] = all == 0 ? 0.0 : static_cast<double>(inside) / static_cast<double>(all);
    }
}

void url_similarity(const Lines& source, const Lines& target, double* out) {
    std::vector<std::string_view> a;
    std::vector<std::string_view> b;
    std::vector<std::string_view> both;
    for (std::size_t i = 0; i < source.size(); ++i) {
        read_urls(source[i], a);
        read_urls(target[i], b);
        both.clear();
        std::ranges::set_intersection(a, b, std::back_inserter(both));
        const std::size_t all = a.size() + b.size();
        out[i] = all == 0 ? 1.0 : 2.0 * static_cast<double>(both.size()) / static_cast<double>(all);
    }
}

}  // namespace nmt_prep::clean
