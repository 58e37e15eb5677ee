#include "clean/currency.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

// Symbols and codes by currency. All dollars are one currency, since $ may be any of them; so are yen and yuan.
constexpr std::string_view kCurrencies[][9] = {
    {"$", "USD", "AUD", "CAD", "NZD", "SGD", "HKD", "MXN", "＄"},
    {"€", "EUR"},
    {"£", "GBP", "￡"},
    {"¥", "JPY", "CNY", "RMB", "￥"},
    {"₹", "INR"},
    {"₽", "RUB"},
    {"₩", "KRW"},
    {"₺", "TRY"},
    {"₴", "UAH"},
    {"₪", "ILS"},
    {"₫", "VND"},
    {"฿", "THB"},
    {"₱", "PHP"},
    {"₦", "NGN"},
    {"₸", "KZT"},
    {"CHF"},
    {"SEK"},
    {"NOK"},
    {"DKK"},
    {"PLN"},
    {"CZK"},
    {"HUF"},
    {"RON"},
    {"BRL"},
    {"ZAR"},
};

bool upper(std::uint8_t byte) { return byte >= 'A' && byte <= 'Z'; }
bool alphanumeric(std::uint8_t byte) {
    return upper(byte) || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

// Bit of the currency of that symbol or code; 0 if there is none.
std::uint32_t currency_of(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kCurrencies); ++i)
        for (const std::string_view spelled : kCurrencies[i])
            if (!spelled.empty() && spelled == name) return std::uint32_t{1} << i;
    return 0;
}

// C3 begins the accented letters of western languages, but no symbol of a currency.
bool is_symbol(const std::uint8_t* at) {
    return *at == '$' || (*at >= 0xC2 && *at != 0xC3 && Properties::of(next_utf8(at)).category() == Category::kSc);
}

// True if a line may name a currency: it has $, three capital letters in a row, or characters outside ASCII.
bool may_name_currencies(const Line& line) {
    if (line.size() == 0 || !line.ascii) return line.size() != 0;
    if (std::memchr(line.begin, '$', line.size()) != nullptr) return true;
    const std::uint8_t* const bytes = line.begin;
    const auto capital = [bytes](std::size_t i) {
        return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i] - 'A') < 26);
    };
    return line.size() >= 3 && count_where(line.size() - 2, [capital](std::size_t i) {
                                   return static_cast<std::uint8_t>(capital(i) & capital(i + 1) & capital(i + 2));
                               }) != 0;
}

// Returns the currencies of a line as bits.
std::uint32_t currencies(const Line& line) {
    std::uint32_t found = 0;
    if (!may_name_currencies(line)) return found;
    const auto* const text = reinterpret_cast<const char*>(line.begin);
    const std::size_t size = line.size();
    for (std::size_t i = 0; i < size;) {
        const std::uint8_t byte = line.begin[i];
        const std::size_t width = character_size(byte);
        if (upper(byte)) {
            std::size_t end = i;
            while (end < size && upper(line.begin[end])) ++end;
            const bool alone = (i == 0 || !alphanumeric(line.begin[i - 1]) || line.begin[i - 1] <= '9') &&
                               (end == size || !alphanumeric(line.begin[end]) || line.begin[end] <= '9');
            if (end - i == 3 && alone) found |= currency_of({text + i, 3});
            i = end;
            continue;
        }
        if ((byte == '$' || byte >= 0xC2) && is_symbol(line.begin + i)) found |= currency_of({text + i, width});
        i += width;
    }
    return found;
}

}  // namespace

void currency_similarity(const Lines& source, const Lines& target, bool missing, double* out) {
    for (std::size_t i = 0; i < source.size(); ++i) {
        const std::uint32_t a = currencies(source[i]);
        const std::uint32_t b = currencies(target[i]);
        const int all = std::popcount(a) + std::popcount(b);
        const bool unknown = all == 0 || (!missing && (a == 0 || b == 0));
        out[i] = unknown ? 1.0 : 2.0 * std::popcount(a & b) / all;
    }
}

}  // namespace nmt_prep::clean
